// CPython 3.10: public frame objects, linked through f_back.
#include <Python.h>
#include <frameobject.h>

#include "python/walk.h"

static void read_frame(PyFrameObject* frame, pellucid_py_frame* out) {
  out->frame = frame;
  out->code = frame->f_code;
  out->lasti = frame->f_lasti * 2;
}

int pellucid_top_frame(PyThreadState* thread, pellucid_py_frame* out) {
  if (!thread->frame) return 0;
  read_frame(thread->frame, out);
  return 1;
}

size_t pellucid_walk(PyThreadState* thread, const void* stop, pellucid_py_frame* out,
                     size_t capacity, int* stopped) {
  size_t count = 0;
  *stopped = 0;
  for (PyFrameObject* frame = thread->frame; frame; frame = frame->f_back) {
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
  return ((const PyFrameObject*)frame)->f_localsplus[0];
}
