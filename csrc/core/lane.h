// What one running thread writes into: its tree, its shadow stack of open scopes and its caches.
// When the thread ends, the lane goes to the next new thread, which grows its own root in the same
// tree: memory follows the number of threads alive, and node numbers stay valid until the session
// ends.
#pragma once

#include <Python.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/bridge/core_api.h"
#include "core/forward_table.h"
#include "core/losses.h"
#include "core/symbols.h"
#include "core/tree.h"
#include "python/walk.h"

namespace pellucid {

class Lane;

// One Python frame of the current path, with the node that stands for it.
struct PathFrame {
  pellucid_mark mark;
  PyCodeObject* code;
  CodeLine line;
  const void* self;  // module calls: the module
  NodeId node;

  bool has(CodeTrait trait) const { return line.traits & trait; }
  bool same_call(const PathFrame& other) const {
    return mark.frame == other.mark.frame && code == other.code && self == other.self;
  }
};

enum class ScopeState : uint8_t {
  open,
  ended_elsewhere,  // by another thread; its owner has yet to take it off the stack
  orphan            // its thread or session is gone; whoever ends it frees it
};

}  // namespace pellucid

// An event between begin and end. Owned by the lane it began on, except where it is an orphan.
struct pellucid_scope {
  pellucid::Lane* lane;
  std::atomic<pellucid::ScopeState> state;
  bool on_c_stack;  // operators: their end is bound to the C stack below them
  bool adrift;      // claimed to be on the C stack, but was seen not to be
  bool is_phase;    // of a compiler
  pellucid::NodeId node;
  uint64_t serial;
  uint64_t floor;  // serial of the operator that the path below starts from
  uint64_t start;
  uint64_t children;                      // ticks inside operators directly below
  uint64_t ended_at;                      // ended elsewhere
  pellucid_mark mark;                     // the innermost Python frame at entry
  std::vector<pellucid::PathFrame> path;  // regions: the Python path at entry, outermost first
};

namespace pellucid {

using Scope = pellucid_scope;

inline bool operator==(const pellucid_mark& a, const pellucid_mark& b) {
  return a.frame == b.frame && a.position == b.position;
}

inline uint64_t forward_owner(uint64_t session, uint64_t thread) { return session << 32 | thread; }

class Lane {
 public:
  explicit Lane(uint32_t id) : id(id) {}

  void begin_session(uint64_t session, Symbols* symbols);
  void begin_thread(FrameId name, uint64_t start);
  void end_thread(uint64_t end);  // books the thread's own time; leaves no open scope behind

  void leave_out(uint64_t ticks) { thread_start_ += ticks; }

  // Whether a compiler is at work: what happens inside is its own.
  bool compiling() const { return open_phases_; }
  Scope* begin(const pellucid_event& event, Origin origin);
  void end(Scope* scope, uint64_t now);  // by the owner
  static void end_elsewhere(Scope* scope, uint64_t now);

  size_t open_scopes() const;

  const uint32_t id;
  std::atomic<bool> busy{false};
  bool recording = false;  // a thread has begun in this session and not ended
  uint64_t session = 0;
  Tree tree;
  ForwardTable forwards;
  Losses losses;
  uint64_t thread_number = 0;  // the framework's; 0: not told yet

 private:
  // Where a walk ends: at an operator that called back into Python, or at the thread's root.
  struct Floor {
    Scope* scope = nullptr;
    size_t scopes_from = 0;  // index in the stack of the first scope above it
  };

  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Names = std::unordered_map<std::string, FrameId, TextHash, std::equal_to<>>;

  // Dispatcher operators come with a stable pointer; other names are built anew each time, often at
  // an address used before, so what a pointer says is always compared.
  struct CachedName {
    const char* pointer = nullptr;
    const char* name = nullptr;  // a copy
    FrameKind kind{};
    FrameId frame = 0;
  };
  struct CachedLine {
    PyCodeObject* code = nullptr;
    int lasti = 0;
    CodeLine line{};
  };
  struct CachedModule {
    const void* self = nullptr;
    const void* type = nullptr;
    FrameId frame = 0;
  };

  Scope* begin_phase(const char* name);
  NodeId locate(PyThreadState* thread, Scope& scope, bool is_region);
  Floor floor() const;
  bool walk(PyThreadState* thread, const Scope* floor);
  size_t follow(const Floor& floor);
  PathFrame describe(const pellucid_mark& mark);
  NodeId place(const Floor& floor, size_t unchanged);
  bool resumed(size_t from) const;
  NodeId extend(NodeId node, size_t from);
  const Scope* innermost_region(const Floor& floor, size_t& from) const;
  void drop_entering_frames();

  void settle_top();
  void finish(Scope* scope, uint64_t now, bool nested);
  void cover(uint64_t serial, uint64_t ticks);
  bool is_innermost(const Scope* scope) const;
  void take_off(Scope* scope);
  Scope* new_scope();

  FrameId frame_of(FrameKind kind, const char* name);
  CodeLine line_of(PyCodeObject* code, int lasti);
  FrameId module_of(const void* self);
  NodeId child(NodeId parent, FrameId frame);
  void forget_addresses();

  Symbols* symbols_ = nullptr;
  NodeId thread_node_ = Tree::root;
  NodeId last_node_ = Tree::root;  // of the event before
  uint64_t thread_start_ = 0;
  uint64_t covered_ = 0;  // ticks inside the thread's outermost operators
  uint64_t next_serial_ = 1;

  std::vector<Scope*> stack_;
  std::vector<std::unique_ptr<Scope>> spare_;
  size_t open_regions_ = 0;
  size_t open_phases_ = 0;       // of compilers
  uint64_t regions_serial_ = 0;  // changes whenever a region opens or closes

  // The Python path of the event being placed, outermost first; before, that of the event before.
  std::vector<PathFrame> path_;
  std::vector<pellucid_mark> walked_marks_ = std::vector<pellucid_mark>(64);  // innermost first
  size_t walked_ = 0;
  uint64_t path_floor_ = 0;    // serial of the floor it starts from
  uint64_t path_regions_ = 0;  // regions_serial_ when its nodes were made
  size_t path_from_ = 0;       // frames before this one lie below the innermost region: no node

  uint64_t epoch_ = 0;
  std::array<Names, frame_kinds> known_names_;  // by kind
  std::array<CachedName, 512> names_{};
  std::array<CachedLine, 1024> lines_{};
  std::array<CachedModule, 256> modules_{};
};

}  // namespace pellucid
