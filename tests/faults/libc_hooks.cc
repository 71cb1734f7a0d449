// The functions of libc with which threads are made, wait for each other and read clocks. Of a thread of the world
// (thread_world.h) they go to it, of any other one to libc.
//
// glibc 2.36 of Debian 12: one library holds them all, and each is called by its name from every library.

#include <cxxabi.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "base/clock.h"
#include "tests/faults/libc.h"
#include "tests/faults/thread_world.h"

namespace {

using lockstep::kNanosPerSecond;
using lockstep::faults::InThreadWorld;
using lockstep::faults::WorldNanos;
using lockstep::faults::libc::Next;
namespace hooks = lockstep::faults::hooks;
namespace libc = lockstep::faults::libc;

// Conditions have an older version under the same name, with another layout.
constexpr char kConditions[] = "GLIBC_2.3.2";

int64_t ToNanos(const timespec& time) { return int64_t{time.tv_sec} * kNanosPerSecond + time.tv_nsec; }
timespec ToTimespec(int64_t nanos) {
  timespec time;
  time.tv_sec = nanos / kNanosPerSecond;
  time.tv_nsec = nanos % kNanosPerSecond;
  return time;
}

bool IsWall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

int WaitUntil(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* deadline) {
  const int64_t nanos = ToNanos(*deadline);
  return hooks::Wait(condition, mutex, IsWall(clock) ? hooks::WorldOfWall(nanos) : nanos) ? 0 : ETIMEDOUT;
}

}  // namespace

namespace lockstep::faults::libc {

extern "C" {
// AddressSanitizer has to hear of every thread.
__attribute__((weak)) int __interceptor_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                       void* (*start)(void*), void* argument);
}

int CreateThread(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  if (__interceptor_pthread_create != nullptr) {
    return __interceptor_pthread_create(thread, attributes, start, argument);
  }
  static decltype(pthread_create)* next = nullptr;
  return Next(next, "pthread_create")(thread, attributes, start, argument);
}

int JoinThread(pthread_t thread, void** result) {
  static decltype(pthread_join)* next = nullptr;
  return Next(next, "pthread_join")(thread, result);
}

int LockMutex(pthread_mutex_t* mutex) {
  static decltype(pthread_mutex_lock)* next = nullptr;
  return Next(next, "pthread_mutex_lock")(mutex);
}

int TryLockMutex(pthread_mutex_t* mutex) {
  static decltype(pthread_mutex_trylock)* next = nullptr;
  return Next(next, "pthread_mutex_trylock")(mutex);
}

int UnlockMutex(pthread_mutex_t* mutex) {
  static decltype(pthread_mutex_unlock)* next = nullptr;
  return Next(next, "pthread_mutex_unlock")(mutex);
}

}  // namespace lockstep::faults::libc

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  if (!InThreadWorld()) return libc::CreateThread(thread, attributes, start, argument);
  return hooks::CreateThread(thread, attributes, start, argument);
}

int pthread_join(pthread_t thread, void** result) {
  if (InThreadWorld()) hooks::AwaitEnd(thread);
  return libc::JoinThread(thread, result);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (!InThreadWorld()) return libc::LockMutex(mutex);
  int error = 0;
  hooks::Lock(mutex, [&] { return (error = libc::TryLockMutex(mutex)) != EBUSY; });
  return error;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  const int error = libc::UnlockMutex(mutex);
  if (InThreadWorld()) hooks::Unlocked(mutex);
  return error;
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  static decltype(pthread_rwlock_rdlock)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "pthread_rwlock_rdlock")(lock);
  int error = 0;
  hooks::Lock(lock, [&] { return (error = pthread_rwlock_tryrdlock(lock)) != EBUSY; });
  return error;
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  static decltype(pthread_rwlock_wrlock)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "pthread_rwlock_wrlock")(lock);
  int error = 0;
  hooks::Lock(lock, [&] { return (error = pthread_rwlock_trywrlock(lock)) != EBUSY; });
  return error;
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  static decltype(pthread_rwlock_unlock)* next = nullptr;
  const int error = Next(next, "pthread_rwlock_unlock")(lock);
  if (InThreadWorld()) hooks::Unlocked(lock);
  return error;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static decltype(pthread_cond_wait)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "pthread_cond_wait", kConditions)(condition, mutex);
  hooks::Wait(condition, mutex, -1);
  return 0;
}

// Of a condition whose clock was not set: nobody here sets one.
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* deadline) {
  static decltype(pthread_cond_timedwait)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "pthread_cond_timedwait", kConditions)(condition, mutex, deadline);
  return WaitUntil(condition, mutex, CLOCK_REALTIME, deadline);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* deadline) {
  static decltype(pthread_cond_clockwait)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "pthread_cond_clockwait")(condition, mutex, clock, deadline);
  return WaitUntil(condition, mutex, clock, deadline);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  static decltype(pthread_cond_signal)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "pthread_cond_signal", kConditions)(condition);
  hooks::Signal(condition, /*all=*/false);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  static decltype(pthread_cond_broadcast)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "pthread_cond_broadcast", kConditions)(condition);
  hooks::Signal(condition, /*all=*/true);
  return 0;
}

int pthread_once(pthread_once_t* once, void (*start)()) {
  static decltype(pthread_once)* next = nullptr;
  const bool in_world = InThreadWorld();
  if (in_world) hooks::HoldFloor(1);
  const int error = Next(next, "pthread_once")(once, start);
  if (in_world) hooks::HoldFloor(-1);
  return error;
}

// The making of an object of static life: others that want it would wait where the world cannot see it.
int __cxa_guard_acquire(abi::__guard* guard) {
  static int (*next)(abi::__guard*) = nullptr;
  const int is_to_make = Next(next, "__cxa_guard_acquire")(guard);
  if (is_to_make != 0 && InThreadWorld()) hooks::HoldFloor(1);
  return is_to_make;
}

void __cxa_guard_release(abi::__guard* guard) noexcept {
  static void (*next)(abi::__guard*) = nullptr;
  Next(next, "__cxa_guard_release")(guard);
  if (InThreadWorld()) hooks::HoldFloor(-1);
}

int sched_yield() noexcept {
  static decltype(sched_yield)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "sched_yield")();
  hooks::Yield();
  return 0;
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static decltype(clock_gettime)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "clock_gettime")(clock, now);
  *now = ToTimespec(IsWall(clock) ? hooks::WallNanos() : WorldNanos());
  return 0;
}

int gettimeofday(timeval* now, void* zone) noexcept {
  static decltype(gettimeofday)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "gettimeofday")(now, zone);
  const int64_t nanos = hooks::WallNanos();
  now->tv_sec = nanos / kNanosPerSecond;
  now->tv_usec = nanos % kNanosPerSecond / lockstep::kNanosPerMicro;
  return 0;
}

time_t time(time_t* now) noexcept {
  static decltype(time)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "time")(now);
  const time_t seconds = hooks::WallNanos() / kNanosPerSecond;
  if (now != nullptr) *now = seconds;
  return seconds;
}

int nanosleep(const timespec* length, timespec* left) {
  static decltype(nanosleep)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "nanosleep")(length, left);
  lockstep::faults::SleepFor(ToNanos(*length));
  return 0;
}

int usleep(useconds_t micros) {
  static decltype(usleep)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "usleep")(micros);
  lockstep::faults::SleepFor(int64_t{micros} * lockstep::kNanosPerMicro);
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* until, timespec* left) {
  static decltype(clock_nanosleep)* next = nullptr;
  if (!InThreadWorld()) return Next(next, "clock_nanosleep")(clock, flags, until, left);
  const int64_t nanos = ToNanos(*until);
  const bool absolute = (flags & TIMER_ABSTIME) != 0;
  const int64_t deadline_ns = IsWall(clock) ? hooks::WorldOfWall(nanos) : nanos;
  lockstep::faults::SleepUntil(absolute ? deadline_ns : WorldNanos() + nanos);
  return 0;
}

}  // extern "C"
