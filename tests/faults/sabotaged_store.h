// A history that keeps a ledger of what it is given, and breaks its promises where it is told to, so that checkers are
// seen to see it. Thread-safe, as the store below.

#ifndef LOCKSTEP_TESTS_FAULTS_SABOTAGED_STORE_H_
#define LOCKSTEP_TESTS_FAULTS_SABOTAGED_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/store/history_store.h"
#include "tests/faults/write_ledger.h"

namespace lockstep::faults {

struct Sabotage {
  bool loses_writes = false;       // of the log: says that it took them
  bool forgets_marks = false;      // of agents, and so what to leave out
  bool forgets_incidents = false;  // when it is asked for them
  bool alters_log = false;         // writes another entry than it was given, now and then
  bool loses_changes = false;      // of incidents: says that it took them
  bool forgets_spool = false;      // of agents: says that it wrote what it did not
  bool forgets_syncs = false;      // likewise: that it synced
};

class SabotagedStore final : public HistoryStore {
 public:
  // Borrows `ledger`.
  SabotagedStore(std::unique_ptr<HistoryStore> store, const Sabotage& sabotage, WriteLedger& ledger)
      : store_(std::move(store)), sabotage_(sabotage), ledger_(ledger) {}

  absl::Status Write(const StoreBatch& batch) override {
    StoreBatch changed = batch;
    ledger_.Note(batch.log);
    const bool is_seventh = ++writes_ % 7 == 0;
    if (sabotage_.loses_writes && is_seventh) changed.log.clear();
    if (sabotage_.forgets_marks) changed.marks.clear();
    if (sabotage_.alters_log && is_seventh) Alter(changed.log);
    return store_->Write(changed);
  }
  absl::StatusOr<std::vector<wire::Incident>> LoadIncidents() override {
    if (sabotage_.forgets_incidents) return std::vector<wire::Incident>();
    return store_->LoadIncidents();
  }
  absl::StatusOr<std::vector<PendingAlert>> LoadAlerts() override { return store_->LoadAlerts(); }
  absl::Status PutIncident(const wire::Incident& incident) override {
    ledger_.Note(incident);
    const absl::Status status = store_->PutIncident(incident);
    if (status.ok()) ledger_.NoteKept(incident);
    return status;
  }
  absl::StatusOr<uint64_t> PutEvent(const wire::IncidentEvent& event,
                                    const std::vector<std::string>& receivers) override {
    ledger_.Note(event.incident());
    absl::StatusOr<uint64_t> number = uint64_t{0};
    if (!sabotage_.loses_changes) number = store_->PutEvent(event, receivers);
    if (number.ok()) ledger_.NoteKept(event.incident());
    return number;
  }
  absl::Status RemoveAlerts(const std::string& receiver, const std::vector<uint64_t>& numbers) override {
    return store_->RemoveAlerts(receiver, numbers);
  }
  absl::StatusOr<size_t> PutTold(const ToldAlert& told) override { return store_->PutTold(told); }
  absl::StatusOr<std::vector<ToldAlert>> LoadTold() override { return store_->LoadTold(); }
  absl::StatusOr<uint64_t> StoredSequence(const std::string& host, uint64_t incarnation) override {
    return store_->StoredSequence(host, incarnation);
  }
  absl::Status PutHosts(const std::vector<SeenHost>& hosts) override { return store_->PutHosts(hosts); }
  absl::Status RemoveHost(const std::string& name) override { return store_->RemoveHost(name); }
  absl::StatusOr<std::vector<SeenHost>> LoadHosts() override { return store_->LoadHosts(); }
  absl::Status PutGpus(const std::vector<wire::HostGpus>& hosts) override { return store_->PutGpus(hosts); }
  absl::StatusOr<std::vector<wire::HostGpus>> LoadGpus() override { return store_->LoadGpus(); }
  absl::Status PutMaintenance(const wire::MaintenanceWindow& window, const std::vector<uint64_t>& gone) override {
    return store_->PutMaintenance(window, gone);
  }
  absl::StatusOr<std::vector<wire::MaintenanceWindow>> LoadMaintenance() override { return store_->LoadMaintenance(); }
  absl::Status PutIncidentIds(uint64_t id) override { return store_->PutIncidentIds(id); }
  absl::StatusOr<uint64_t> LoadIncidentIds() override {
    if (sabotage_.forgets_incidents) return uint64_t{0};
    return store_->LoadIncidentIds();
  }
  absl::StatusOr<size_t> PutAudit(AuditKind kind, const wire::AuditRecord& record) override {
    return store_->PutAudit(kind, record);
  }
  absl::StatusOr<size_t> PutStacks(uint64_t incident, uint32_t place, const wire::StackDump& dump) override {
    return store_->PutStacks(incident, place, dump);
  }
  absl::StatusOr<std::vector<wire::StackDump>> LoadStacks(uint64_t incident) override {
    return store_->LoadStacks(incident);
  }
  absl::StatusOr<std::vector<wire::AuditRecord>> LoadAudit() override { return store_->LoadAudit(); }
  absl::StatusOr<std::vector<LoggedJob>> LoggedJobs() override { return store_->LoggedJobs(); }
  absl::Status ScanLog(const std::string& job, int64_t from_wall_ns, int64_t to_wall_ns,
                       const std::function<bool(const wire::CaptureEntry&)>& visit) override {
    return store_->ScanLog(job, from_wall_ns, to_wall_ns, visit);
  }
  absl::Status RecoverPoints(const std::vector<SeriesPoint>& points) override { return store_->RecoverPoints(points); }
  absl::StatusOr<SeriesPage> ReadSeries(const SeriesSelector& selector, const SeriesLimits& limits) override {
    return store_->ReadSeries(selector, limits);
  }
  absl::Status Flush() override { return store_->Flush(); }

 private:
  static void Alter(std::vector<wire::CaptureEntry>& entries) {
    for (wire::CaptureEntry& entry : entries) {
      if (entry.has_input()) entry.mutable_input()->set_host(absl::StrCat(entry.input().host(), "?"));
    }
  }

  const std::unique_ptr<HistoryStore> store_;
  const Sabotage sabotage_;
  WriteLedger& ledger_;
  uint64_t writes_ = 0;  // all by the thread of the writer
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_SABOTAGED_STORE_H_
