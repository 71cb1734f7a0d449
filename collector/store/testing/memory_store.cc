#include "collector/store/testing/memory_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "collector/store/chunk.h"
#include "collector/store/log_chunk.h"
#include "collector/store/series_names.h"
#include "collector/store/series_page.h"

namespace lockstep {
void MemoryStore::SetRefusal(const absl::Status& refusal) {
  MutexLock lock(mutex_);
  refusal_ = refusal;
}

void MemoryStore::SetSequenceRefusal(const absl::Status& refusal) {
  MutexLock lock(mutex_);
  sequence_refusal_ = refusal;
}

void MemoryStore::set_blocked(bool blocked) {
  MutexLock lock(mutex_);
  blocked_ = blocked;
  changed_.NotifyAll();
}

bool MemoryStore::WaitUntil(const std::function<bool()>& holds, int64_t nanos) const {
  const int64_t deadline = RealClock().MonotonicNanos() + nanos;
  while (!holds()) {
    const int64_t left = deadline - RealClock().MonotonicNanos();
    if (left <= 0) return false;
    changed_.WaitFor(mutex_, left);
  }
  return true;
}

bool MemoryStore::WaitForEntries(size_t count, int64_t nanos) const {
  MutexLock lock(mutex_);
  return WaitUntil([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return log_.size() >= count; }, nanos);
}

bool MemoryStore::WaitForMark(const std::string& host, uint64_t incarnation, uint64_t sequence, int64_t nanos) const {
  MutexLock lock(mutex_);
  return WaitUntil(
      [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        const auto found = marks_.find({host, incarnation});
        return found != marks_.end() && found->second >= sequence;
      },
      nanos);
}

std::vector<wire::CaptureEntry> MemoryStore::log() const {
  MutexLock lock(mutex_);
  return log_;
}

std::vector<SeriesPoint> MemoryStore::points() const {
  MutexLock lock(mutex_);
  return points_;
}

int MemoryStore::writes() const {
  MutexLock lock(mutex_);
  return writes_;
}

int MemoryStore::flushes() const {
  MutexLock lock(mutex_);
  return flushes_;
}

absl::Status MemoryStore::Write(const StoreBatch& batch) {
  MutexLock lock(mutex_);
  while (blocked_) changed_.Wait(mutex_);
  RETURN_IF_ERROR(refusal_);
  log_.insert(log_.end(), batch.log.begin(), batch.log.end());
  points_.insert(points_.end(), batch.points.begin(), batch.points.end());
  for (const ReportMark& mark : batch.marks) {
    uint64_t& sequence = marks_[{mark.host, mark.incarnation}];
    sequence = std::max(sequence, mark.sequence);
    hosts_.try_emplace(mark.host, RealClock().WallNanos());
  }
  ++writes_;
  changed_.NotifyAll();
  return absl::OkStatus();
}

absl::Status MemoryStore::PutIncident(const wire::Incident& incident) {
  wire::IncidentEvent event;
  *event.mutable_incident() = incident;
  return PutEvent(event, {}).status();
}

absl::StatusOr<uint64_t> MemoryStore::PutEvent(const wire::IncidentEvent& event,
                                               const std::vector<std::string>& receivers) {
  MutexLock lock(mutex_);
  while (blocked_) changed_.Wait(mutex_);
  RETURN_IF_ERROR(refusal_);
  incidents_[event.incident().id()] = event.incident();
  ++events_;
  for (const std::string& receiver : receivers) alerts_[{events_, receiver}] = event;
  changed_.NotifyAll();
  return events_;
}

absl::Status MemoryStore::RemoveAlerts(const std::string& receiver, const std::vector<uint64_t>& numbers) {
  MutexLock lock(mutex_);
  for (const uint64_t number : numbers) alerts_.erase({number, receiver});
  changed_.NotifyAll();
  return absl::OkStatus();
}

absl::Status MemoryStore::PutHosts(const std::vector<SeenHost>& hosts) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(refusal_);
  for (const SeenHost& host : hosts) hosts_[host.name] = host.last_report_wall_ns;
  changed_.NotifyAll();
  return absl::OkStatus();
}

absl::Status MemoryStore::RemoveHost(const std::string& name) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(refusal_);
  hosts_.erase(name);
  gpus_.erase(name);
  return absl::OkStatus();
}

absl::Status MemoryStore::PutGpus(const std::vector<wire::HostGpus>& hosts) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(refusal_);
  for (const wire::HostGpus& host : hosts) gpus_[host.host()] = host;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<wire::HostGpus>> MemoryStore::LoadGpus() {
  std::vector<wire::HostGpus> hosts;
  MutexLock lock(mutex_);
  for (const auto& [name, gpus] : gpus_) hosts.push_back(gpus);
  return hosts;
}

absl::Status MemoryStore::PutIncidentIds(uint64_t id) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(refusal_);
  incident_ids_ = id;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> MemoryStore::LoadIncidentIds() {
  MutexLock lock(mutex_);
  return incident_ids_;
}

absl::Status MemoryStore::PutMaintenance(const wire::MaintenanceWindow& window, const std::vector<uint64_t>& gone) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(refusal_);
  for (const uint64_t id : gone) maintenance_.erase(id);
  maintenance_[window.id()] = window;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<wire::MaintenanceWindow>> MemoryStore::LoadMaintenance() {
  std::vector<wire::MaintenanceWindow> windows;
  MutexLock lock(mutex_);
  for (const auto& [id, window] : maintenance_) windows.push_back(window);
  return windows;
}

absl::StatusOr<size_t> MemoryStore::PutAudit(AuditKind /*kind*/, const wire::AuditRecord& record) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(refusal_);
  audit_.push_back(record);
  return 0;
}

absl::StatusOr<size_t> MemoryStore::PutStacks(uint64_t incident, uint32_t place, const wire::StackDump& dump) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(refusal_);
  stacks_[{incident, place}] = dump;
  return 0;
}

absl::StatusOr<std::vector<wire::StackDump>> MemoryStore::LoadStacks(uint64_t incident) {
  std::vector<wire::StackDump> dumps;
  MutexLock lock(mutex_);
  for (const auto& [key, dump] : stacks_) {
    if (key.first == incident) dumps.push_back(dump);
  }
  return dumps;
}

absl::StatusOr<std::vector<wire::AuditRecord>> MemoryStore::LoadAudit() {
  MutexLock lock(mutex_);
  return std::vector<wire::AuditRecord>(audit_.rbegin(), audit_.rend());
}

absl::StatusOr<std::vector<SeenHost>> MemoryStore::LoadHosts() {
  std::vector<SeenHost> hosts;
  MutexLock lock(mutex_);
  for (const auto& [name, last_report_wall_ns] : hosts_) hosts.push_back({name, last_report_wall_ns});
  return hosts;
}

absl::StatusOr<size_t> MemoryStore::PutTold(const ToldAlert& told) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(refusal_);
  if (told.empty()) {
    told_.erase({told.incident, told.receiver});
  } else {
    told_[{told.incident, told.receiver}] = told;
  }
  return 0;
}

absl::StatusOr<std::vector<ToldAlert>> MemoryStore::LoadTold() {
  std::vector<ToldAlert> all;
  MutexLock lock(mutex_);
  for (const auto& [key, told] : told_) all.push_back(told);
  return all;
}

absl::StatusOr<std::vector<PendingAlert>> MemoryStore::LoadAlerts() {
  std::vector<PendingAlert> alerts;
  MutexLock lock(mutex_);
  for (const auto& [key, event] : alerts_) alerts.push_back({key.first, key.second, event});
  return alerts;
}

absl::StatusOr<std::vector<LoggedJob>> MemoryStore::LoggedJobs() {
  std::map<std::string, int64_t> newest;
  for (const wire::CaptureEntry& entry : log()) {
    int64_t& wall_ns = newest[JobOf(entry)];
    wall_ns = std::max(wall_ns, WallNanosOf(entry));
  }
  std::vector<LoggedJob> jobs;
  for (const auto& [job, wall_ns] : newest) jobs.push_back({job, wall_ns});
  return jobs;
}

absl::Status MemoryStore::RecoverPoints(const std::vector<SeriesPoint>& points) {
  MutexLock lock(mutex_);
  const auto same = [](const SeriesPoint& a, const SeriesPoint& b) {
    return a.host == b.host && a.device == b.device && a.metric == b.metric && a.wall_ns == b.wall_ns;
  };
  for (const SeriesPoint& point : points) {
    const bool known =
        std::any_of(points_.begin(), points_.end(), [&](const SeriesPoint& other) { return same(other, point); });
    if (!known) points_.push_back(point);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> MemoryStore::StoredSequence(const std::string& host, uint64_t incarnation) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(sequence_refusal_);
  const auto found = marks_.find({host, incarnation});
  return found == marks_.end() ? 0 : found->second;
}

absl::StatusOr<std::vector<wire::Incident>> MemoryStore::LoadIncidents() {
  std::vector<wire::Incident> incidents;
  MutexLock lock(mutex_);
  for (const auto& [id, incident] : incidents_) incidents.push_back(incident);
  return incidents;
}

absl::Status MemoryStore::ScanLog(const std::string& job, int64_t from_wall_ns, int64_t to_wall_ns,
                                  const std::function<bool(const wire::CaptureEntry&)>& visit) {
  bool seen = false;
  for (const wire::CaptureEntry& entry : log()) {
    if (JobOf(entry) != job) continue;
    seen = true;
    const int64_t wall_ns = WallNanosOf(entry);
    if (wall_ns >= from_wall_ns && wall_ns < to_wall_ns && !visit(entry)) return absl::OkStatus();
  }
  return seen ? absl::OkStatus() : absl::NotFoundError(absl::StrCat("no log of job \"", job, "\""));
}

absl::StatusOr<SeriesPage> MemoryStore::ReadSeries(const SeriesSelector& selector, const SeriesLimits& limits) {
  std::map<SeriesNames::Name, std::vector<Point>> all;
  SeriesNames names = NamesOfPage(selector, limits);
  for (const SeriesPoint& point : points()) {
    if (point.metric != selector.metric) continue;
    if (!selector.host.empty() && point.host != selector.host) continue;
    if (selector.device != "*" && point.device != selector.device) continue;
    if (point.wall_ns < selector.from_wall_ns || point.wall_ns >= selector.to_wall_ns) continue;
    all[{point.host, point.device}].emplace_back(point.wall_ns, point.value);
    names.Offer(point.host, point.device);
  }
  return FillPage(selector, limits, names,
                  [&](const std::string& host, const std::string& device, int64_t from_wall_ns,
                      size_t) -> absl::StatusOr<std::vector<Point>> {
                    std::vector<Point> points = all[{host, device}];
                    std::erase_if(points, [&](const Point& point) { return point.first < from_wall_ns; });
                    std::stable_sort(points.begin(), points.end(),
                                     [](const Point& a, const Point& b) { return a.first < b.first; });
                    return points;
                  });
}

absl::Status MemoryStore::Flush() {
  MutexLock lock(mutex_);
  ++flushes_;
  return absl::OkStatus();
}

}  // namespace lockstep
