// The functions of libc that libc_hooks.cc and file_hooks.cc stand in for, as libc defines them. Thread-safe.

#ifndef LOCKSTEP_TESTS_FAULTS_LIBC_H_
#define LOCKSTEP_TESTS_FAULTS_LIBC_H_

#include <dlfcn.h>
#include <pthread.h>
#include <sys/types.h>
#include <time.h>

#include <cstddef>

namespace lockstep::faults::libc {

// The function of that name, looked for once and kept in `found`. It is no function-local static in here: the guard of
// one is among the functions that are stood in for.
template <typename Function>
Function* Next(Function*& found, const char* name, const char* version = nullptr) {
  if (found == nullptr) {
    found = reinterpret_cast<Function*>(version == nullptr ? dlsym(RTLD_NEXT, name) : dlvsym(RTLD_NEXT, name, version));
  }
  return found;
}

int CreateThread(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument);
int JoinThread(pthread_t thread, void** result);
int LockMutex(pthread_mutex_t* mutex);
int TryLockMutex(pthread_mutex_t* mutex);
int UnlockMutex(pthread_mutex_t* mutex);
ssize_t Write(int file, const void* bytes, size_t count);
int Sync(int file);

}  // namespace lockstep::faults::libc

#endif  // LOCKSTEP_TESTS_FAULTS_LIBC_H_
