#include "core/clock.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace pellucid {

Clock Clock::instance_;

Clock::Clock()
    : real_source_(counter_is_steady() ? Source::counter : Source::monotonic),
      source_(real_source_),
      counter_at_load_(counter()),
      ns_at_load_(monotonic_ns()) {}

uint64_t Clock::monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

bool Clock::counter_is_steady() {
#if defined(__x86_64__)
  unsigned eax, ebx, ecx, edx = 0;
  constexpr unsigned invariant_tsc = 1u << 8;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & invariant_tsc);
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

double Clock::ns_per_tick() const {
  if (source_ != Source::counter) return 1.0;
  constexpr uint64_t long_enough_ns = 20'000'000;
  uint64_t elapsed = monotonic_ns() - ns_at_load_;
  if (elapsed < long_enough_ns) {
    timespec rest{0, long(long_enough_ns - elapsed)};
    nanosleep(&rest, nullptr);
  }
  uint64_t before = monotonic_ns();
  uint64_t now = counter();
  uint64_t after = monotonic_ns();
  return double(before + (after - before) / 2 - ns_at_load_) / double(now - counter_at_load_);
}

void Clock::fake(uint64_t ns) {
  fake_.store(ns, std::memory_order_relaxed);
  source_ = Source::fake;
}

void Clock::real() { source_ = real_source_; }

}  // namespace pellucid
