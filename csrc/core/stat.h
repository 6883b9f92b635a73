// A distribution in constant space (Welford's method; Chan's for merging).
#pragma once

#include <algorithm>
#include <cstdint>

namespace pellucid {

struct Stat {
  uint64_t count = 0;
  uint64_t sum = 0;
  uint64_t min = UINT64_MAX;
  uint64_t max = 0;
  double mean = 0;
  double m2 = 0;

  void add(uint64_t value) {
    ++count;
    sum += value;
    if (value < min) min = value;
    if (value > max) max = value;
    double delta = double(value) - mean;
    mean += delta / double(count);
    m2 += delta * (double(value) - mean);
  }

  void merge(const Stat& other) {
    if (!other.count) return;
    double delta = other.mean - mean;
    double total = double(count + other.count);
    m2 += other.m2 + delta * delta * double(count) * double(other.count) / total;
    mean += delta * double(other.count) / total;
    count += other.count;
    sum += other.sum;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
};

}  // namespace pellucid
