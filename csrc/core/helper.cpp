#include "core/helper.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace pellucid {

namespace {

std::atomic<Helper*> sigterm_helper{nullptr};
pid_t sigterm_owner = 0;

void on_sigterm(int) {
  int saved_errno = errno;
  Helper* helper = sigterm_helper.exchange(nullptr);  // the second one does not wait
  if (helper && getpid() == sigterm_owner) {
    helper->call(Helper::sigterm);
  } else {
    die_of_sigterm();
  }
  errno = saved_errno;
}

bool handler_is(void (*handler)(int)) {
  struct sigaction current;
  return sigaction(SIGTERM, nullptr, &current) == 0 && !(current.sa_flags & SA_SIGINFO) &&
         current.sa_handler == handler;
}

timespec after(double seconds) {
  timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  auto ns = int64_t(seconds * 1e9) + at.tv_nsec;
  return {at.tv_sec + time_t(ns / 1'000'000'000), long(ns % 1'000'000'000)};
}

bool reached(const timespec& at) {
  timespec now = after(0);
  return now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec);
}

void* end_later(void* seconds) {
  sleep(unsigned(uintptr_t(seconds)));
  die_of_sigterm();
  return nullptr;
}

}  // namespace

bool Helper::start() {
  calls_ = 0;
  // The program's signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  running_ = pthread_create(&thread_, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return running_;
}

void Helper::call(Call what) {
  calls_.fetch_or(what);
  sem_post(&wake_);
}

bool Helper::stop() {
  if (!running_) return true;
  call(stop_);
  if (pthread_equal(pthread_self(), thread_)) {
    pthread_detach(thread_);
    return false;
  }
  pthread_join(thread_, nullptr);
  running_ = false;
  return true;
}

void* Helper::run(void* self) {
  pthread_setname_np(pthread_self(), "pellucid");
  static_cast<Helper*>(self)->loop();
  return nullptr;
}

void Helper::loop() {
  uint32_t pending = 0;
  timespec not_before = after(0);
  for (;;) {
    if (pending & new_modules) {
      sem_timedwait(&wake_, &not_before);
    } else {
      sem_wait(&wake_);
    }
    pending |= calls_.exchange(0);
    if (pending & stop_) return;
    if (pending & sigterm) work_(sigterm);
    if (pending & new_modules && reached(not_before)) {
      double again_in = work_(new_modules);
      not_before = after(again_in);
      if (again_in <= 0) pending &= ~new_modules;
    }
    pending &= ~sigterm;
  }
}

bool watch_sigterm(Helper* helper) {
  if (!handler_is(SIG_DFL)) return false;
  sigterm_helper = helper;
  sigterm_owner = getpid();
  struct sigaction ours = {};
  ours.sa_handler = on_sigterm;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  return sigaction(SIGTERM, &ours, nullptr) == 0;
}

void unwatch_sigterm() {
  if (handler_is(on_sigterm)) signal(SIGTERM, SIG_DFL);
  sigterm_helper = nullptr;
}

void die_of_sigterm() {
  signal(SIGTERM, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  kill(getpid(), SIGTERM);
}

void die_of_sigterm_after(unsigned seconds) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, end_later, reinterpret_cast<void*>(uintptr_t(seconds))) ==
      0) {
    pthread_detach(thread);
  }
}

}  // namespace pellucid
