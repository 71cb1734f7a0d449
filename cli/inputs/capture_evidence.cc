#include "cli/inputs/capture_evidence.h"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/metric_catalog.h"
#include "base/status_macros.h"
#include "collector/convert/convert.h"
#include "collector/convert/convert_losses.h"
#include "collector/convert/places.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "formats/capture_file.h"
#include "proto/capture.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr size_t kMaxHosts = size_t{1} << 20;

// A communicator of a rank as its last report left it.
struct Standing {
  std::string host;
  int32_t gpu = -1;
  int32_t communicator_rank = -1;
  int32_t size = -1;
  uint64_t enqueued = 0;
  int64_t idle_since_ns = 0;
  std::optional<TraceOperation> oldest;
};

// A process as its last report left it.
struct Process {
  RankRow row;
  std::string host;
  uint64_t lost = 0;
};

class CaptureEvidence {
 public:
  explicit CaptureEvidence(EvidenceBuilder& builder) : builder_(builder) {}

  absl::Status Take(const wire::CaptureEntry& entry) {
    if (entry.entry_case() != wire::CaptureEntry::kInput) return absl::OkStatus();
    const absl::StatusOr<HostReport> report = ToHostReport(entry.input(), losses_);
    if (!report.ok()) return absl::DataLossError(report.status().message());
    const JobIndex job = builder_.Job(entry.input().job());
    const auto offset = offsets_.emplace(report->host, report->due_ns() - report->host_ns).first;
    if (offsets_.size() > kMaxHosts) return absl::DataLossError(absl::StrCat("expected at most ", kMaxHosts, " hosts"));
    builder_.PlaceHost(job, report->host, ToPlaces(entry.input().places(), losses_));
    TakeReport(job, *report, offset->second);
    ++records_;
    return absl::OkStatus();
  }

  // What only the end of the capture tells.
  void Finish() {
    for (const auto& [key, process] : processes_) {
      RankRow row = process.row;
      row.host = process.host;
      builder_.DescribeRank(std::get<0>(key), row);
      builder_.AddLost(std::get<0>(key), process.lost);
    }
    for (const auto& [key, standing] : standings_) AddOpen(key, standing);
  }

  uint64_t records() const { return records_; }

 private:
  using StandingKey = std::tuple<JobIndex, int32_t, CommunicatorId>;  // job, rank, communicator

  // Ids, since names need not be unique.
  static std::string NameOf(CommunicatorId id) { return absl::StrFormat("%016x", id); }

  void TakeReport(JobIndex job, const HostReport& report, int64_t offset_ns) {
    for (const RankView& rank : report.ranks) TakeRank(job, report, rank, offset_ns);
    for (const MetricSample& sample : report.samples) {
      const MetricInfo* known = FindMetric(sample.metric);
      if (known == nullptr) continue;
      SampleRow row;
      row.host = report.host;
      row.device = sample.device;
      row.metric = known->name;
      row.time_ms = (sample.host_ns + offset_ns) / kNanosPerMilli;
      row.value = sample.value;
      builder_.AddSample(job, row);
    }
    for (const KernelEvent& event : report.kernel_events) {
      HostEvent kept{report.host, event};
      kept.event.host_ns += offset_ns;
      builder_.AddEvent(job, kept);
    }
    builder_.AddLost(job, report.dropped_records);
  }

  void TakeRank(JobIndex job, const HostReport& report, const RankView& rank, int64_t offset_ns) {
    Process& process = processes_[{job, rank.rank}];
    process.host = report.host;
    process.row.rank = rank.rank;
    process.row.gpu = rank.gpu;
    process.row.pid = rank.pid;
    process.row.process_state = rank.process_state;
    process.row.last_seen_ns = report.host_ns + offset_ns;
    process.lost = rank.operations_lost;
    builder_.ExpectRanks(job, rank.world_size);
    for (const CommunicatorView& view : rank.communicators) TakeCommunicator(job, report, rank, view, offset_ns);
  }

  void TakeCommunicator(JobIndex job, const HostReport& report, const RankView& rank, const CommunicatorView& view,
                        int64_t offset_ns) {
    if (view.size < 1) return;  // who is missing from it cannot be known
    const std::string name = NameOf(view.id);
    if (!view.name.empty()) builder_.DescribeCommunicator(job, name, view.name, {});
    OperationRow row{rank.rank, report.host, rank.gpu, name, view.communicator_rank, view.size, {}};
    for (const Operation& operation : view.operations) {
      row.operation.kind = operation.kind;
      row.operation.sequence = operation.sequence;
      row.operation.enqueue_ns = operation.enqueue_ns + offset_ns;
      row.operation.start_ns = operation.start_ns + offset_ns;
      row.operation.end_ns = operation.end_ns + offset_ns;
      row.operation.bytes = operation.bytes;
      row.operation.peer = operation.peer;
      row.operation.quality = operation.quality;
      row.operation.tuning = operation.tuning;
      builder_.AddOperation(job, row);
    }
    const StandingKey key = {job, rank.rank, view.id};
    if (view.freed || rank.finalized || rank.disabled || !view.oldest_in_flight.has_value()) {
      standings_.erase(key);
      return;
    }
    Standing& standing = standings_[key];
    standing = {report.host, rank.gpu,      view.communicator_rank,
                view.size,   view.enqueued, report.host_ns + offset_ns - view.idle_ns,
                {}};
    const InFlightOperation& oldest = *view.oldest_in_flight;
    TraceOperation& open = standing.oldest.emplace();
    open.kind = oldest.kind;
    open.sequence = oldest.sequence;
    open.enqueue_ns = report.host_ns + offset_ns - oldest.age_ns;
    open.start_ns = oldest.started ? open.enqueue_ns : kNoTime;
    open.bytes = oldest.bytes;
    open.peer = oldest.peer;
    open.quality = TimingQuality::kHostCall;
    open.tuning = oldest.tuning;
  }

  // The oldest operation in flight, and that the host has called further ones.
  void AddOpen(const StandingKey& key, const Standing& standing) {
    const auto [job, rank, communicator] = key;
    const std::string name = NameOf(communicator);
    OperationRow row{rank,          standing.host,   standing.gpu, name, standing.communicator_rank,
                     standing.size, *standing.oldest};
    builder_.AddOperation(job, row);
    const OperationKind kind = row.operation.kind;
    if (kind == OperationKind::kSend || kind == OperationKind::kRecv) return;
    if (standing.enqueued <= row.operation.sequence) return;
    row.operation = {};
    row.operation.sequence = standing.enqueued;
    row.operation.enqueue_ns = standing.idle_since_ns;
    row.operation.quality = TimingQuality::kHostCall;
    builder_.AddOperation(job, row);
  }

  EvidenceBuilder& builder_;
  ConvertLosses losses_;
  std::map<std::string, int64_t> offsets_;  // to the collector's clock, by host
  std::map<std::pair<JobIndex, int32_t>, Process> processes_;
  std::map<StandingKey, Standing> standings_;
  uint64_t records_ = 0;
};

}  // namespace

ReadResult ReadCaptureEvidence(const std::string& path, std::istream& bytes, EvidenceBuilder& builder) {
  ReadResult result;
  CaptureEvidence evidence(builder);
  result.status = ReadCapture(path, bytes, [&](const wire::CaptureEntry& entry) { return evidence.Take(entry); });
  evidence.Finish();
  result.records = evidence.records();
  return result;
}

}  // namespace lockstep
