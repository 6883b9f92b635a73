// Which node ran the forward event with a given sequence number: a ring that forgets the oldest.
// Written by its thread alone, read by any thread that runs backward.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "core/tree.h"

namespace pellucid {

class ForwardTable {
 public:
  ForwardTable() = default;
  ForwardTable(const ForwardTable&) = delete;
  ForwardTable& operator=(const ForwardTable&) = delete;
  ~ForwardTable() {
    if (auto* entries = entries_.load()) munmap(entries, bytes);
  }

  // `owner` tells apart the threads and sessions that used this table before.
  void put(uint64_t owner, uint64_t sequence, NodeId node) {
    auto* entries = entries_.load(std::memory_order_relaxed);
    if (!entries && !(entries = map())) return;
    entries[sequence % capacity].store(uint64_t(tag(owner, sequence)) << 32 | node,
                                       std::memory_order_release);
  }

  // 0, the root, where the entry is not there or not there any more.
  NodeId get(uint64_t owner, uint64_t sequence) const {
    auto* entries = entries_.load(std::memory_order_acquire);
    if (!entries) return Tree::root;
    uint64_t entry = entries[sequence % capacity].load(std::memory_order_acquire);
    return uint32_t(entry >> 32) == tag(owner, sequence) ? NodeId(entry) : Tree::root;
  }

 private:
  using Entry = std::atomic<uint64_t>;
  static constexpr uint64_t capacity = uint64_t(1) << 17;
  static constexpr size_t bytes = capacity * sizeof(Entry);

  static uint32_t tag(uint64_t owner, uint64_t sequence) {
    uint64_t h = owner * 0xC2B2AE3D27D4EB4Full + sequence / capacity + 1;
    h = (h ^ h >> 32) * 0x9E3779B97F4A7C15ull;
    return uint32_t(h >> 32) | 1;
  }

  // Mapped rather than allocated: pages that are never touched cost nothing.
  Entry* map() {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    entries_.store(static_cast<Entry*>(memory), std::memory_order_release);
    return static_cast<Entry*>(memory);
  }

  std::atomic<Entry*> entries_{nullptr};
};

}  // namespace pellucid
