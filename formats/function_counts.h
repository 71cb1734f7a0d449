// Numbers of collectives per communicator, from numbers that count each function of a communicator for itself.
//
// NCCL's profiler interface counts so: AllGather 40 and ReduceScatter 40 of one communicator are two operations. All
// members call in one order, which each of them shows by its own clock. The functions' counts are merged by these
// orders into one count, in which the same operation has the same number on all members, whatever records one of them
// lost.
//
// What all members have lost leaves no gap. Where the orders of members contradict each other (their times are too
// coarse), the count is one of those that contradict few. Pure. Cost O(n log n), about 60 bytes per call.

#ifndef LOCKSTEP_FORMATS_FUNCTION_COUNTS_H_
#define LOCKSTEP_FORMATS_FUNCTION_COUNTS_H_

#include <cstdint>
#include <vector>

#include "detector/model/trace.h"

namespace lockstep {

struct CountedCall {
  int32_t process = -1;
  TraceOperation* operation = nullptr;  // borrowed
};

// `calls` are all of one communicator, those that end at one time in the order of their process. What has not ended
// comes last, as it was called. Changes the numbers only where they do not rise from one function to another, which
// those of a communicator do.
void CountPerCommunicator(std::vector<CountedCall> calls);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_FUNCTION_COUNTS_H_
