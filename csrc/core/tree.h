// One thread's calling context tree. Nodes live in chunks that never move, so that a reader can
// follow indices below `size()` while the owner goes on writing.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/stat.h"

namespace pellucid {

using NodeId = uint32_t;
using FrameId = uint32_t;

// Which forward node a backward function belongs to; lane and node of that lane's tree.
struct Origin {
  uint32_t lane = 0;
  NodeId node = 0;  // 0, the root, is nobody's forward node: none
  bool operator==(const Origin&) const = default;
};

// A node's duration and time. Most nodes have nothing inside, and the two are the same.
class Times {
 public:
  // One call, and what of it was spent on the node alone.
  void add_call(uint64_t spent, uint64_t alone) {
    if (alone != spent) part();
    if (parted_) time_.add(alone);
    duration_.add(spent);
  }
  void add_duration(uint64_t spent) {
    part();
    duration_.add(spent);
  }
  void add_time(uint64_t spent) {
    part();
    time_.add(spent);
  }
  void merge(const Times& other) {
    part();
    duration_.merge(other.duration());
    time_.merge(other.time());
  }

  const Stat& duration() const { return duration_; }
  const Stat& time() const { return parted_ ? time_ : duration_; }

 private:
  void part() {
    if (!parted_) time_ = duration_;
    parted_ = true;
  }

  bool parted_ = false;
  Stat duration_;
  Stat time_;
};

// Two cache lines.
struct alignas(64) Node {
  NodeId parent = 0;
  FrameId frame = 0;
  Origin origin;
  // Whose event began after this one's the last time: programs repeat themselves.
  NodeId successor = 0;
  Times times;
};
static_assert(sizeof(Node) == 128);

class Tree {
 public:
  static constexpr NodeId root = 0;
  static constexpr size_t max_nodes = size_t(1) << 24;

  Tree() { clear(); }

  // The child of `parent` with this frame and origin, made if need be; `parent` itself where the
  // tree is full.
  NodeId child(NodeId parent, FrameId frame, Origin origin = {}) {
    for (size_t i = hash(parent, frame, origin) & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.node == empty) return insert(parent, frame, origin);
      if (slot.parent == parent && slot.frame == frame && slot.origin == origin) return slot.node;
    }
  }

  // The same, tried first with the node that came after `before` the last time.
  NodeId child_after(NodeId before, NodeId parent, FrameId frame, Origin origin) {
    Node& last = at(before);
    const Node& guess = at(last.successor);
    NodeId node = last.successor;  // frame 0 is the root's alone, so that an unset one is no match
    if (guess.parent != parent || guess.frame != frame || guess.origin != origin) {
      node = last.successor = child(parent, frame, origin);
    }
    prefetch(node);
    return node;
  }

  Node& at(NodeId id) { return chunks_[chunk_of(id)][offset_of(id)]; }
  const Node& at(NodeId id) const { return chunks_[chunk_of(id)][offset_of(id)]; }
  size_t size() const { return size_.load(std::memory_order_acquire); }
  void clear();

 private:
  static constexpr NodeId empty = 0;  // the root is nobody's child
  static constexpr size_t first_chunk = 64;
  static constexpr size_t max_chunks = 20;

  struct Slot {
    NodeId parent = 0;
    FrameId frame = 0;
    Origin origin;
    NodeId node = empty;
  };

  // Chunk k holds first_chunk << k nodes.
  static size_t chunk_of(NodeId id) { return std::bit_width(id / first_chunk + 1) - 1; }
  static size_t offset_of(NodeId id) {
    return id - first_chunk * ((size_t(1) << chunk_of(id)) - 1);
  }

  static size_t hash(NodeId parent, FrameId frame, Origin origin) {
    uint64_t h = (uint64_t(parent) << 32 | frame) * 0x9E3779B97F4A7C15ull;
    h ^= (uint64_t(origin.lane) << 32 | origin.node) * 0xC2B2AE3D27D4EB4Full;
    return h ^ h >> 32;
  }

  // What will be wanted when this event ends, and when the next one begins.
  void prefetch(NodeId id) {
    Node& node = at(id);
    __builtin_prefetch(reinterpret_cast<char*>(&node) + 64, 1);
    __builtin_prefetch(&at(node.successor));
  }

  NodeId insert(NodeId parent, FrameId frame, Origin origin);
  void place(const Slot& slot);
  void grow();

  std::array<std::unique_ptr<Node[]>, max_chunks> chunks_;
  std::atomic<size_t> size_{0};
  std::vector<Slot> slots_;
  size_t mask_ = 0;
};

}  // namespace pellucid
