// A native source that misbehaves on purpose: events with the GIL released, from threads that
// Python does not know, ended on other threads or out of order.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core_api.h"

static const pellucid_api* api;

static PyObject* attach(PyObject* self, PyObject* address) {
  (void)self;
  api = PyLong_AsVoidPtr(address);
  if (!api) return NULL;
  if (api->version != PELLUCID_API_VERSION) {
    PyErr_SetString(PyExc_RuntimeError, "the core speaks another version");
    return NULL;
  }
  Py_RETURN_NONE;
}

// kind, name[, sequence, thread, forward_thread]
static int parse(PyObject* args, pellucid_event* event, PyObject** callback) {
  int kind;
  Py_ssize_t unused;
  long long sequence = -1;
  unsigned long long thread = 0, forward_thread = 0;
  *callback = Py_None;
  if (!PyArg_ParseTuple(args, "is#|OLKK", &kind, &event->name, &unused, callback, &sequence,
                        &thread, &forward_thread)) {
    return 0;
  }
  event->kind = (pellucid_kind)kind;
  event->sequence = sequence;
  event->thread = thread;
  event->forward_thread = forward_thread;
  return 1;
}

static PyObject* begin(PyObject* self, PyObject* args) {
  (void)self;
  pellucid_event event;
  PyObject* callback;
  if (!parse(args, &event, &callback)) return NULL;
  pellucid_scope* scope;
  Py_BEGIN_ALLOW_THREADS;
  scope = api->begin(&event);
  Py_END_ALLOW_THREADS;
  return PyLong_FromVoidPtr(scope);
}

static PyObject* end(PyObject* self, PyObject* handle) {
  (void)self;
  pellucid_scope* scope = PyLong_AsVoidPtr(handle);
  if (!scope && PyErr_Occurred()) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  if (scope) api->end(scope);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

static PyObject* event(PyObject* self, PyObject* args) {
  (void)self;
  pellucid_event event;
  PyObject* callback;
  if (!parse(args, &event, &callback)) return NULL;
  pellucid_scope* scope;
  PyObject* result = Py_None;
  Py_INCREF(result);
  Py_BEGIN_ALLOW_THREADS;
  scope = api->begin(&event);
  Py_END_ALLOW_THREADS;
  if (callback != Py_None) {
    Py_DECREF(result);
    result = PyObject_CallNoArgs(callback);
  }
  Py_BEGIN_ALLOW_THREADS;
  if (scope) api->end(scope);
  Py_END_ALLOW_THREADS;
  return result;
}

static void* end_scope(void* scope) {
  api->end(scope);
  return NULL;
}

static PyObject* end_elsewhere(PyObject* self, PyObject* handle) {
  (void)self;
  pellucid_scope* scope = PyLong_AsVoidPtr(handle);
  if (!scope) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
  pthread_t thread;
  Py_BEGIN_ALLOW_THREADS;
  if (pthread_create(&thread, NULL, end_scope, scope) == 0) pthread_join(thread, NULL);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

// One event of each size: an operator with another one inside.
static unsigned long long two_events(void) {
  pellucid_event outer = {PELLUCID_OPERATOR, "outer", -1, 0, 0};
  pellucid_event inner = {PELLUCID_OPERATOR, "inner", -1, 0, 0};
  unsigned long long begun = 0;
  pellucid_scope* around = api->begin(&outer);
  pellucid_scope* inside = api->begin(&inner);
  if (inside) api->end(inside), ++begun;
  if (around) api->end(around), ++begun;
  return begun;
}

typedef struct {
  int events;
  PyObject* callback;
} Job;

static void* foreign(void* argument) {
  Job* job = argument;
  pthread_setname_np(pthread_self(), "foreign");
  for (int i = 0; i < job->events; ++i) two_events();
  if (job->callback) {
    pellucid_event event = {PELLUCID_OPERATOR, "calls back", -1, 0, 0};
    pellucid_scope* scope = api->begin(&event);
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject* result = PyObject_CallNoArgs(job->callback);
    if (!result) PyErr_WriteUnraisable(job->callback);
    Py_XDECREF(result);
    PyGILState_Release(state);
    if (scope) api->end(scope);
  }
  return NULL;
}

// Plain pthreads, one after the other: each runs events without a thread state of Python, and may
// then call back into Python from inside an operator.
static PyObject* foreign_threads(PyObject* self, PyObject* args) {
  (void)self;
  int count;
  Job job = {0, NULL};
  if (!PyArg_ParseTuple(args, "ii|O", &count, &job.events, &job.callback)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, foreign, &job) == 0) pthread_join(thread, NULL);
  }
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

enum { most_storm_threads = 16 };
static pthread_t storm[most_storm_threads];
static int storm_threads;
static atomic_int storming;
static atomic_ullong begun;

static void* run_storm(void* unused) {
  (void)unused;
  while (atomic_load(&storming)) atomic_fetch_add(&begun, two_events());
  return NULL;
}

// Threads that run events as fast as they can, until `stop_storm`.
static PyObject* start_storm(PyObject* self, PyObject* count) {
  (void)self;
  int wanted = (int)PyLong_AsLong(count);
  atomic_store(&begun, 0);
  atomic_store(&storming, 1);
  for (storm_threads = 0; storm_threads < wanted && storm_threads < most_storm_threads;
       ++storm_threads) {
    if (pthread_create(&storm[storm_threads], NULL, run_storm, NULL) != 0) break;
  }
  Py_RETURN_NONE;
}

// How many events a session was told of.
static PyObject* stop_storm(PyObject* self, PyObject* unused) {
  (void)self, (void)unused;
  atomic_store(&storming, 0);
  Py_BEGIN_ALLOW_THREADS;
  while (storm_threads > 0) pthread_join(storm[--storm_threads], NULL);
  Py_END_ALLOW_THREADS;
  return PyLong_FromUnsignedLongLong(atomic_load(&begun));
}

static PyObject* storm_count(PyObject* self, PyObject* unused) {
  (void)self, (void)unused;
  return PyLong_FromUnsignedLongLong(atomic_load(&begun));
}

// Forward events with the sequence numbers from `from` to `to`, at full speed.
static PyObject* forwards(PyObject* self, PyObject* args) {
  (void)self;
  long long from, to;
  unsigned long long thread;
  if (!PyArg_ParseTuple(args, "LLK", &from, &to, &thread)) return NULL;
  for (long long i = from; i < to; ++i) {
    pellucid_event event = {PELLUCID_OPERATOR, "forward", i, thread, 0};
    pellucid_scope* scope = api->begin(&event);
    if (scope) api->end(scope);
  }
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"attach", attach, METH_O, NULL},
    {"begin", begin, METH_VARARGS, NULL},
    {"end", end, METH_O, NULL},
    {"event", event, METH_VARARGS, NULL},
    {"end_elsewhere", end_elsewhere, METH_O, NULL},
    {"foreign_threads", foreign_threads, METH_VARARGS, NULL},
    {"start_storm", start_storm, METH_O, NULL},
    {"stop_storm", stop_storm, METH_NOARGS, NULL},
    {"storm_count", storm_count, METH_NOARGS, NULL},
    {"forwards", forwards, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_events", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__events(void) { return PyModule_Create(&module); }
