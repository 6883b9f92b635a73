#include "bindings/kernel_probe.h"

#include <structmember.h>

#include <cstddef>

#include "core/recorder.h"

namespace pellucid {

namespace {

// Everything but the call is the kernel's own.
struct KernelProbe {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* kernel;
  PyObject* name;  // bytes: the core copies what they hold when it first sees it
};

KernelProbe* probe_of(PyObject* self) { return reinterpret_cast<KernelProbe*>(self); }

PyObject* call(PyObject* self, PyObject* const* args, size_t count, PyObject* keywords) {
  KernelProbe* probe = probe_of(self);
  pellucid_event event{PELLUCID_KERNEL, PyBytes_AS_STRING(probe->name), -1, 0, 0};
  Scope* scope = Recorder::begin(event);
  PyObject* result = PyObject_Vectorcall(probe->kernel, args, count, keywords);
  if (scope) Recorder::end(scope);
  return result;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"kernel", "name", nullptr};
  PyObject* kernel;
  PyObject* name;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OS", const_cast<char**>(names), &kernel,
                                   &name)) {
    return nullptr;
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  KernelProbe* probe = probe_of(self);
  probe->vectorcall = call;
  probe->kernel = Py_NewRef(kernel);
  probe->name = Py_NewRef(name);
  return self;
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  return PyObject_GetAttr(probe_of(self)->kernel, name);
}

PyObject* represent(PyObject* self) { return PyObject_Repr(probe_of(self)->kernel); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(probe_of(self)->kernel);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(probe_of(self)->kernel);
  return 0;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  Py_CLEAR(probe_of(self)->name);
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace

int add_kernel_probe(PyObject* module) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelProbe, vectorcall), READONLY, nullptr},
      {}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
                                {Py_tp_repr, reinterpret_cast<void*>(represent)},
                                {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {"pellucid._core.KernelProbe", sizeof(KernelProbe), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                             slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) return -1;
  int added = PyModule_AddObjectRef(module, "KernelProbe", type);
  Py_DECREF(type);
  return added;
}

}  // namespace pellucid
