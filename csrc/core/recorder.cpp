#include "core/recorder.h"

#include <linux/membarrier.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

namespace pellucid {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local Lane* t_lane = nullptr;
std::atomic<Recorder*> process_recorder{nullptr};
std::mutex making_recorder;
pthread_key_t thread_end_key;

int64_t unix_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Threads that nobody named are called like the program; that says nothing of them.
std::string system_thread_name() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  bool nameless = std::string_view(program_invocation_short_name).starts_with(name);
  return nameless && gettid() != getpid() ? "native thread" : name;
}

// Marks a lane as being written to. The compiler must not move the mark; the processor may, which
// the stopping side undoes with a barrier on all threads (so that this side costs nothing).
class Busy {
 public:
  explicit Busy(Lane& lane) : lane_(lane) {
    lane_.busy.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Busy() { lane_.busy.store(false, std::memory_order_release); }

 private:
  Lane& lane_;
};

void barrier_on_all_threads() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  usleep(1000);  // no such call here: a store is visible long before that
}

}  // namespace

std::atomic<Recorder*> Recorder::active_{nullptr};

Recorder& Recorder::instance() {
  if (auto* recorder = process_recorder.load(std::memory_order_acquire)) return *recorder;
  std::lock_guard lock(making_recorder);
  if (auto* recorder = process_recorder.load(std::memory_order_acquire)) return *recorder;
  [[maybe_unused]] static bool first = [] {
    pthread_key_create(&thread_end_key, detach);
    pthread_atfork(nullptr, in_fork_parent, in_fork_child);
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    return true;
  }();
  // Never destroyed: events can end after exit handlers have run.
  process_recorder.store(new Recorder, std::memory_order_release);
  return *process_recorder.load();
}

bool Recorder::start(std::string own_folder, ThreadNames running_threads, void (*on_new_module)()) {
  {
    std::lock_guard lock(mutex_);
    if (recording()) return false;
    symbols_ = std::make_unique<Symbols>(std::move(own_folder), on_new_module);
    running_threads_ = std::move(running_threads);
    steps_.clear();
    threads_ = forks_ = failures_ = 0;
    for (auto& entry : lane_of_thread_) entry.store(0, std::memory_order_relaxed);
    ++session_;
    start_unix_ns_ = unix_ns();
    left_out_ = 0;
    start_ticks_ = Clock::instance().ticks();
    active_.store(this, std::memory_order_release);
  }
  lane_of_this_thread();
  return true;
}

Recording Recorder::stop() {
  std::lock_guard lock(mutex_);
  uint64_t now = Clock::instance().ticks();
  active_.store(nullptr, std::memory_order_release);
  wait_until_quiet();
  Recording result;
  std::vector<const Lane*> taking_part(lane_count_);
  Losses losses;
  for (size_t i = 0; i < lane_count_; ++i) {
    Lane* lane = lanes_[i].load();
    if (lane->session != session_) continue;
    if (lane->recording) lane->end_thread(now);
    taking_part[i] = lane;
    for (size_t k = 0; k < losses.counts.size(); ++k) losses.counts[k] += lane->losses.counts[k];
  }
  result.nodes = merge(taking_part);
  result.frames = symbols_->frames();
  result.ns_per_tick = Clock::instance().ns_per_tick();
  result.start_unix_ns = start_unix_ns_;
  result.wall_ns = uint64_t(double(now - start_ticks_ - left_out_) * result.ns_per_tick);
  result.threads = threads_;
  for (RecordedStep step : steps_) {
    step.start = uint64_t(double(step.start - start_ticks_) * result.ns_per_tick);
    step.duration = uint64_t(double(step.duration) * result.ns_per_tick);
    result.steps.push_back(step);
  }
  for (size_t k = 0; k < losses.counts.size(); ++k) {
    if (losses.counts[k]) result.losses.emplace_back(loss_name(Loss(k)), losses.counts[k]);
  }
  if (forks_) result.losses.emplace_back("forked_process", forks_.load());
  if (failures_) result.losses.emplace_back("event_failed", failures_.load());
  return result;
}

// After this no thread writes into a lane: each either saw that recording is off, or has left.
void Recorder::wait_until_quiet() {
  barrier_on_all_threads();
  for (size_t i = 0; i < lane_count_; ++i) {
    while (lanes_[i].load()->busy.load(std::memory_order_acquire)) sched_yield();
  }
}

Scope* Recorder::begin(const pellucid_event& event) noexcept {
  Recorder* recorder = active_.load(std::memory_order_acquire);
  if (!recorder) return nullptr;
  try {
    Lane* lane = recorder->lane_of_this_thread();
    if (!lane) return nullptr;
    Busy busy(*lane);
    // Recording may have stopped, or even started anew, before the mark was seen.
    if (active_.load(std::memory_order_acquire) != recorder) return nullptr;
    if (lane->session != recorder->session_.load(std::memory_order_relaxed)) return nullptr;
    if (lane->compiling() && event.kind != PELLUCID_COMPILE) return nullptr;
    return lane->begin(event, recorder->origin_of(event, *lane));
  } catch (...) {
    recorder->failures_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
}

void Recorder::end(Scope* scope) noexcept {
  uint64_t now = Clock::instance().ticks();
  Lane* lane = t_lane;
  if (lane && scope->lane == lane) {
    Busy busy(*lane);
    if (active_.load(std::memory_order_acquire) &&
        scope->state.load(std::memory_order_relaxed) == ScopeState::open) {
      try {
        lane->end(scope, now);
      } catch (...) {
        instance().failures_.fetch_add(1, std::memory_order_relaxed);
      }
      return;
    }
  }
  Lane::end_elsewhere(scope, now);
}

Origin Recorder::origin_of(const pellucid_event& event, Lane& lane) {
  if (event.sequence < 0) return {};
  if (event.kind == PELLUCID_OPERATOR) {
    if (lane.thread_number != event.thread) {
      lane.thread_number = event.thread;
      lane_of_thread_[event.thread % max_threads].store(event.thread << 32 | lane.id,
                                                        std::memory_order_release);
    }
    return {};
  }
  if (event.kind != PELLUCID_BACKWARD) return {};
  Lane* forward = lane_of(event.forward_thread, lane);
  NodeId node = forward ? forward->forwards.get(forward_owner(session_, event.forward_thread),
                                                uint64_t(event.sequence))
                        : Tree::root;
  if (node) return {forward->id, node};
  ++lane.losses[Loss::backward_unlinked];
  return {};
}

// The lane of the framework's thread of that number, as seen from `lane`.
Lane* Recorder::lane_of(uint64_t thread, Lane& lane) {
  if (lane.thread_number == thread) return &lane;
  uint64_t entry = lane_of_thread_[thread % max_threads].load(std::memory_order_acquire);
  if (!entry || entry >> 32 != thread) return nullptr;
  return lanes_[uint32_t(entry)].load(std::memory_order_acquire);
}

Lane* Recorder::lane_of_this_thread() {
  Lane* lane = t_lane;
  if (!lane) lane = attach(nullptr);
  if (lane && lane->session != session_) {
    std::lock_guard lock(mutex_);
    join_session(*lane, nullptr);
  }
  return lane;
}

Lane* Recorder::attach(const std::string* name) {
  std::lock_guard lock(mutex_);
  Lane* lane;
  if (!idle_.empty()) {
    lane = idle_.back();
    idle_.pop_back();
  } else if (lane_count_ < max_lanes) {
    lane = new Lane(uint32_t(lane_count_));
    lanes_[lane_count_++].store(lane, std::memory_order_release);
  } else {
    failures_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  t_lane = lane;
  pthread_setspecific(thread_end_key, lane);
  join_session(*lane, name);
  return lane;
}

// Under the lock. `name`: what Python calls the thread that it starts; else what is known of it.
void Recorder::join_session(Lane& lane, const std::string* name) {
  if (!recording() || (lane.session == session_ && lane.recording)) return;
  if (lane.session != session_) lane.begin_session(session_, symbols_.get());
  // Numbers come back: one that is new by its name is not the thread that had the number before.
  auto running = running_threads_.extract(uint64_t(pthread_self()));
  bool was_running = running && !name;
  std::string known = name ? *name : running ? running.mapped() : system_thread_name();
  uint64_t start = was_running ? start_ticks_ : Clock::instance().ticks();
  lane.begin_thread(symbols_->frame(FrameKind::thread, known), start);
  ++threads_;
}

void Recorder::name_thread(const std::string& name) {
  if (!recording()) return;
  if (!t_lane) {
    attach(&name);
    return;
  }
  std::lock_guard lock(mutex_);
  join_session(*t_lane, &name);
}

void Recorder::detach(void* pointer) {
  auto* lane = static_cast<Lane*>(pointer);
  Recorder& recorder = instance();
  std::lock_guard lock(recorder.mutex_);
  t_lane = nullptr;
  if (lane->recording) lane->end_thread(Clock::instance().ticks());
  recorder.idle_.push_back(lane);
}

void Recorder::end_step(Scope* scope) {
  uint64_t now = Clock::instance().ticks();
  {
    std::lock_guard lock(mutex_);
    // Whatever is open belongs to this session: the end of one leaves none.
    if (recording() && scope->state.load(std::memory_order_relaxed) == ScopeState::open) {
      FrameId frame = scope->lane->tree.at(scope->node).frame;
      steps_.push_back({frame, scope->start, now > scope->start ? now - scope->start : 0});
    }
  }
  end(scope);
}

void Recorder::leave_out(uint64_t ns) {
  std::lock_guard lock(mutex_);
  if (!recording() || !t_lane || !t_lane->recording) return;
  auto ticks = uint64_t(double(ns) / Clock::instance().ns_per_tick());
  t_lane->leave_out(ticks);
  left_out_ += ticks;
}

void Recorder::code_died(PyCodeObject* code) {
  if (recording()) symbols_->code_died(code);
}

void Recorder::module_died(uintptr_t object) {
  if (recording()) symbols_->module_died(object);
}

std::vector<NewModule> Recorder::take_new_modules() {
  return symbols_ ? symbols_->take_new_modules() : std::vector<NewModule>{};
}

size_t Recorder::open_scopes() {
  return t_lane && t_lane->session == session_ ? t_lane->open_scopes() : 0;
}

void Recorder::in_fork_parent() {
  if (auto* recorder = active_.load()) recorder->forks_.fetch_add(1);
}

void Recorder::in_fork_child() {
  active_.store(nullptr);
  process_recorder.store(nullptr);
  t_lane = nullptr;
  pthread_setspecific(thread_end_key, nullptr);
  new (&making_recorder) std::mutex;
}

}  // namespace pellucid
