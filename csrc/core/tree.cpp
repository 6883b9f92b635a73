#include "core/tree.h"

namespace pellucid {

void Tree::clear() {
  for (auto& chunk : chunks_) chunk.reset();
  chunks_[0] = std::make_unique<Node[]>(first_chunk);
  slots_.assign(2 * first_chunk, Slot{});
  slots_.shrink_to_fit();
  mask_ = slots_.size() - 1;
  size_.store(1, std::memory_order_release);
}

NodeId Tree::insert(NodeId parent, FrameId frame, Origin origin) {
  size_t count = size_.load(std::memory_order_relaxed);
  if (count >= max_nodes) return parent;
  NodeId id = NodeId(count);
  auto& chunk = chunks_[chunk_of(id)];
  if (!chunk) chunk = std::make_unique<Node[]>(first_chunk << chunk_of(id));
  Node& node = chunk[offset_of(id)];
  node.parent = parent;
  node.frame = frame;
  node.origin = origin;
  place({parent, frame, origin, id});
  size_.store(count + 1, std::memory_order_release);
  if (2 * (count + 1) > slots_.size()) grow();
  return id;
}

void Tree::place(const Slot& slot) {
  size_t i = hash(slot.parent, slot.frame, slot.origin) & mask_;
  while (slots_[i].node != empty) i = (i + 1) & mask_;
  slots_[i] = slot;
}

void Tree::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.node != empty) place(slot);
  }
}

}  // namespace pellucid
