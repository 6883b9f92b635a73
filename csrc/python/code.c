// What a code object says of itself, as raw character data (PyUnicode_AsUTF8 would write).
#include <Python.h>

#include "python/walk.h"

static pellucid_text read_text(PyObject* text) {
  pellucid_text out = {PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), (int)PyUnicode_KIND(text)};
  return out;
}

void pellucid_read_code(PyCodeObject* code, pellucid_code* out) {
#if PY_VERSION_HEX >= 0x030B0000
  out->name = read_text(code->co_qualname);
#else
  out->name = read_text(code->co_name);
#endif
  out->file = read_text(code->co_filename);
  out->first_line = code->co_firstlineno;
  out->flags = code->co_flags;
}
