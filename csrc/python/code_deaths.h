// Tells when a code object is about to go, so that its address is not taken for the next one's.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// Under the GIL. `died` is called under the GIL, for every code object of the interpreter. -1, with
// Python's error set, where others have taken all of the interpreter's watchers.
int pellucid_watch_code_deaths(void (*died)(PyCodeObject*));
void pellucid_unwatch_code_deaths(void);

#ifdef __cplusplus
}
#endif
