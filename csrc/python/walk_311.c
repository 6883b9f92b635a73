// CPython 3.11 and 3.12: internal frames behind the thread's C frame. 3.13 keeps them in the thread
// state itself and counts instructions from a pointer of another name; pycore_frame.h hides the rest.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

#include "python/walk.h"

typedef struct _PyInterpreterFrame Frame;

#if PY_VERSION_HEX >= 0x030D0000
static Frame* innermost(PyThreadState* thread) { return thread->current_frame; }
static PyCodeObject* code_of(const Frame* frame) {
  return (PyCodeObject*)frame->f_executable;
}
#else
static Frame* innermost(PyThreadState* thread) {
  return thread->cframe ? thread->cframe->current_frame : NULL;
}
static PyCodeObject* code_of(const Frame* frame) { return frame->f_code; }
#endif

// Trampolines of the C stack (3.12 on) and frames whose prologue still runs are not the program's.
static Frame* complete(Frame* frame) {
  while (frame && _PyFrame_IsIncomplete(frame)) frame = frame->previous;
  return frame;
}

static void read_frame(Frame* frame, pellucid_py_frame* out) {
  out->frame = frame;
  out->code = code_of(frame);
  out->lasti = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
}

int pellucid_top_frame(PyThreadState* thread, pellucid_py_frame* out) {
  Frame* frame = complete(innermost(thread));
  if (!frame) return 0;
  read_frame(frame, out);
  return 1;
}

size_t pellucid_walk(PyThreadState* thread, const void* stop, pellucid_py_frame* out,
                     size_t capacity, int* stopped) {
  size_t count = 0;
  *stopped = 0;
  for (Frame* frame = complete(innermost(thread)); frame; frame = complete(frame->previous)) {
    if (count < capacity) read_frame(frame, &out[count]);
    ++count;
    if (frame == stop) {
      *stopped = 1;
      break;
    }
  }
  return count;
}

const void* pellucid_first_local(const void* frame) {
  return ((const Frame*)frame)->localsplus[0];
}
