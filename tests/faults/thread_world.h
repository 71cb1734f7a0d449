// All threads of a process as a function of one seed: one runs at a time, chance decides which, and time passes only
// when all wait.
//
// Takes the place of the operating system below code that knows nothing of it: libc_hooks.cc defines the functions of
// libc with which threads are made, wait for each other and read clocks, and the linker prefers those of the program
// to those of libc for the libraries as well (RocksDB has threads of its own). Therefore the very classes run that run
// in the daemons. A thread is made to give way where it takes a lock, by chance, so that seeds differ in interleaving.
//
// Threads belong to machines, which inherit from thread to thread: a machine has a wall clock of its own, and can be
// stopped and go on. A wait in the kernel that is none of these functions stops everything: no thread may block in a
// socket, a pipe or a futex of its own.
//
// One world per process, begun while it has one thread: fork for each. Functions are to be called by threads of the
// world, and therefore never at the same time. Single-threaded in that sense.

#ifndef LOCKSTEP_TESTS_FAULTS_THREAD_WORLD_H_
#define LOCKSTEP_TESTS_FAULTS_THREAD_WORLD_H_

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/functional/function_ref.h"

namespace lockstep::faults {

using Machine = int32_t;
inline constexpr Machine kOutside = 0;  // of the thread that begins the world: network, receivers, checkers

// What all wall clocks show at the beginning: 2026-01-02T03:04:05Z.
inline constexpr int64_t kFirstWallNanos = int64_t{1'767'323'045} * 1'000'000'000;

// Runs `body` as the first thread, on kOutside. When it returns the world stands still for ever: leave the process with
// _exit. `on_deadlock` is called with what all threads wait for once none can ever go on.
void RunThreadWorld(uint64_t seed, const std::function<void()>& body,
                    const std::function<void(const std::string&)>& on_deadlock);

// Whether the calling thread belongs to a world that runs.
bool InThreadWorld();

// Nanoseconds since the beginning: the same on all machines.
int64_t WorldNanos();
void SleepUntil(int64_t world_ns);
void SleepFor(int64_t nanos);

// The machine of the calling thread, and of the threads that it makes from now on.
Machine CurrentMachine();
void MoveTo(Machine machine);

// Threads of a stopped machine do not run; those that have the floor give it up at their next lock.
void SetStopped(Machine machine, bool stopped);
// What the wall clock of the machine shows beyond that of the others.
void SetWallAhead(Machine machine, int64_t nanos);

// Returns when threads of `machine` have taken `locks` locks, in the middle of what they do; or after `nanos`.
void SleepUntilBusy(Machine machine, uint64_t locks, int64_t nanos);

// How often the floor was given to another thread: a cheap check that two runs were the same.
uint64_t Switches();
size_t LivingThreads();

// For libc_hooks.cc. The calling thread belongs to the world.
namespace hooks {
void Lock(const void* lock, absl::FunctionRef<bool()> try_lock);
void Unlocked(const void* lock);
// Gives up `mutex`, waits until signalled or `deadline_ns` (world; -1 = for ever), takes it. False = it is late.
bool Wait(const void* condition, pthread_mutex_t* mutex, int64_t deadline_ns);
void Signal(const void* condition, bool all);
void Yield();
int CreateThread(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument);
void AwaitEnd(pthread_t thread);
// World time at which the wall clock of the machine shows `wall_ns`.
int64_t WorldOfWall(int64_t wall_ns);
int64_t WallNanos();
// While it lasts, the thread gives way only where it must wait.
void HoldFloor(int change);
}  // namespace hooks

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_THREAD_WORLD_H_
