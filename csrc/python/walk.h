// Reading the interpreter's own frames of the current thread. No call here needs the GIL: a thread's
// frames are stable while it is inside a C call. Nothing is allocated, no reference count touched.
#pragma once

#include <Python.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const void* frame;  // identity; valid as long as the frame lives
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

// The innermost frame that runs Python code; 0 where there is none.
int pellucid_top_frame(PyThreadState* thread, pellucid_py_frame* out);

// Innermost first, up to and with the frame `stop`, at most `capacity`. Returns how many there are,
// which may be more than were written. `stopped` tells whether `stop` was met.
size_t pellucid_walk(PyThreadState* thread, const void* stop, pellucid_py_frame* out,
                     size_t capacity, int* stopped);

// The first plain local variable of a live frame (borrowed, may be NULL).
const void* pellucid_first_local(const void* frame);

void pellucid_read_code(PyCodeObject* code, pellucid_code* out);

#ifdef __cplusplus
}
#endif
