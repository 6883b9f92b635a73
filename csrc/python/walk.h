// Reading the interpreter's own frames of the current thread. No call here needs the GIL: a
// thread's frames are stable while it is inside a C call. Nothing is allocated, no reference count
// touched.
#pragma once

#include <Python.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Where a frame is: equal marks of living frames mean the same instruction of the same code.
typedef struct {
  const void* frame;  // identity; valid as long as the frame lives
  uint64_t position;
} pellucid_mark;

typedef struct {
  PyCodeObject* code;
  int lasti;  // of the executing instruction, in bytes
} pellucid_py_frame;

typedef struct {
  const void* data;
  Py_ssize_t length;
  int kind;  // bytes a character: 1, 2, 4
} pellucid_text;

typedef struct {
  pellucid_text name;  // qualified from 3.11 on
  pellucid_text file;
  int first_line;
  int flags;  // co_flags
} pellucid_code;

// The innermost frame; 0 where there is none.
int pellucid_innermost(PyThreadState* thread, pellucid_mark* out);

// Innermost first, up to and with the frame `stop`, at most `capacity`. Returns how many there are,
// which may be more than were written. `stopped` tells whether `stop` was met.
size_t pellucid_walk(PyThreadState* thread, const void* stop, pellucid_mark* out, size_t capacity,
                     int* stopped);

// 0 where the frame is not the program's: a trampoline of the C stack, or one still being set up.
int pellucid_read_frame(const void* frame, pellucid_py_frame* out);

// The first plain local variable of a live frame (borrowed, may be NULL).
const void* pellucid_first_local(const void* frame);

void pellucid_read_code(PyCodeObject* code, pellucid_code* out);

#ifdef __cplusplus
}
#endif
