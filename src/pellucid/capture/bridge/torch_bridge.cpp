// Leads torch's RecordFunction events to the core. Compiled at first use against the installed
// torch, without Python's headers; the core is reached through its C function table.
#include <ATen/record_function.h>

#include <memory>
#include <new>
#include <utility>

#include "core_api.h"

namespace {

const pellucid_api* core = nullptr;
at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;

// One is made and dropped for every event, so they are kept for the next.
struct Context final : at::ObserverContext {
  explicit Context(pellucid_scope* scope) : scope(scope) {}
  static void* operator new(size_t size);
  static void operator delete(void* memory);
  pellucid_scope* scope;
};

struct Spare {
  Spare* next;
};

constexpr int most_spares = 64;  // scopes may end on another thread than they began on, always

#define FAST_THREAD_LOCAL [[gnu::tls_model("initial-exec")]] thread_local
FAST_THREAD_LOCAL Spare* first_spare = nullptr;
FAST_THREAD_LOCAL int spare_count = 0;

struct FreeSparesAtThreadEnd {
  ~FreeSparesAtThreadEnd() {
    spare_count = most_spares;  // keep no more
    while (first_spare) ::operator delete(std::exchange(first_spare, first_spare->next));
  }
};

void* Context::operator new(size_t size) {
  if (!first_spare) return ::operator new(size);
  --spare_count;
  return std::exchange(first_spare, first_spare->next);
}

void Context::operator delete(void* memory) {
  if (spare_count == most_spares) return ::operator delete(memory);
  if (spare_count == 0) {
    thread_local FreeSparesAtThreadEnd at_thread_end;
    static_cast<void>(&at_thread_end);
  }
  ++spare_count;
  first_spare = new (memory) Spare{first_spare};
}

pellucid_kind kind_of(at::RecordScope scope) {
  switch (scope) {
    case at::RecordScope::BACKWARD_FUNCTION:
      return PELLUCID_BACKWARD;
    case at::RecordScope::USER_SCOPE:
      return PELLUCID_REGION;
    default:
      return PELLUCID_OPERATOR;
  }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& fn) {
  pellucid_event event{kind_of(fn.scope()), fn.name(), fn.seqNr(), fn.threadId(),
                       fn.forwardThreadId()};
  pellucid_scope* scope = core->begin(&event);
  return scope ? std::make_unique<Context>(scope) : nullptr;
}

void on_end(const at::RecordFunction&, at::ObserverContext* context) {
  if (context) core->end(static_cast<Context*>(context)->scope);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char* pellucid_bridge_key() { return PELLUCID_BRIDGE_KEY; }

EXPORT int pellucid_bridge_attach(const pellucid_api* api) {
  if (api->version != PELLUCID_API_VERSION) return -1;
  core = api;
  if (handle != at::INVALID_CALLBACK_HANDLE) return 0;
  handle = at::addGlobalCallback(
      at::RecordFunctionCallback(on_start, on_end)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                   at::RecordScope::TORCHSCRIPT_FUNCTION, at::RecordScope::USER_SCOPE}));
  return 0;
}

EXPORT void pellucid_bridge_detach() {
  if (handle == at::INVALID_CALLBACK_HANDLE) return;
  at::removeCallback(handle);
  handle = at::INVALID_CALLBACK_HANDLE;
}
