// CPU time of the calling thread: what work costs on a machine that others use as well.
//
// Thread-safe.

#ifndef LOCKSTEP_BASE_THREAD_CPU_TIME_H_
#define LOCKSTEP_BASE_THREAD_CPU_TIME_H_

#include <cstdint>

namespace lockstep {

// Nanoseconds that the calling thread has run so far. Comparable within one thread alone.
int64_t ThreadCpuNanos();

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_THREAD_CPU_TIME_H_
