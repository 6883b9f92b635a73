// What a session leaves: the threads' trees merged into one, in nanoseconds.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/symbols.h"
#include "core/tree.h"

namespace pellucid {

class Lane;

struct RecordedStep {
  FrameId frame;
  uint64_t start;  // ticks; after the merge ns since the session's start
  uint64_t duration;
};

struct Recording {
  int64_t start_unix_ns = 0;
  uint64_t wall_ns = 0;
  uint64_t threads = 0;
  double ns_per_tick = 1;
  std::deque<FrameRecord> frames;
  std::vector<Node> nodes;  // parents first; node 0 is the nameless root; origin.node: merged id
  std::vector<RecordedStep> steps;
  std::vector<std::pair<std::string, uint64_t>> losses;
};

// `lanes` by lane id; nullptr where a lane took no part.
std::vector<Node> merge(const std::vector<const Lane*>& lanes);

}  // namespace pellucid
