#include "collector/warm_start.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/convert/convert.h"
#include "collector/series_points.h"
#include "proto/capture.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kRateSpanNanos = 10 * kNanosPerSecond;    // over which inputs are counted
constexpr int64_t kNamesSpanNanos = 600 * kNanosPerSecond;  // jobs without a report for longer are over
constexpr int64_t kNamesTailNanos = 3 * kNanosPerSecond;    // in which every host of a job reports
constexpr size_t kPointsAtOnce = size_t{1} << 20;           // bound of memory
constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();

int64_t CountInputs(const std::string& job, int64_t from_ns, HistoryStore& store) {
  int64_t inputs = 0;
  const absl::Status status = store.ScanLog(job, from_ns, kForEver, [&](const wire::CaptureEntry& entry) {
    inputs += entry.has_input() ? 1 : 0;
    return true;
  });
  return status.ok() ? inputs : 0;
}

// Of all jobs alike: as long as what they report allows.
int64_t SpanOf(const WarmStartOptions& options, const std::vector<LoggedJob>& jobs, HistoryStore& store) {
  const int64_t from_ns = NewestOf(jobs) - kRateSpanNanos;
  int64_t inputs = 0;
  for (const LoggedJob& job : jobs) inputs += CountInputs(job.name, from_ns, store);
  const double per_nano = static_cast<double>(std::max<int64_t>(inputs, 1)) / static_cast<double>(kRateSpanNanos);
  const double most_ns = static_cast<double>(options.max_inputs) / per_nano;
  return most_ns < static_cast<double>(options.span_ns) ? static_cast<int64_t>(most_ns) : options.span_ns;
}

absl::Status Scan(const std::string& job, int64_t from_ns, HistoryStore& store, const JobTable::Visit& visit) {
  absl::Status visited;
  const absl::Status scanned = store.ScanLog(job, from_ns, kForEver, [&](const wire::CaptureEntry& entry) {
    visited = visit(entry);
    return visited.ok();
  });
  return scanned.ok() ? visited : scanned;
}

}  // namespace

ShardPast PastOf(const std::function<bool(const std::string& job)>& is_own, int64_t since_ns,
                 const std::vector<wire::Incident>& incidents, const std::vector<LoggedJob>& jobs) {
  ShardPast past;
  std::copy_if(incidents.begin(), incidents.end(), std::back_inserter(past.incidents),
               [&](const wire::Incident& incident) { return is_own(incident.job()); });
  std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(past.jobs),
               [&](const LoggedJob& job) { return is_own(job.name) && job.newest_wall_ns >= since_ns; });
  return past;
}

int64_t NewestOf(const std::vector<LoggedJob>& jobs) {
  int64_t newest_ns = 0;
  for (const LoggedJob& job : jobs) newest_ns = std::max(newest_ns, job.newest_wall_ns);
  return newest_ns;
}

void WarmUpJobs(const WarmStartOptions& options, const std::vector<LoggedJob>& jobs, HistoryStore& store,
                JobTable& table) {
  if (jobs.empty()) return;
  const int64_t begun_ns = RealClock().MonotonicNanos();
  const int64_t span_ns = SpanOf(options, jobs, store);
  const int64_t from_ns = NewestOf(jobs) - span_ns;
  for (const LoggedJob& job : jobs) {
    table.WarmUpJob(job.name, [&](const JobTable::Visit& visit) { return Scan(job.name, from_ns, store, visit); });
  }
  Log(LogLevel::kInfo, "engines were given the log of their jobs",
      {{"jobs", std::to_string(jobs.size())},
       {"log_seconds", std::to_string(span_ns / kNanosPerSecond)},
       {"took_ms", std::to_string((RealClock().MonotonicNanos() - begun_ns) / kNanosPerMilli)}});
}

absl::Status ReadRecentLog(const WarmStartOptions& options, const std::string& job, int64_t now_ns, HistoryStore& store,
                           const JobTable::Visit& visit) {
  return Scan(job, now_ns - SpanOf(options, {{job, now_ns}}, store), store, visit);
}

void RestoreNames(const std::vector<LoggedJob>& jobs, int64_t now_ns, HistoryStore& store, JobNames& names,
                  PlaceRuns& runs) {
  // The newest last: a job that turned out to be a part of another is older than that one.
  std::vector<LoggedJob> by_age = jobs;
  std::sort(by_age.begin(), by_age.end(),
            [](const LoggedJob& a, const LoggedJob& b) { return a.newest_wall_ns < b.newest_wall_ns; });
  const int64_t newest_ns = NewestOf(jobs);
  for (const LoggedJob& job : by_age) {
    if (job.newest_wall_ns < newest_ns - kNamesSpanNanos) continue;
    const absl::Status scanned =
        store.ScanLog(job.name, job.newest_wall_ns - kNamesTailNanos, kForEver, [&](const wire::CaptureEntry& entry) {
          if (!entry.has_input()) return true;
          const wire::CaptureInput& input = entry.input();
          names.Restore(input.host(), job.name, now_ns, input.report());
          runs.Restore(input.host(), job.name, input.received_wall_ns() - WaitedNanos(input.report()), input.report());
          return true;
        });
    if (!scanned.ok()) {
      Log(LogLevel::kWarning, "it is not known whose processes were those of a job",
          {{"job", job.name}, {"error", std::string(scanned.message())}});
    }
  }
}

absl::Status RecoverSeries(const std::vector<LoggedJob>& jobs, HistoryStore& store) {
  const int64_t newest_ns = NewestOf(jobs);
  for (const LoggedJob& job : jobs) {
    if (job.newest_wall_ns < newest_ns - kRecoverySpanNanos) continue;
    std::vector<SeriesPoint> points;
    absl::Status recovered;
    const absl::Status scanned =
        store.ScanLog(job.name, newest_ns - kRecoverySpanNanos, kForEver, [&](const wire::CaptureEntry& entry) {
          if (entry.has_input() && entry.input().carries_points()) AppendSeriesPoints(entry.input(), points);
          if (points.size() < kPointsAtOnce) return true;
          recovered = store.RecoverPoints(points);
          points.clear();
          return recovered.ok();
        });
    RETURN_IF_ERROR(recovered);
    RETURN_IF_ERROR(store.RecoverPoints(points));
    if (!scanned.ok()) Log(LogLevel::kWarning, "samples of a job may be missing", {{"error", scanned.ToString()}});
  }
  return absl::OkStatus();
}

}  // namespace lockstep
