#include "tests/faults/thread_world.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random.h"
#include "tests/faults/libc.h"

namespace lockstep::faults {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kYieldNanos = 1'000;  // a thread that spins must see time pass
// One lock in so many is where a thread gives way.
constexpr uint64_t kLocksPerSwitch = 24;

enum class State { kReady, kLock, kCondition, kThread, kAsleep, kEnded };

struct Worker {
  int number = 0;
  Machine machine = kOutside;
  State state = State::kReady;
  const void* awaits = nullptr;  // lock, condition or Worker
  int64_t deadline_ns = kNever;  // of the wait, world
  bool signalled = false;
  int holds_floor = 0;
  int ends_left = 0;  // rounds of destructors of thread_local objects
  std::atomic<int> may_run{0};
  pthread_t thread{};
  pid_t kernel_id = 0;
  void* (*start)(void*) = nullptr;
  void* argument = nullptr;
};

// Whoever has the floor is the only one to touch it.
struct World {
  explicit World(uint64_t seed) : random(seed) {}

  Random random;
  int64_t now_ns = 0;
  std::vector<std::unique_ptr<Worker>> workers;  // all that ever were, for those who join them
  std::vector<Worker*> living;
  std::set<Machine> stopped;
  std::map<Machine, int64_t> wall_ahead_ns;
  std::function<void(const std::string&)> on_deadlock;
  size_t awaiting_locks = 0;
  uint64_t switches = 0;
  pid_t leaving = 0;       // a thread of the kernel that has given the floor up for good and is not gone yet
  Worker* trap = nullptr;  // sleeps until the machine is busy
  Machine trap_machine = kOutside;
  uint64_t trap_locks = 0;
};

World* world = nullptr;
thread_local Worker* self = nullptr;
pthread_key_t end_key;

void FutexWait(std::atomic<int>& word) {
  while (word.load(std::memory_order_acquire) == 0) {
    syscall(SYS_futex, reinterpret_cast<int*>(&word), FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  word.store(0, std::memory_order_relaxed);
}

void FutexWake(std::atomic<int>& word) {
  word.store(1, std::memory_order_release);
  syscall(SYS_futex, reinterpret_cast<int*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool IsStopped(const Worker& worker) { return world->stopped.count(worker.machine) != 0; }

std::string Describe() {
  static constexpr const char* kStates[] = {"ready", "lock", "condition", "thread", "asleep", "ended"};
  std::string text;
  for (const Worker* worker : world->living) {
    absl::StrAppend(&text, "thread ", worker->number, " of machine ", worker->machine, ": ",
                    kStates[static_cast<int>(worker->state)], IsStopped(*worker) ? ", stopped\n" : "\n");
  }
  return text;
}

// Lets those go on whose time has come.
void WakeDue() {
  for (Worker* worker : world->living) {
    if (worker->deadline_ns > world->now_ns || IsStopped(*worker)) continue;
    worker->deadline_ns = kNever;
    worker->state = State::kReady;
  }
}

Worker& ChooseNext() {
  while (true) {
    std::vector<Worker*> ready;
    int64_t soonest_ns = kNever;
    for (Worker* worker : world->living) {
      if (IsStopped(*worker)) continue;
      if (worker->state == State::kReady) ready.push_back(worker);
      soonest_ns = std::min(soonest_ns, worker->deadline_ns);
    }
    if (!ready.empty()) return *ready[world->random.Below(ready.size())];
    if (soonest_ns == kNever) {
      world->on_deadlock(Describe());
      _exit(EXIT_FAILURE);
    }
    world->now_ns = std::max(world->now_ns, soonest_ns);
    WakeDue();
  }
}

// Until its kernel thread is gone, what ended still frees memory, beside whoever has the floor.
void AwaitLeaving() {
  const pid_t leaving = world->leaving;
  world->leaving = 0;
  if (leaving == 0) return;
  while (syscall(SYS_tgkill, getpid(), leaving, 0) == 0) syscall(SYS_sched_yield);
}

void TakeFloor() {
  FutexWait(self->may_run);
  AwaitLeaving();
}

void GiveFloor() {
  Worker& next = ChooseNext();
  if (&next == self) return;
  ++world->switches;
  FutexWake(next.may_run);
  TakeFloor();
}

void WaitAs(State state, const void* awaits, int64_t deadline_ns) {
  self->state = state;
  self->awaits = awaits;
  self->deadline_ns = deadline_ns;
  if (state == State::kLock) ++world->awaiting_locks;
  GiveFloor();
  if (state == State::kLock) --world->awaiting_locks;
}

void WakeAll(State state, const void* awaited) {
  for (Worker* worker : world->living) {
    if (worker->state == state && worker->awaits == awaited) {
      worker->state = State::kReady;
      worker->deadline_ns = kNever;
    }
  }
}

// libc calls destructors of thread_local objects in rounds; in the last one the thread has nothing left to do.
void EndRound(void* argument) {
  Worker* const worker = static_cast<Worker*>(argument);
  if (--worker->ends_left > 0) {
    pthread_setspecific(end_key, worker);
    return;
  }
  worker->state = State::kEnded;
  worker->deadline_ns = kNever;
  WakeAll(State::kThread, worker);
  world->living.erase(std::find(world->living.begin(), world->living.end(), worker));
  world->leaving = worker->kernel_id;
  self = nullptr;
  FutexWake(ChooseNext().may_run);
}

void* RunWorker(void* argument) {
  Worker* const worker = static_cast<Worker*>(argument);
  self = worker;
  worker->kernel_id = static_cast<pid_t>(syscall(SYS_gettid));
  TakeFloor();
  worker->ends_left = PTHREAD_DESTRUCTOR_ITERATIONS;
  pthread_setspecific(end_key, worker);
  return worker->start(worker->argument);
}

void MaybeSpringTrap() {
  if (world->trap == nullptr || self->machine != world->trap_machine || --world->trap_locks > 0) return;
  Worker* const sleeper = world->trap;
  world->trap = nullptr;
  sleeper->state = State::kReady;
  sleeper->deadline_ns = kNever;
  ++world->switches;
  FutexWake(sleeper->may_run);
  TakeFloor();
}

}  // namespace

void RunThreadWorld(uint64_t seed, const std::function<void()>& body,
                    const std::function<void(const std::string&)>& on_deadlock) {
  CHECK(world == nullptr);
  CHECK(pthread_key_create(&end_key, EndRound) == 0);
  world = new World(seed);  // for ever: threads of libraries may outlive the body
  world->on_deadlock = on_deadlock;
  world->workers.push_back(std::make_unique<Worker>());
  self = world->workers.back().get();
  world->living.push_back(self);
  body();
  self = nullptr;
}

bool InThreadWorld() { return self != nullptr; }
int64_t WorldNanos() { return world->now_ns; }
void SleepUntil(int64_t world_ns) { WaitAs(State::kAsleep, nullptr, std::max(world_ns, world->now_ns)); }
void SleepFor(int64_t nanos) { SleepUntil(world->now_ns + nanos); }
Machine CurrentMachine() { return self->machine; }
void MoveTo(Machine machine) { self->machine = machine; }
uint64_t Switches() { return world->switches; }

void SetStopped(Machine machine, bool stopped) {
  if (stopped) {
    world->stopped.insert(machine);
  } else {
    world->stopped.erase(machine);
    WakeDue();
  }
}

void SetWallAhead(Machine machine, int64_t nanos) { world->wall_ahead_ns[machine] = nanos; }

void SleepUntilBusy(Machine machine, uint64_t locks, int64_t nanos) {
  world->trap = self;
  world->trap_machine = machine;
  world->trap_locks = std::max<uint64_t>(locks, 1);
  SleepFor(nanos);
  world->trap = nullptr;
}

size_t LivingThreads() { return world->living.size(); }

namespace hooks {

void Lock(const void* lock, absl::FunctionRef<bool()> try_lock) {
  if (self->holds_floor == 0) {
    MaybeSpringTrap();
    if (IsStopped(*self) || world->random.Below(kLocksPerSwitch) == 0) WaitAs(State::kReady, nullptr, kNever);
  }
  while (!try_lock()) WaitAs(State::kLock, lock, kNever);
}

void Unlocked(const void* lock) {
  if (world->awaiting_locks > 0) WakeAll(State::kLock, lock);
}

bool Wait(const void* condition, pthread_mutex_t* mutex, int64_t deadline_ns) {
  self->signalled = false;
  libc::UnlockMutex(mutex);
  Unlocked(mutex);
  WaitAs(State::kCondition, condition, deadline_ns < 0 ? kNever : std::max(deadline_ns, world->now_ns));
  while (libc::TryLockMutex(mutex) == EBUSY) WaitAs(State::kLock, mutex, kNever);
  return self->signalled;
}

void Signal(const void* condition, bool all) {
  std::vector<Worker*> waiting;
  for (Worker* worker : world->living) {
    if (worker->state == State::kCondition && worker->awaits == condition) waiting.push_back(worker);
  }
  if (waiting.empty()) return;
  if (!all) waiting = {waiting[world->random.Below(waiting.size())]};
  for (Worker* worker : waiting) {
    worker->signalled = true;
    worker->state = State::kReady;
    worker->deadline_ns = kNever;
  }
}

void Yield() { SleepFor(kYieldNanos); }

int CreateThread(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  auto worker = std::make_unique<Worker>();
  worker->number = static_cast<int>(world->workers.size());
  worker->machine = self->machine;
  worker->start = start;
  worker->argument = argument;
  const int error = libc::CreateThread(&worker->thread, attributes, RunWorker, worker.get());
  if (error != 0) return error;
  *thread = worker->thread;
  world->living.push_back(worker.get());
  world->workers.push_back(std::move(worker));
  return 0;
}

// The newest of this name: libc uses it again once a thread was joined.
void AwaitEnd(pthread_t thread) {
  for (auto worker = world->workers.rbegin(); worker != world->workers.rend(); ++worker) {
    if (pthread_equal((*worker)->thread, thread) == 0) continue;
    if ((*worker)->state != State::kEnded) WaitAs(State::kThread, worker->get(), kNever);
    return;
  }
}

int64_t WallNanos() {
  const auto ahead = world->wall_ahead_ns.find(self->machine);
  return kFirstWallNanos + world->now_ns + (ahead == world->wall_ahead_ns.end() ? 0 : ahead->second);
}

int64_t WorldOfWall(int64_t wall_ns) { return world->now_ns + (wall_ns - WallNanos()); }

void HoldFloor(int change) { self->holds_floor += change; }

}  // namespace hooks
}  // namespace lockstep::faults
