// Plays a job to an engine in virtual time, as agents and the collector do.
//
// Reports go through the wire types and the collector's own conversion; the engine is asked to conclude as often as a
// shard asks (ShardOptions::evaluate_every_ns), from the first report on; what it wishes of agents is answered in later
// reports. The engine sees times as the collector does: a wall clock that rises. Same arguments, same conclusions.
// Not thread-safe.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_PLAYER_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_PLAYER_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "detector/engine/job_engine.h"
#include "eval/live/delivery_spec.h"
#include "eval/live/live_engine.h"
#include "eval/live/live_job.h"
#include "eval/live/report_delivery.h"

namespace lockstep {

// CPU time of the calling thread in nanoseconds; tests give what does not move.
using CpuTimer = std::function<int64_t()>;

// What the engine said at one evaluation.
struct LiveLook {
  int64_t now_ns = 0;  // true time since the start of the job
  const JobEngine::Conclusion& conclusion;
  const JobSummary& summary;
  uint64_t operations_delivered = 0;  // inside of reports, not of answers
};

struct LivePlay {
  int64_t looks = 0;
  double seconds = 0;  // of the job
  uint64_t operations = 0;
  uint64_t report_bytes = 0;  // without answers
  uint64_t pulled_bytes = 0;
  uint64_t pulls = 0;
  uint64_t forgotten_commands = 0;
  int64_t engine_cpu_ns = 0;  // in Observe and Evaluate
  DeliveryCounts delivery;
  absl::Status refused;  // of the first report that the collector would not take; none after it was played
};

LivePlay PlayJob(const LiveJob& job, const DeliverySpec& delivery, uint64_t seed, LiveEngine& engine,
                 const CpuTimer& cpu, const std::function<void(const LiveLook&)>& on_look);

// The collector's clock at the begin of a job.
inline constexpr int64_t kLiveFirstWallNanos = 1'700'000'000'000'000'000;  // 2023-11-14T22:13:20Z, as good as any

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_PLAYER_H_
