// The recorder of this process: threads, sessions, and the way events take into their thread's
// lane.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/lane.h"
#include "core/recording.h"

namespace pellucid {

class Recorder {
 public:
  // Made anew in a fork child, whose copy of the old one may hold locks of threads that are gone.
  static Recorder& instance();

  using ThreadNames = std::unordered_map<uint64_t, std::string>;  // by pthread_t

  // False where a session is already recording.
  bool start(std::string own_folder, ThreadNames running_threads, void (*on_new_module)());
  Recording stop();
  bool recording() const { return active_.load(std::memory_order_acquire) == this; }

  // Neither throws, whatever happens: they are called from inside the framework.
  static Scope* begin(const pellucid_event& event) noexcept;
  static void end(Scope* scope) noexcept;

  void end_step(Scope* scope);
  // Takes time that we spent ourselves, on the calling thread, out of its recorded time.
  void leave_out(uint64_t ns);
  void name_thread(const std::string& name);
  void code_died(PyCodeObject* code);
  void module_died(uintptr_t object);
  std::vector<NewModule> take_new_modules();
  size_t open_scopes();  // of the calling thread

  static void in_fork_parent();
  static void in_fork_child();

 private:
  static constexpr size_t max_lanes = 4096;
  static constexpr size_t max_threads = 8192;

  Lane* lane_of_this_thread();
  Lane* lane_of(uint64_t thread, Lane& lane);
  Lane* attach(const std::string* name);
  void join_session(Lane& lane, const std::string* name);
  static void detach(void* lane);
  Origin origin_of(const pellucid_event& event, Lane& lane);
  void wait_until_quiet();

  static std::atomic<Recorder*> active_;

  std::mutex mutex_;
  std::array<std::atomic<Lane*>, max_lanes> lanes_{};
  size_t lane_count_ = 0;
  std::vector<Lane*> idle_;

  std::atomic<uint64_t> session_{0};
  uint64_t start_ticks_ = 0;
  uint64_t left_out_ = 0;
  int64_t start_unix_ns_ = 0;
  std::unique_ptr<Symbols> symbols_;
  ThreadNames running_threads_;
  std::vector<RecordedStep> steps_;
  // The framework's thread number (high half) and its lane (low half), by the number's remainder.
  std::array<std::atomic<uint64_t>, max_threads> lane_of_thread_{};
  std::atomic<uint64_t> threads_{0};
  std::atomic<uint64_t> forks_{0};
  std::atomic<uint64_t> failures_{0};
};

}  // namespace pellucid
