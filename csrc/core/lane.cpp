#include "core/lane.h"

#include <algorithm>
#include <cstring>

#include "core/clock.h"

namespace pellucid {

namespace {

constexpr size_t max_region_names = 1000;
constexpr const char* merged_name = "(other names)";

FrameKind kind_of(pellucid_kind event) {
  switch (event) {
    case PELLUCID_REGION:
      return FrameKind::region;
    case PELLUCID_KERNEL:
      return FrameKind::kernel;
    case PELLUCID_COMPILE:
      return FrameKind::compile;
    default:
      return FrameKind::operation;
  }
}

}  // namespace

// The session before has taken all scopes off the stack.
void Lane::begin_session(uint64_t new_session, Symbols* symbols) {
  session = new_session;
  symbols_ = symbols;
  tree.clear();
  last_node_ = Tree::root;
  losses = {};
  for (Names& names : known_names_) names.clear();
  names_.fill({});
  epoch_ = symbols->epoch();
  forget_addresses();
}

void Lane::begin_thread(FrameId name, uint64_t start) {
  thread_node_ = tree.child(Tree::root, name);
  thread_start_ = start;
  thread_number = 0;
  covered_ = 0;
  path_.clear();
  recording = true;
}

void Lane::end_thread(uint64_t end) {
  settle_top();
  while (!stack_.empty()) {
    Scope* scope = stack_.back();
    uint64_t serial = scope->serial, children = scope->children;
    auto open = ScopeState::open;
    if (scope->state.compare_exchange_strong(open, ScopeState::orphan)) {  // not ours any more
      stack_.pop_back();
      cover(serial, children);
      ++losses[Loss::scope_left_open];
    }
    settle_top();
  }
  open_regions_ = open_phases_ = 0;
  recording = false;
  uint64_t wall = end > thread_start_ ? end - thread_start_ : 0;
  tree.at(thread_node_).times.add_time(wall > covered_ ? wall - covered_ : 0);
}

Scope* Lane::begin(const pellucid_event& event, Origin origin) {
  settle_top();
  if (event.kind == PELLUCID_COMPILE) return begin_phase(event.name);
  bool is_region = event.kind == PELLUCID_REGION;
  PyThreadState* thread = PyGILState_GetThisThreadState();
  if (thread && thread->interp != PyInterpreterState_Main()) {
    thread = nullptr;
    ++losses[Loss::foreign_interpreter];
  }
  Scope* scope = new_scope();
  NodeId base = locate(thread, *scope, is_region);
  FrameId frame = frame_of(kind_of(event.kind), event.name);
  scope->node = last_node_ = tree.child_after(last_node_, base, frame, origin);
  if (scope->node == base) ++losses[Loss::tree_full];
  if (is_region) {
    ++open_regions_;
    ++regions_serial_;
  } else if (event.kind == PELLUCID_OPERATOR && event.sequence >= 0) {
    forwards.put(forward_owner(session, event.thread), uint64_t(event.sequence), scope->node);
  }
  stack_.push_back(scope);
  scope->start = Clock::instance().ticks();
  return scope;
}

// Phases hang below the thread, one within another, whatever called the compiler: what it costs is
// not what the program costs.
Scope* Lane::begin_phase(const char* name) {
  Scope* top = stack_.empty() ? nullptr : stack_.back();
  Scope* scope = new_scope();
  scope->on_c_stack = true;
  scope->is_phase = true;
  scope->mark = {};
  NodeId parent = top && top->is_phase ? top->node : thread_node_;
  scope->node = child(parent, frame_of(FrameKind::compile, name));
  ++open_phases_;
  stack_.push_back(scope);
  scope->start = Clock::instance().ticks();
  return scope;
}

void Lane::end(Scope* scope, uint64_t now) {
  finish(scope, now, is_innermost(scope));
  take_off(scope);
}

// The stack belongs to the other thread, which books this the next time it looks.
void Lane::end_elsewhere(Scope* scope, uint64_t now) {
  scope->ended_at = now;
  auto open = ScopeState::open;
  if (!scope->state.compare_exchange_strong(open, ScopeState::ended_elsewhere)) delete scope;
}

// `nested`: it ended where it began, before all that it is in and after all that is in it.
void Lane::finish(Scope* scope, uint64_t now, bool nested) {
  uint64_t spent = now > scope->start ? now - scope->start : 0;
  Times& times = tree.at(scope->node).times;
  if (!scope->on_c_stack) return times.add_duration(spent);
  if (nested) {
    times.add_call(spent, spent > scope->children ? spent - scope->children : 0);
  } else {
    times.add_duration(spent);
  }
  cover(scope->serial, nested ? spent : scope->children);
}

// Ticks that were booked on operators, told to the one around them.
void Lane::cover(uint64_t serial, uint64_t ticks) {
  for (size_t i = stack_.size(); i-- > 0;) {
    Scope* outer = stack_[i];
    if (!outer->on_c_stack || outer->serial >= serial) continue;
    outer->children += ticks;
    return;
  }
  covered_ += ticks;
}

size_t Lane::open_scopes() const {
  return size_t(std::count_if(stack_.begin(), stack_.end(),
                              [](const Scope* scope) { return scope->state == ScopeState::open; }));
}

bool Lane::is_innermost(const Scope* scope) const {
  for (size_t i = stack_.size(); stack_[--i] != scope;) {
    if (stack_[i]->on_c_stack) return false;
  }
  return true;
}

void Lane::take_off(Scope* scope) {
  if (scope->is_phase) --open_phases_;
  if (!scope->on_c_stack) {
    --open_regions_;
    ++regions_serial_;
  }
  if (stack_.back() == scope) {
    stack_.pop_back();
  } else {
    std::erase(stack_, scope);
  }
  spare_.emplace_back(scope);
}

void Lane::settle_top() {
  while (!stack_.empty()) {
    Scope* scope = stack_.back();
    if (scope->state.load(std::memory_order_acquire) != ScopeState::ended_elsewhere) return;
    finish(scope, scope->ended_at, false);
    take_off(scope);
  }
}

Scope* Lane::new_scope() {
  Scope* scope;
  if (spare_.empty()) {
    scope = new Scope{};
    scope->lane = this;
  } else {
    scope = spare_.back().release();
    spare_.pop_back();
  }
  scope->state.store(ScopeState::open, std::memory_order_relaxed);
  scope->adrift = scope->is_phase = false;
  scope->serial = next_serial_++;
  scope->children = 0;
  return scope;
}

NodeId Lane::child(NodeId parent, FrameId frame) {
  NodeId node = tree.child(parent, frame);
  if (node == parent) ++losses[Loss::tree_full];
  return node;
}

FrameId Lane::frame_of(FrameKind kind, const char* name) {
  CachedName& cached = names_[(uintptr_t(name) >> 3 ^ uintptr_t(name) >> 12) % names_.size()];
  if (cached.pointer == name && cached.kind == kind && std::strcmp(cached.name, name) == 0) {
    return cached.frame;
  }
  Names& names = known_names_[size_t(kind)];
  auto known = names.find(std::string_view(name));
  if (known == names.end()) {
    if (kind == FrameKind::region && names.size() >= max_region_names) {
      ++losses[Loss::names_merged];
      return symbols_->frame(kind, merged_name);
    }
    known = names.emplace(name, symbols_->frame(kind, name)).first;
  }
  cached = {name, known->first.c_str(), kind, known->second};
  return known->second;
}

CodeLine Lane::line_of(PyCodeObject* code, int lasti) {
  size_t hash = (uintptr_t(code) >> 4) * 31 + size_t(lasti);
  CachedLine& cached = lines_[(hash ^ hash >> 10) % lines_.size()];
  if (cached.code != code || cached.lasti != lasti) {
    cached = {code, lasti, symbols_->code_line(code, lasti)};
  }
  return cached.line;
}

FrameId Lane::module_of(const void* self) {
  const void* type = Py_TYPE(static_cast<const PyObject*>(self));
  CachedModule& cached = modules_[(uintptr_t(self) >> 4) % modules_.size()];
  if (cached.self != self || cached.type != type) cached = {self, type, symbols_->module(self)};
  return cached.frame;
}

void Lane::forget_addresses() {
  lines_.fill({});
  modules_.fill({});
  path_.clear();
}

}  // namespace pellucid
