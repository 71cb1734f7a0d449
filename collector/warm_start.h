// What the recent past is that engines are given again when the collector starts, whose processes it tells of, and the
// samples that history lacks.

#ifndef LOCKSTEP_COLLECTOR_WARM_START_H_
#define LOCKSTEP_COLLECTOR_WARM_START_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "collector/job_names.h"
#include "collector/job_table.h"
#include "collector/place_runs.h"
#include "collector/store/history_store.h"
#include "proto/incident.pb.h"

namespace lockstep {

// How long an engine that begins anew waits for the store writer to have written what was appended.
inline constexpr int64_t kLogWaitNanos = 2 * kNanosPerSecond;

// What a shard goes on with of an earlier life of the collector.
struct ShardPast {
  std::vector<wire::Incident> incidents;
  std::vector<LoggedJob> jobs;  // whose log engines are given again
};

// The part of `incidents` and `jobs` that is about jobs of the shard (`is_own`). Jobs whose log ends before `since_ns`
// are over.
ShardPast PastOf(const std::function<bool(const std::string& job)>& is_own, int64_t since_ns,
                 const std::vector<wire::Incident>& incidents, const std::vector<LoggedJob>& jobs);

// The newest time in the logs; 0 = there is none.
int64_t NewestOf(const std::vector<LoggedJob>& jobs);

struct WarmStartOptions {
  // What engines learn from: some looks, and tens of the longest steps.
  int64_t span_ns = 600'000'000'000;
  // Inputs for the jobs of one shard together. An engine takes some ten thousand per second: more reports per second
  // than this over the span shorten that, so that a shard is warm within about ten seconds.
  int64_t max_inputs = 100'000;
};

// Gives each of `jobs` in `table` its log of the span before the newest entry of them all, however long the collector
// was away since. Thread-compatible.
void WarmUpJobs(const WarmStartOptions& options, const std::vector<LoggedJob>& jobs, HistoryStore& store,
                JobTable& table);

// Visits the log of `job` of the span before `now_ns`, or of less time: about `options.max_inputs` inputs.
absl::Status ReadRecentLog(const WarmStartOptions& options, const std::string& job, int64_t now_ns, HistoryStore& store,
                           const JobTable::Visit& visit);

// Puts back into history the samples that a crash took from its memory: they are in the log. Reads
// kRecoverySpanNanos before its newest entry.
absl::Status RecoverSeries(const std::vector<LoggedJob>& jobs, HistoryStore& store);

// Tells `names` and `runs` whose processes the logs are of, by the last seconds of each: before the first report comes,
// or parts of one job would be told apart again. What cannot be read is left out.
void RestoreNames(const std::vector<LoggedJob>& jobs, int64_t now_ns, HistoryStore& store, JobNames& names,
                  PlaceRuns& runs);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_WARM_START_H_
