#include "python/code_deaths.h"

static void (*on_death)(PyCodeObject*);

#if PY_VERSION_HEX >= 0x030C0000

static int watcher = -1;

static int on_event(PyCodeEvent event, PyCodeObject* code) {
  if (event == PY_CODE_EVENT_DESTROY && on_death) on_death(code);
  return 0;
}

int pellucid_watch_code_deaths(void (*died)(PyCodeObject*)) {
  on_death = died;
  if (watcher < 0) watcher = PyCode_AddWatcher(on_event);  // else a fork child's, from its parent
  return watcher < 0 ? -1 : 0;
}

void pellucid_unwatch_code_deaths(void) {
  if (watcher >= 0) PyCode_ClearWatcher(watcher);
  watcher = -1;
  on_death = NULL;
}

#else

// Before 3.12 nobody is told, so the type's own destructor is led through here.
static destructor original;

static void dealloc(PyObject* code) {
  if (on_death) on_death((PyCodeObject*)code);
  original(code);
}

int pellucid_watch_code_deaths(void (*died)(PyCodeObject*)) {
  on_death = died;
  if (PyCode_Type.tp_dealloc != dealloc) {
    original = PyCode_Type.tp_dealloc;
    PyCode_Type.tp_dealloc = dealloc;
  }
  return 0;
}

void pellucid_unwatch_code_deaths(void) {
  on_death = NULL;
  // Somebody may have wrapped ours meanwhile; then it stays, and passes on.
  if (PyCode_Type.tp_dealloc == dealloc) PyCode_Type.tp_dealloc = original;
}

#endif
