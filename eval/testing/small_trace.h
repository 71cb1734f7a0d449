// Hand-made traces for tests: operations are added one by one, in any order of ranks.
//
// Every host has one clock that starts at 0 and one rank. Times are milliseconds. Not thread-safe.

#ifndef LOCKSTEP_EVAL_TESTING_SMALL_TRACE_H_
#define LOCKSTEP_EVAL_TESTING_SMALL_TRACE_H_

#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/trace.h"

namespace lockstep {

class SmallTrace {
 public:
  explicit SmallTrace(int32_t ranks);

  // Returns its index. Communicator ranks follow the order of `members`.
  int32_t AddCommunicator(std::vector<int32_t> members);

  // A rank's operations must be added by rising start.
  void Add(int32_t rank, int32_t communicator, uint64_t sequence, OperationKind kind, double start_ms, double end_ms,
           int32_t peer = -1);

  Trace Build() const;

 private:
  Trace trace_;
  std::vector<std::vector<TraceOperation>> by_rank_;
};

// `steps` steps of one AllReduce over all ranks, which takes 2 ms from the last entry on. Rank r computes own_ms[r]
// before each, with a deviation of `noise` of it.
Trace DataParallelTrace(const std::vector<double>& own_ms, int32_t steps, double noise, uint64_t seed);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_TESTING_SMALL_TRACE_H_
