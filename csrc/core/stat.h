// A distribution in constant space. Sums are whole numbers, so that nothing is rounded and nothing
// divided while recording.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pellucid {

struct Stat {
  uint64_t count = 0;
  uint64_t sum = 0;
  uint64_t min = UINT64_MAX;
  uint64_t max = 0;
  uint64_t squares_low = 0;  // of the sum of squares, in two halves: 128 bits want to be aligned
  uint64_t squares_high = 0;

  void add(uint64_t value) {
    ++count;
    sum += value;
    if (value < min) min = value;
    if (value > max) max = value;
    add_squares(Wide(value) * value);
  }

  void merge(const Stat& other) {
    count += other.count;
    sum += other.sum;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    add_squares(other.squares());
  }

  // The sum of squared differences from the mean.
  double m2() const {
    if (!count) return 0;
    Wide square = Wide(sum) * sum;
    return double(squares() - square / count) - double(square % count) / double(count);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  Wide squares() const { return Wide(squares_high) << 64 | squares_low; }
  void add_squares(Wide more) {
    Wide total = squares() + more;
    squares_low = uint64_t(total);
    squares_high = uint64_t(total >> 64);
  }
};

}  // namespace pellucid
