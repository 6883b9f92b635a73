// CPython 3.10: public frame objects, linked through f_back.
#include <Python.h>
#include <frameobject.h>

#include "python/walk.h"

// Code objects lie 16 bytes apart, in the lower half of the address space.
static pellucid_mark mark(const PyFrameObject* frame) {
  pellucid_mark out = {
      frame, (uint64_t)(uintptr_t)frame->f_code >> 4 << 20 ^ (uint64_t)(frame->f_lasti & 0xFFFFF)};
  return out;
}

int pellucid_innermost(PyThreadState* thread, pellucid_mark* out) {
  if (!thread->frame) return 0;
  *out = mark(thread->frame);
  return 1;
}

size_t pellucid_walk(PyThreadState* thread, const void* stop, pellucid_mark* out, size_t capacity,
                     int* stopped) {
  size_t count = 0;
  *stopped = 0;
  for (PyFrameObject* frame = thread->frame; frame; frame = frame->f_back) {
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
  out->code = ((const PyFrameObject*)frame)->f_code;
  out->lasti = ((const PyFrameObject*)frame)->f_lasti * 2;
  return 1;
}

const void* pellucid_first_local(const void* frame) {
  return ((const PyFrameObject*)frame)->f_localsplus[0];
}
