// The one clock: raw ticks while recording, nanoseconds when read out.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace pellucid {

class Clock {
 public:
  static Clock& instance() { return instance_; }

  uint64_t ticks() const {
    switch (source_) {
      case Source::counter:
        return counter();
      case Source::fake:
        return fake_.load(std::memory_order_relaxed);
      default:
        return monotonic_ns();
    }
  }

  // Measured over the time since the process loaded us; waits until that is long enough to trust.
  double ns_per_tick() const;

  // Tests set time by hand.
  void fake(uint64_t ns);
  void real();

  static uint64_t monotonic_ns();

 private:
  enum class Source : uint8_t { counter, monotonic, fake };

  Clock();
  static Clock instance_;
  static bool counter_is_steady();
  static uint64_t counter() {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return monotonic_ns();
#endif
  }

  Source real_source_;
  Source source_;
  uint64_t counter_at_load_;
  uint64_t ns_at_load_;
  std::atomic<uint64_t> fake_{0};
};

}  // namespace pellucid
