// The C function table through which native sources feed the core. It is plain C, so that a source
// compiled later, by another compiler, against another library needs only this file.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELLUCID_API_VERSION 1

typedef enum {
  PELLUCID_OPERATOR = 0,
  PELLUCID_BACKWARD = 1,  // an operator that belongs to a forward event
  PELLUCID_REGION = 2,    // a scope of the user, not bound to the C stack
  PELLUCID_KERNEL = 3,    // one call of a generated kernel
  PELLUCID_COMPILE = 4,   // a phase of a compiler; what runs inside is the compiler's own
} pellucid_kind;

typedef struct {
  pellucid_kind kind;
  const char* name;         // UTF-8; copied
  int64_t sequence;         // autograd's sequence number, -1: none
  uint64_t thread;          // the framework's own number of this thread
  uint64_t forward_thread;  // PELLUCID_BACKWARD: the thread that ran the forward event
} pellucid_event;

typedef struct pellucid_scope pellucid_scope;

typedef struct {
  uint32_t version;
  // Neither takes the GIL, allocates Python objects or touches reference counts. `begin` returns
  // NULL where nothing records; `end` may be called from any thread, once a scope.
  pellucid_scope* (*begin)(const pellucid_event*);
  void (*end)(pellucid_scope*);
} pellucid_api;

#ifdef __cplusplus
}
#endif
