// Where in the tree an event belongs: below the Python frames between it and what it is nested in.
//
// Two kinds of scope can be open. An operator is bound to the C stack: as long as it runs, the
// Python frame that called it stays where it was, so an event with the same innermost frame is
// directly inside it, and a walk can stop at that frame. A region is bound to nothing: the frame
// that opened it goes on, may be suspended with the region open, or may have returned. It holds for
// an event if the frames that opened it are still on the stack or have returned; not if one is
// suspended.
#include <algorithm>

#include "core/lane.h"

namespace pellucid {

namespace {

constexpr size_t deepest_walk = 2048;

}  // namespace

NodeId Lane::locate(PyThreadState* thread, Scope& scope, bool is_region) {
  scope.on_c_stack = !is_region;
  scope.mark = {};
  bool in_python = thread && pellucid_innermost(thread, &scope.mark);
  Scope* top = stack_.empty() ? nullptr : stack_.back();
  bool directly_inside = top && top->on_c_stack && !top->adrift && top->mark == scope.mark;
  if (!in_python || directly_inside) {
    if (is_region) {
      scope.path.clear();
      scope.floor = floor().scope ? floor().scope->serial : 0;
    }
    return top ? top->node : thread_node_;
  }
  Floor below = floor();
  while (!walk(thread, below.scope)) {
    below.scope->adrift = true;
    below = floor();
  }
  size_t unchanged = follow(below);
  if (is_region) {
    drop_entering_frames();
    unchanged = std::min(unchanged, path_.size());
  }
  NodeId node = place(below, unchanged);
  if (is_region) {
    scope.path = path_;
    scope.floor = path_floor_;
  }
  return node;
}

Lane::Floor Lane::floor() const {
  for (size_t i = stack_.size(); i-- > 0;) {
    Scope* scope = stack_[i];
    if (scope->on_c_stack && !scope->adrift &&
        scope->state.load(std::memory_order_relaxed) == ScopeState::open) {
      return {scope, i + 1};
    }
  }
  return {};
}

// Marks the frames above the floor, innermost first. False where the floor is not below.
bool Lane::walk(PyThreadState* thread, const Scope* floor) {
  const void* stop = floor ? floor->mark.frame : nullptr;
  auto& marks = walked_marks_;
  int stopped;
  size_t count = pellucid_walk(thread, stop, marks.data(), marks.size(), &stopped);
  if (count > marks.size() && marks.size() < deepest_walk) {
    marks.resize(std::min(count, deepest_walk));
    count = pellucid_walk(thread, stop, marks.data(), marks.size(), &stopped);
  }
  if (stop && !stopped) return false;
  if (count > marks.size()) {
    ++losses[Loss::stack_truncated];
    walked_ = marks.size();
    return true;
  }
  walked_ = count;
  if (stop) {
    if (!(marks[count - 1] == floor->mark)) return false;
    --walked_;
  }
  return true;
}

// Makes path_ the path just walked; returns how many of its outermost frames are as they were.
size_t Lane::follow(const Floor& floor) {
  if (uint64_t now = symbols_->epoch(); now != epoch_) {
    epoch_ = now;
    forget_addresses();
  }
  uint64_t serial = floor.scope ? floor.scope->serial : 0;
  if (serial != path_floor_) path_.clear();
  path_floor_ = serial;
  const pellucid_mark* outermost = walked_marks_.data() + walked_;
  size_t same = 0;
  for (size_t limit = std::min(path_.size(), walked_); same < limit; ++same) {
    const PathFrame& known = path_[same];
    if (!(known.mark == *--outermost)) break;
    if (known.self && known.self != pellucid_first_local(known.mark.frame)) break;
  }
  path_.resize(same);
  for (size_t i = same; i < walked_; ++i) path_.push_back(describe(walked_marks_[walked_ - 1 - i]));
  return same;
}

PathFrame Lane::describe(const pellucid_mark& mark) {
  pellucid_py_frame frame;
  if (!pellucid_read_frame(mark.frame, &frame)) return {mark, nullptr, {0, ours}, nullptr, 0};
  CodeLine line = line_of(frame.code, frame.lasti);
  const void* self = line.traits & module_call ? pellucid_first_local(mark.frame) : nullptr;
  return {mark, frame.code, line, self, Tree::root};
}

NodeId Lane::place(const Floor& floor, size_t unchanged) {
  NodeId base = floor.scope ? floor.scope->node : thread_node_;
  size_t from = 0;
  bool nodes_hold = path_regions_ == regions_serial_ && !(open_regions_ && resumed(unchanged));
  if (nodes_hold && unchanged > path_from_) {
    return extend(path_[unchanged - 1].node, unchanged);
  }
  if (open_regions_) {
    if (const Scope* region = innermost_region(floor, from)) base = region->node;
  }
  path_regions_ = regions_serial_;
  path_from_ = from;
  return extend(base, from);
}

// Whether a generator or coroutine has come onto the path, and with it maybe a region of its own.
bool Lane::resumed(size_t from) const {
  return std::any_of(path_.begin() + ptrdiff_t(from), path_.end(),
                     [](const PathFrame& frame) { return frame.has(suspendable); });
}

NodeId Lane::extend(NodeId node, size_t from) {
  for (size_t i = from; i < path_.size(); ++i) {
    PathFrame& frame = path_[i];
    if (!frame.has(ours)) {
      if (frame.self) node = child(node, module_of(frame.self));
      node = child(node, frame.line.frame);
    }
    frame.node = node;
  }
  return node;
}

// The innermost region that holds for path_; `from` becomes the first frame that lies inside it.
const Scope* Lane::innermost_region(const Floor& floor, size_t& from) const {
  for (size_t i = stack_.size(); i-- > floor.scopes_from;) {
    const Scope* scope = stack_[i];
    if (scope->on_c_stack || scope->floor != path_floor_ ||
        scope->state.load(std::memory_order_relaxed) != ScopeState::open) {
      continue;
    }
    const auto& opened = scope->path;
    size_t common = 0;
    bool moved_on = false;
    auto same_call = [&] {
      return common < std::min(opened.size(), path_.size()) &&
             opened[common].same_call(path_[common]);
    };
    while (same_call()) {
      moved_on = opened[common].mark.position != path_[common].mark.position;
      bool same_line = opened[common].line.frame == path_[common].line.frame;
      ++common;
      // The loop that drives a generator may be another instruction the second time (3.12).
      if (moved_on && !(same_line && same_call() && opened[common].has(suspendable))) break;
    }
    bool suspended = false;
    for (size_t k = common; k < opened.size(); ++k) {
      // Where contextlib's __enter__ ran it, it rests at the `yield` that is the body of the
      // `with`.
      bool rests = k > 0 && opened[k - 1].has(generator_driver);
      suspended |= opened[k].has(suspendable) && !rests;
    }
    if (suspended) continue;
    from = moved_on ? common - 1 : common;
    return scope;
  }
  return nullptr;
}

// A region belongs to the frame of the `with` statement, not to the __enter__ that opened it.
void Lane::drop_entering_frames() {
  size_t count = path_.size();
  auto has = [&](size_t back, int traits) {
    return count >= back && (path_[count - back].line.traits & traits);
  };
  for (;;) {
    if (has(1, enters | dispatches) || (has(1, ours) && !has(1, suspendable))) {
      count -= 1;
    } else if (has(1, suspendable) && has(2, generator_driver)) {
      count -= 2;
    } else {
      break;
    }
  }
  path_.resize(count);
}

}  // namespace pellucid
