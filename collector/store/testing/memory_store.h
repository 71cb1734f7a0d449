// HistoryStore in memory, for tests: as durable as the object, and able to refuse on demand.
//
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_TESTING_MEMORY_STORE_H_
#define LOCKSTEP_COLLECTOR_STORE_TESTING_MEMORY_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "collector/store/history_store.h"

namespace lockstep {

class MemoryStore final : public HistoryStore {
 public:
  // While refusing, Write, PutIncident and PutEvent fail with RESOURCE_EXHAUSTED and change nothing.
  void set_refuses(bool refuses) {
    SetRefusal(refuses ? absl::ResourceExhaustedError("no space left on device") : absl::OkStatus());
  }
  // Or with another error.
  void SetRefusal(const absl::Status& refusal);

  // StoredSequence fails with it.
  void SetSequenceRefusal(const absl::Status& refusal);

  // While blocked, these wait: a disk that hangs. Must be released before the writer is closed.
  void set_blocked(bool blocked);

  // Waits until at least `count` entries of the log are written, at most `nanos`. False when the time is over.
  bool WaitForEntries(size_t count, int64_t nanos) const;
  // Likewise, until the mark of `host` is at least `sequence`.
  bool WaitForMark(const std::string& host, uint64_t incarnation, uint64_t sequence, int64_t nanos) const;

  std::vector<wire::CaptureEntry> log() const;
  std::vector<SeriesPoint> points() const;
  int writes() const;
  int flushes() const;

  // HistoryStore
  absl::Status Write(const StoreBatch& batch) override;
  absl::Status PutIncident(const wire::Incident& incident) override;
  absl::StatusOr<uint64_t> PutEvent(const wire::IncidentEvent& event,
                                    const std::vector<std::string>& receivers) override;
  absl::Status RemoveAlerts(const std::string& receiver, const std::vector<uint64_t>& numbers) override;
  absl::StatusOr<std::vector<PendingAlert>> LoadAlerts() override;
  absl::StatusOr<size_t> PutTold(const ToldAlert& told) override;
  absl::StatusOr<std::vector<ToldAlert>> LoadTold() override;
  absl::StatusOr<std::vector<LoggedJob>> LoggedJobs() override;
  absl::Status RecoverPoints(const std::vector<SeriesPoint>& points) override;
  absl::Status PutHosts(const std::vector<SeenHost>& hosts) override;
  absl::Status RemoveHost(const std::string& name) override;
  absl::StatusOr<std::vector<SeenHost>> LoadHosts() override;
  absl::Status PutGpus(const std::vector<wire::HostGpus>& hosts) override;
  absl::StatusOr<std::vector<wire::HostGpus>> LoadGpus() override;
  absl::Status PutIncidentIds(uint64_t id) override;
  absl::StatusOr<uint64_t> LoadIncidentIds() override;
  absl::Status PutMaintenance(const wire::MaintenanceWindow& window, const std::vector<uint64_t>& gone) override;
  absl::StatusOr<std::vector<wire::MaintenanceWindow>> LoadMaintenance() override;
  absl::StatusOr<size_t> PutAudit(AuditKind kind, const wire::AuditRecord& record) override;
  absl::StatusOr<std::vector<wire::AuditRecord>> LoadAudit() override;
  absl::StatusOr<size_t> PutStacks(uint64_t incident, uint32_t place, const wire::StackDump& dump) override;
  absl::StatusOr<std::vector<wire::StackDump>> LoadStacks(uint64_t incident) override;
  absl::StatusOr<uint64_t> StoredSequence(const std::string& host, uint64_t incarnation) override;
  absl::StatusOr<std::vector<wire::Incident>> LoadIncidents() override;
  absl::Status ScanLog(const std::string& job, int64_t from_wall_ns, int64_t to_wall_ns,
                       const std::function<bool(const wire::CaptureEntry&)>& visit) override;
  absl::StatusOr<SeriesPage> ReadSeries(const SeriesSelector& selector, const SeriesLimits& limits) override;
  absl::Status Flush() override;

 private:
  bool WaitUntil(const std::function<bool()>& holds, int64_t nanos) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  mutable CondVar changed_;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  absl::Status sequence_refusal_ ABSL_GUARDED_BY(mutex_);
  bool blocked_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<wire::CaptureEntry> log_ ABSL_GUARDED_BY(mutex_);
  std::vector<SeriesPoint> points_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, uint64_t>, uint64_t> marks_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, wire::Incident> incidents_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<uint64_t, std::string>, wire::IncidentEvent> alerts_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<uint64_t, std::string>, ToldAlert> told_ ABSL_GUARDED_BY(mutex_);  // by incident, receiver
  std::map<std::string, int64_t> hosts_ ABSL_GUARDED_BY(mutex_);                        // last reports
  std::map<std::string, wire::HostGpus> gpus_ ABSL_GUARDED_BY(mutex_);                  // by host
  std::map<uint64_t, wire::MaintenanceWindow> maintenance_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<uint64_t, uint32_t>, wire::StackDump> stacks_ ABSL_GUARDED_BY(mutex_);  // by incident and place
  std::vector<wire::AuditRecord> audit_ ABSL_GUARDED_BY(mutex_);
  uint64_t incident_ids_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t events_ ABSL_GUARDED_BY(mutex_) = 0;
  int writes_ ABSL_GUARDED_BY(mutex_) = 0;
  int flushes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_TESTING_MEMORY_STORE_H_
