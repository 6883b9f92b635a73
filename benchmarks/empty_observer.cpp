// The floor: RecordFunction callbacks that do nothing.
#include <ATen/record_function.h>

static at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;

extern "C" void attach() {
  handle = at::addGlobalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction&) { return std::unique_ptr<at::ObserverContext>(); },
          [](const at::RecordFunction&, at::ObserverContext*) {})
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                   at::RecordScope::TORCHSCRIPT_FUNCTION, at::RecordScope::USER_SCOPE}));
}

extern "C" void detach() { at::removeCallback(handle); }
