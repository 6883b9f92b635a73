// CPython 3.11 and 3.12: internal frames behind the thread's C frame. 3.13 keeps them in the thread
// state itself and counts instructions from a pointer of another name; pycore_frame.h hides the
// rest.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

#include "python/walk.h"

typedef struct _PyInterpreterFrame Frame;

#if PY_VERSION_HEX >= 0x030D0000
static Frame* innermost(PyThreadState* thread) { return thread->current_frame; }
static PyCodeObject* code_of(const Frame* frame) { return (PyCodeObject*)frame->f_executable; }
static const void* position_of(const Frame* frame) { return frame->instr_ptr; }
#else
static Frame* innermost(PyThreadState* thread) {
  return thread->cframe ? thread->cframe->current_frame : NULL;
}
static PyCodeObject* code_of(const Frame* frame) { return frame->f_code; }
static const void* position_of(const Frame* frame) { return frame->prev_instr; }
#endif

// Where C called the interpreter stands a frame that runs no code (3.12 on). Its place on the C
// stack says nothing of the program: a generator is the same one, whoever resumes it.
static const Frame* without_trampolines(const Frame* frame) {
#if PY_VERSION_HEX >= 0x030C0000
  while (frame && frame->owner == FRAME_OWNED_BY_CSTACK) frame = frame->previous;
#endif
  return frame;
}

static pellucid_mark mark(const Frame* frame) {
  pellucid_mark out = {frame, (uint64_t)(uintptr_t)position_of(frame)};
  return out;
}

int pellucid_innermost(PyThreadState* thread, pellucid_mark* out) {
  const Frame* frame = without_trampolines(innermost(thread));
  if (!frame) return 0;
  *out = mark(frame);
  return 1;
}

size_t pellucid_walk(PyThreadState* thread, const void* stop, pellucid_mark* out, size_t capacity,
                     int* stopped) {
  size_t count = 0;
  *stopped = 0;
  for (const Frame* frame = without_trampolines(innermost(thread)); frame;
       frame = without_trampolines(frame->previous)) {
    if (count < capacity) out[count] = mark(frame);
    ++count;
    if (frame == stop) {
      *stopped = 1;
      break;
    }
  }
  return count;
}

int pellucid_read_frame(const void* frame, pellucid_py_frame* out) {
  Frame* live = (Frame*)frame;
  if (_PyFrame_IsIncomplete(live)) return 0;
  out->code = code_of(live);
  out->lasti = _PyInterpreterFrame_LASTI(live) * (int)sizeof(_Py_CODEUNIT);
  return 1;
}

const void* pellucid_first_local(const void* frame) { return ((const Frame*)frame)->localsplus[0]; }
