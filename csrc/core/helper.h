// A thread beside the program that sleeps until somebody has work for it which needs the GIL: new
// modules to name, a SIGTERM to act upon. Waking it is safe from signal handlers and from inside
// the framework.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstdint>

namespace pellucid {

class Helper {
 public:
  enum Call : uint32_t { stop_ = 1, new_modules = 2, sigterm = 4 };

  // Called by the helper's thread, without the GIL. Returns the seconds after which to call again
  // for the same reason; 0: not before somebody asks.
  using Work = double (*)(Call);

  explicit Helper(Work work) : work_(work) { sem_init(&wake_, 0, 0); }

  bool start();
  void call(Call what);
  // Waits for the thread, without the GIL; false where the caller is that thread, which goes on
  // until it comes back here.
  bool stop();

 private:
  static void* run(void* self);
  void loop();

  Work work_;
  sem_t wake_;
  std::atomic<uint32_t> calls_{0};
  pthread_t thread_{};
  bool running_ = false;
};

// Saves before SIGTERM ends the process: where the disposition is the default, a handler wakes the
// helper, and `die_of_sigterm` ends the process as the default would have.
bool watch_sigterm(Helper* helper);
void unwatch_sigterm();
void die_of_sigterm();
// The same where saving takes too long, as when somebody holds the GIL for good.
void die_of_sigterm_after(unsigned seconds);

}  // namespace pellucid
