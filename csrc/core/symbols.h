// Everything that has a name, interned once a session: frames by content, code objects and modules
// by address. Addresses come back after an object dies, so its death (told by the interpreter or by
// a weak reference) is published as an epoch, upon which each thread forgets what it had cached.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/tree.h"

namespace pellucid {

enum class FrameKind : uint8_t { thread, python, module, operation, region, kernel, compile };
constexpr size_t frame_kinds = size_t(FrameKind::compile) + 1;

const char* kind_name(FrameKind kind);

struct FrameRecord {
  FrameKind kind;
  std::string name;
  std::string file;
  int line = 0;
  int first_line = 0;
  uintptr_t object = 0;  // modules: address of the instance and of its type
  uintptr_t type = 0;
};

// What the placement of events needs to know of a code object.
enum CodeTrait : uint8_t {
  suspendable = 1,        // generators and coroutines: out of the stack without having returned
  ours = 2,               // pellucid's own Python
  module_call = 4,        // torch.nn.Module._wrapped_call_impl
  enters = 8,             // an __enter__, or what stands for one
  generator_driver = 16,  // contextlib's __enter__, which runs the generator above it
  dispatches = 32         // torch.ops' own call
};

struct CodeLine {
  FrameId frame;
  uint8_t traits;
};

struct NewModule {
  FrameId frame;
  uintptr_t object;
  uintptr_t type;
};

class Symbols {
 public:
  // `on_new_module` is called without the GIL, from inside the framework: it may only wake
  // somebody.
  Symbols(std::string own_folder, void (*on_new_module)())
      : own_folder_(std::move(own_folder)), on_new_module_(on_new_module) {}

  FrameId frame(FrameKind kind, std::string_view name);
  CodeLine code_line(PyCodeObject* code, int lasti);
  FrameId module(const void* object);

  // Counts deaths of objects seen; caches filled at another epoch are void.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  void code_died(PyCodeObject* code);
  void module_died(uintptr_t object);

  std::vector<NewModule> take_new_modules();
  const std::deque<FrameRecord>& frames() const { return frames_; }

 private:
  // Programs that make modules in a loop: from here on they are told apart by class alone.
  static constexpr size_t max_modules = 50'000;

  struct CodeInfo {
    std::string name;
    std::string file;
    int first_line;
    uint8_t traits;
  };

  FrameId intern(FrameRecord record);
  const CodeInfo& info(PyCodeObject* code);
  uint8_t traits_of(const CodeInfo& info, int flags) const;

  std::string own_folder_;
  void (*on_new_module_)();
  std::mutex mutex_;
  std::deque<FrameRecord> frames_{FrameRecord{FrameKind::thread, "", ""}};  // 0: the root's
  std::unordered_map<std::string, FrameId> by_content_;
  std::unordered_map<PyCodeObject*, CodeInfo> codes_;
  std::unordered_map<uintptr_t, FrameId> modules_;
  size_t module_count_ = 0;
  std::vector<NewModule> new_modules_;
  std::atomic<uint64_t> epoch_{0};
};

}  // namespace pellucid
