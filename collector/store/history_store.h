// What the collector remembers: the input log of every job, samples of every device, incidents, and how far each agent
// has been stored.
//
// Errors: UNAVAILABLE or RESOURCE_EXHAUSTED for a disk that refuses, DATA_LOSS for bytes that do not decode,
// FAILED_PRECONDITION for a directory of a newer schema or one that another process holds. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_HISTORY_STORE_H_
#define LOCKSTEP_COLLECTOR_STORE_HISTORY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/metric_catalog.h"
#include "collector/alert/told_alert.h"
#include "collector/store/audit_kind.h"
#include "proto/admin.pb.h"
#include "proto/capture.pb.h"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"
#include "proto/stacks.pb.h"

namespace lockstep {

// One sample of one series, at the collector's receive time.
struct SeriesPoint {
  std::string host;
  std::string device;  // "" = the host
  Metric metric = Metric::kUnspecified;
  int64_t wall_ns = 0;
  double value = 0;
};

// The newest report of an agent that the batch contains.
struct ReportMark {
  std::string host;
  uint64_t incarnation = 0;
  uint64_t sequence = 0;
};

// A change of an incident that one receiver of alerts has not taken yet.
struct PendingAlert {
  uint64_t number = 0;   // of the change; rises in the order of the changes and is never used again
  std::string receiver;  // as named by who stored it
  wire::IncidentEvent event;
};

// A job that has a log, and when its newest entry was written.
struct LoggedJob {
  std::string name;
  int64_t newest_wall_ns = 0;
};

inline constexpr size_t kMaxSeenHosts = 50'000;  // twice the agents that a collector takes, and more

// A host that has reported, and when it did last, to a minute or so.
struct SeenHost {
  std::string name;
  int64_t last_report_wall_ns = 0;
};

// Written atomically: after a crash either all of it is there or nothing.
struct StoreBatch {
  std::vector<wire::CaptureEntry> log;  // in the order in which the detectors saw them; jobs may be mixed
  std::vector<ReportMark> marks;
  std::vector<SeriesPoint> points;
};

// A place in an answer, which is ordered by host, device and time.
struct SeriesCursor {
  std::string host;
  std::string device;
  int64_t wall_ns = 0;

  bool operator==(const SeriesCursor&) const = default;
};

struct SeriesSelector {
  Metric metric = Metric::kUnspecified;
  std::string host;    // "" = all
  std::string device;  // "*" = all, "" = the host itself
  int64_t from_wall_ns = 0;
  int64_t to_wall_ns = 0;              // exclusive
  std::optional<SeriesCursor> resume;  // where the page before ended
};

// How much one answer may hold, and so how much memory it may take. Each at least 1.
struct SeriesLimits {
  size_t max_series = 1;
  size_t max_points = 1;  // over all series
};

struct SeriesRange {
  std::string host;
  std::string device;
  std::vector<std::pair<int64_t, double>> points;  // by time
};

struct SeriesPage {
  std::vector<SeriesRange> ranges;   // by host and device; those without points are left out
  std::optional<SeriesCursor> next;  // the first that did not fit: what to resume with
};

// What lies in memory only, of points that were logged, is of the last 70 s before the newest entry of the log. After a
// crash so much of the log is read again, and so much of it stays however short the disk is.
inline constexpr int64_t kRecoverySpanNanos = 120'000'000'000;

class HistoryStore {
 public:
  virtual ~HistoryStore() = default;

  // On return the log and the marks survive loss of power, and with them the names of their hosts (LoadHosts; the first
  // kMaxSeenHosts). Points may wait in memory until their chunk is full; after a crash they are read from the log again
  // and given to RecoverPoints.
  virtual absl::Status Write(const StoreBatch& batch) = 0;

  // Inserts or replaces by id. On return it survives loss of power.
  virtual absl::Status PutIncident(const wire::Incident& incident) = 0;

  // The same, and atomically with it: each of `receivers` has to be told. Gives the number of the change.
  virtual absl::StatusOr<uint64_t> PutEvent(const wire::IncidentEvent& event,
                                            const std::vector<std::string>& receivers) = 0;

  // The receiver was told, or will never be. On return that survives loss of power; after an error it does with the
  // next success for this receiver, at once with what that removes.
  virtual absl::Status RemoveAlerts(const std::string& receiver, const std::vector<uint64_t>& numbers) = 0;

  // What receivers have not taken, by rising number.
  virtual absl::StatusOr<std::vector<PendingAlert>> LoadAlerts() = 0;

  // Keeps what a receiver was told last of an incident, in the place of what is there, which an empty one removes; how
  // many of the oldest incidents' had to make room. Survives kill -9, and loss of power once a later RemoveAlerts has
  // returned.
  virtual absl::StatusOr<size_t> PutTold(const ToldAlert& told) = 0;
  // By incident. Those of incidents that are kept no more are removed. To be called at a start, before PutTold.
  virtual absl::StatusOr<std::vector<ToldAlert>> LoadTold() = 0;

  // Newest report stored of this incarnation; 0 = none.
  virtual absl::StatusOr<uint64_t> StoredSequence(const std::string& host, uint64_t incarnation) = 0;

  // Inserts or replaces by name; kept until removed. Survives kill -9; after loss of power times may be older.
  virtual absl::Status PutHosts(const std::vector<SeenHost>& hosts) = 0;
  // On return it survives loss of power. A host that is not there is no error. Its GPUs go with it.
  virtual absl::Status RemoveHost(const std::string& name) = 0;
  // By name.
  virtual absl::StatusOr<std::vector<SeenHost>> LoadHosts() = 0;

  // Inserts or replaces by host which GPUs its indices are, and were. Survives kill -9.
  virtual absl::Status PutGpus(const std::vector<wire::HostGpus>& hosts) = 0;
  // By host.
  virtual absl::StatusOr<std::vector<wire::HostGpus>> LoadGpus() = 0;

  // Inserts or replaces by id, and removes those of the ids `gone`. On return it survives loss of power.
  virtual absl::Status PutMaintenance(const wire::MaintenanceWindow& window, const std::vector<uint64_t>& gone) = 0;
  // By id.
  virtual absl::StatusOr<std::vector<wire::MaintenanceWindow>> LoadMaintenance() = 0;

  // Keeps the record; how many of the oldest of its kind had to make room for it. On return a change survives loss of
  // power, a refusal kill -9.
  virtual absl::StatusOr<size_t> PutAudit(AuditKind kind, const wire::AuditRecord& record) = 0;
  // All that is kept of it, of both kinds, newest first.
  virtual absl::StatusOr<std::vector<wire::AuditRecord>> LoadAudit() = 0;

  // Keeps stacks that were taken for an incident, in the place of those that are there; how many of the oldest
  // incidents' had to make room. Survives kill -9.
  virtual absl::StatusOr<size_t> PutStacks(uint64_t incident, uint32_t place, const wire::StackDump& dump) = 0;
  // What is kept of an incident, by place.
  virtual absl::StatusOr<std::vector<wire::StackDump>> LoadStacks(uint64_t incident) = 0;

  // By rising id; ids are never reused.
  virtual absl::StatusOr<std::vector<wire::Incident>> LoadIncidents() = 0;

  // Ids of incidents up to `id` may be given out. On return that survives loss of power.
  virtual absl::Status PutIncidentIds(uint64_t id) = 0;
  // The `id` that was put last; 0 = none.
  virtual absl::StatusOr<uint64_t> LoadIncidentIds() = 0;

  // Jobs whose log has an entry, by name.
  virtual absl::StatusOr<std::vector<LoggedJob>> LoggedJobs() = 0;

  // Calls `visit` for every entry of the job's log with from <= time < to, in order, until it returns false.
  // NOT_FOUND if the job was never seen.
  virtual absl::Status ScanLog(const std::string& job, int64_t from_wall_ns, int64_t to_wall_ns,
                               const std::function<bool(const wire::CaptureEntry&)>& visit) = 0;

  // Takes points that an earlier life may have lost with its memory: those that are on disk already are left out.
  virtual absl::Status RecoverPoints(const std::vector<SeriesPoint>& points) = 0;

  // What is selected, as far as the limits allow. Points of one moment are never parted, so that a page may hold a few
  // more than `max_points`. Samples that arrive between two pages are in the second if they lie behind the first.
  virtual absl::StatusOr<SeriesPage> ReadSeries(const SeriesSelector& selector, const SeriesLimits& limits) = 0;

  // Writes what waits in memory. Called at shutdown.
  virtual absl::Status Flush() = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_HISTORY_STORE_H_
