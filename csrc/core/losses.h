// What was not seen, counted.
#pragma once

#include <array>
#include <cstdint>

namespace pellucid {

enum class Loss : uint8_t {
  scope_left_open,      // its thread or the session ended first
  stack_truncated,      // Python frames beyond the deepest that is walked
  backward_unlinked,    // a backward function whose forward event was forgotten
  tree_full,            // an event booked on its parent
  foreign_interpreter,  // Python frames of a sub-interpreter
  names_merged,         // a region whose name came after too many others
  count_
};

struct Losses {
  std::array<uint64_t, size_t(Loss::count_)> counts{};
  uint64_t& operator[](Loss loss) { return counts[size_t(loss)]; }
};

inline const char* loss_name(Loss loss) {
  switch (loss) {
    case Loss::scope_left_open:
      return "scope_left_open";
    case Loss::stack_truncated:
      return "stack_truncated";
    case Loss::backward_unlinked:
      return "backward_unlinked";
    case Loss::tree_full:
      return "tree_full";
    case Loss::foreign_interpreter:
      return "foreign_interpreter";
    case Loss::names_merged:
      return "names_merged";
    case Loss::count_:
      break;
  }
  return "";
}

}  // namespace pellucid
