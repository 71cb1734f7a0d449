#include "eval/live/recorder_errors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/clock.h"
#include "base/random.h"

namespace lockstep {
namespace {

// Measured on a played job, begins wandered there and back within about half a minute.
constexpr double kShortestWaveSeconds = 20;
constexpr double kLongestWaveSeconds = 60;

void ForgetBegin(TraceOperation* operation) {
  operation->start_ns = operation->finished() ? operation->enqueue_ns : kNoTime;
  operation->quality = TimingQuality::kHostEnqueue;
}

// One rank's error over time.
class BeginError {
 public:
  BeginError(const RecorderErrors& errors, uint64_t seed)
      : errors_(errors),
        random_(seed),
        period_seconds_(kShortestWaveSeconds + (kLongestWaveSeconds - kShortestWaveSeconds) * random_.Unit()),
        phase_(2 * std::numbers::pi * random_.Unit()) {}

  int64_t At(int64_t host_ns) {
    const double seconds = static_cast<double>(host_ns) / kNanosPerSecond;
    const double wander = std::sin(2 * std::numbers::pi * seconds / period_seconds_ + phase_) * errors_.wander_seconds;
    return static_cast<int64_t>((wander + errors_.jitter_seconds * random_.Gaussian()) * kNanosPerSecond);
  }

 private:
  const RecorderErrors& errors_;
  Random random_;
  double period_seconds_;
  double phase_;
};

}  // namespace

std::vector<bool> EnqueueOnlyRanks(const RecorderErrors& errors, size_t ranks, uint64_t seed) {
  Random random(seed);
  std::vector<bool> chosen(ranks);
  for (size_t r = 0; r < ranks; ++r) chosen[r] = random.Unit() < errors.enqueue_only_share;
  return chosen;
}

void AddRecorderErrors(const RecorderErrors& errors, const std::vector<bool>& enqueue_only, uint64_t seed,
                       Trace& trace) {
  Random seeds(seed);
  for (size_t r = 0; r < trace.ranks.size(); ++r) {
    BeginError error(errors, seeds.Next());
    for (size_t i = trace.first_operation[r]; i < trace.first_operation[r + 1]; ++i) {
      TraceOperation& operation = trace.operations[i];
      if (enqueue_only[r]) {
        ForgetBegin(&operation);
        continue;
      }
      if (!operation.started()) continue;
      const int64_t begin_ns = std::max(operation.enqueue_ns, operation.start_ns + error.At(operation.start_ns));
      if (operation.finished()) operation.end_ns += begin_ns - operation.start_ns;
      operation.start_ns = begin_ns;
    }
  }
}

}  // namespace lockstep
