// The functions of libc that libc_hooks.cc stands in for, as libc defines them. Thread-safe.

#ifndef LOCKSTEP_TESTS_FAULTS_LIBC_H_
#define LOCKSTEP_TESTS_FAULTS_LIBC_H_

#include <pthread.h>
#include <time.h>

namespace lockstep::faults::libc {

int CreateThread(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument);
int JoinThread(pthread_t thread, void** result);
int LockMutex(pthread_mutex_t* mutex);
int TryLockMutex(pthread_mutex_t* mutex);
int UnlockMutex(pthread_mutex_t* mutex);

}  // namespace lockstep::faults::libc

#endif  // LOCKSTEP_TESTS_FAULTS_LIBC_H_
