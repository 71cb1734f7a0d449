// Ranks of one communicator that work, and call its collectives on streams: a rank goes on with its work while what it
// has called waits for its stream, for the others and for the data. What tests of overlap are made of. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_TESTING_STREAM_JOB_H_
#define LOCKSTEP_DETECTOR_TESTING_STREAM_JOB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"

namespace lockstep {

class StreamJob {
 public:
  // By rank, in nanoseconds.
  using Moments = std::vector<int64_t>;
  // What a recorder tells of a begin.
  using TellBegin = std::function<int64_t(size_t rank, int64_t begin_ns)>;

  // Work varies by up to `noise` of its length.
  StreamJob(size_t ranks, int32_t ranks_of_host, double noise, uint64_t seed);

  void TellBegins(TellBegin tell) { tell_begin_ = std::move(tell); }

  // All ranks work, `sick` for so many times as long.
  void Work(double millis, size_t sick, double slowness);

  // Begins when its stream is free, and ends everywhere when the last has begun and the data have moved. Returns when.
  Moments Call(OperationKind kind, absl::Span<const int64_t> posted_ns, int64_t transfer_ns, uint64_t bytes,
               Moments* stream_ns);

  // When ranks have done what they have been given.
  Moments& now() { return now_; }
  const Moments& now() const { return now_; }

  Trace Build() { return builder_.Build(); }

 private:
  const double noise_;
  TraceBuilder builder_;
  Random random_;
  int32_t group_ = -1;
  std::vector<int32_t> handles_;
  TellBegin tell_begin_;
  Moments now_;
  uint64_t sequence_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_STREAM_JOB_H_
