// A callable that stands in for a kernel and tells the core of each call.
#pragma once

#include <Python.h>

namespace pellucid {

// Adds the type `KernelProbe(kernel, name)` to the module; -1 with an exception set where that
// fails.
int add_kernel_probe(PyObject* module);

}  // namespace pellucid
