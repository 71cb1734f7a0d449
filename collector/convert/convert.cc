#include "collector/convert/convert.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collector/convert/check_name.h"
#include "collector/convert/operation_columns.h"
#include "collector/convert/ras_answer.h"
#include "collector/convert/report_limits.h"
#include "detector/model/process_end.h"
#include "proto/packed_pull.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

// Indexed by the number on the wire.
constexpr ProcessState kProcessStates[] = {
    ProcessState::kUnknown, ProcessState::kRunning, ProcessState::kUninterruptible,
    ProcessState::kStopped, ProcessState::kZombie,  ProcessState::kGone,
};
constexpr KernelEventKind kKernelEventKinds[] = {
    KernelEventKind::kUnknown, KernelEventKind::kXid,  KernelEventKind::kSxid,
    KernelEventKind::kPcieAer, KernelEventKind::kMlx5, KernelEventKind::kOutOfMemory,
    KernelEventKind::kEdac,    KernelEventKind::kNvml, KernelEventKind::kCrash,
};

constexpr EndSource kEndSources[] = {
    EndSource::kNone, EndSource::kNone, EndSource::kPidfd, EndSource::kZombie, EndSource::kConnector,
};

template <typename T, size_t kCount>
T FromTable(const T (&table)[kCount], int number, ConvertLosses& losses) {
  if (number >= 0 && number < static_cast<int>(kCount)) return table[number];
  ++losses.unknown_enums;
  return table[0];
}

absl::Status Invalid(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

absl::Status CheckCount(absl::string_view field, int count, int limit) {
  if (count <= limit) return absl::OkStatus();
  return Invalid(field, absl::StrCat(count, " entries, at most ", limit, " are allowed"));
}

absl::Status At(absl::string_view where, int index, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(where, "[", index, "].", status.message()));
}

InFlightOperation ToInFlight(const wire::InFlight& in_flight, ConvertLosses& losses) {
  InFlightOperation to;
  to.kind = ToOperationKind(static_cast<uint32_t>(in_flight.kind()), losses);
  to.sequence = in_flight.sequence();
  to.started = in_flight.started();
  to.age_ns = std::clamp<int64_t>(in_flight.age_ns(), 0, kMaxMonotonicNanos);
  to.inside_ns = in_flight.started() ? std::clamp<int64_t>(in_flight.inside_ns(), 0, kMaxMonotonicNanos) : 0;
  to.bytes = in_flight.bytes();
  to.peer = std::max(in_flight.peer(), -1);
  to.timing_quality = ToTimingQuality(in_flight.timing_quality(), losses);
  to.channels_started = in_flight.channels_started();
  to.channels_finished = in_flight.channels_finished();
  to.tuning = ToTuning(in_flight.algorithm(), in_flight.protocol(), in_flight.channels(), losses);
  return to;
}

void FillInFlight(const wire::CommunicatorReport& from, CommunicatorView& to, ConvertLosses& losses) {
  if (from.has_oldest_in_flight()) to.oldest_in_flight = ToInFlight(from.oldest_in_flight(), losses);
  if (!from.has_further_in_flight()) return;
  InFlightRest& rest = to.further_in_flight.emplace();
  rest.left_out = from.further_in_flight().left_out();
  rest.operations.reserve(from.further_in_flight().operations_size());
  for (const wire::InFlight& one : from.further_in_flight().operations()) {
    rest.operations.push_back(ToInFlight(one, losses));
  }
}

// How many members there can be: NCCL before 2.27 does not tell.
int32_t PlacesOf(const wire::CommunicatorReport& from) { return from.size() > 0 ? from.size() : kMaxRanks; }

absl::Status CheckCommunicator(const wire::CommunicatorReport& from) {
  RETURN_IF_ERROR(CheckName("name", from.name(), kMaxNameBytes));
  if (from.size() < 0 || from.size() > kMaxRanks) return Invalid("size", absl::StrCat(from.size(), " members"));
  if (from.rank() < -1 || from.rank() >= PlacesOf(from)) {
    return Invalid("rank", absl::StrCat(from.rank(), " in a communicator of ", from.size()));
  }
  if (from.enqueued() > kMaxSequence || from.started() > kMaxSequence || from.finished() > kMaxSequence) {
    return Invalid("progress", "out of range");
  }
  RETURN_IF_ERROR(CheckCount("transfers", from.transfers_size(), kMaxTransfersPerCommunicator));
  RETURN_IF_ERROR(CheckCount("further_in_flight", from.further_in_flight().operations_size(), kMaxFurtherInFlight));
  const uint32_t stride = from.operations().stride();
  if (stride > kMaxStride || (stride & (stride - 1)) != 0) {
    return Invalid("operations.stride", absl::StrCat(stride, " is not a power of two up to ", kMaxStride));
  }
  return absl::OkStatus();
}

absl::Status FillTransfers(const wire::CommunicatorReport& from, CommunicatorView& to) {
  to.transfers.reserve(from.transfers_size());
  for (const wire::TransferWaits& transfer : from.transfers()) {
    TransferWaits& added = to.transfers.emplace_back();
    const bool is_member = transfer.peer() >= 0 && transfer.peer() < PlacesOf(from);
    if (!is_member || static_cast<size_t>(transfer.waits_ns_size()) != std::size(added.waits_ns)) {
      return Invalid("transfers", absl::StrCat("peer ", transfer.peer(), ", ", transfer.waits_ns_size(), " waits"));
    }
    added.peer = transfer.peer();
    added.is_send = transfer.is_send();
    added.steps = transfer.steps();
    added.bytes = transfer.bytes();
    std::copy(transfer.waits_ns().begin(), transfer.waits_ns().end(), added.waits_ns);
  }
  return absl::OkStatus();
}

absl::StatusOr<CommunicatorView> ToCommunicator(const wire::CommunicatorReport& from, ConvertLosses& losses) {
  RETURN_IF_ERROR(CheckCommunicator(from));
  CommunicatorView to;
  to.id = from.id();
  to.name = from.name();
  to.size = from.size();
  to.communicator_rank = from.rank();
  to.freed = from.freed();
  to.enqueued = from.enqueued();
  to.started = from.started();
  to.finished = from.finished();
  to.idle_ns = std::clamp<int64_t>(from.idle_ns(), 0, kMaxMonotonicNanos);
  FillInFlight(from, to, losses);
  RETURN_IF_ERROR(FillTransfers(from, to));
  to.stride = std::max(from.operations().stride(), 1u);
  if (from.has_operations()) {
    ASSIGN_OR_RETURN(to.operations, ToOperations(from.operations(), losses));
  }
  return to;
}

std::optional<ProcessEnd> ToEnd(const wire::ProcessReport& from, ConvertLosses& losses) {
  if (!from.has_end()) return std::nullopt;
  return ProcessEnd{.source = FromTable(kEndSources, from.end().source(), losses),
                    .code = from.end().code(),
                    .signal = from.end().signal(),
                    .core_dumped = from.end().core_dumped(),
                    .age_ns = std::clamp<int64_t>(from.end().age_ns(), 0, kMaxMonotonicNanos),
                    .uncertain_ns = std::clamp<int64_t>(from.end().uncertain_ns(), 0, kMaxMonotonicNanos)};
}

absl::Status CheckProcess(const wire::ProcessReport& from) {
  RETURN_IF_ERROR(CheckName("job", from.job(), kMaxJobBytes));
  RETURN_IF_ERROR(CheckName("gpu_uuid", from.gpu_uuid(), kMaxNameBytes));
  RETURN_IF_ERROR(CheckName("gpu_pci_address", from.gpu_pci_address(), kMaxNameBytes));
  RETURN_IF_ERROR(CheckName("pod", from.pod(), kMaxPodBytes));
  if (from.rank() < -1 || from.rank() >= kMaxRanks) return Invalid("rank", absl::StrCat(from.rank()));
  const int32_t world_size = from.world_size();
  if (world_size < -1 || world_size > kMaxRanks) return Invalid("world_size", absl::StrCat(world_size));
  if (world_size > 0 && from.rank() >= world_size) {
    return Invalid("rank", absl::StrCat(from.rank(), " in a world of ", world_size));
  }
  if (from.local_rank() < -1) return Invalid("local_rank", absl::StrCat(from.local_rank()));
  if (from.pid() < 0) return Invalid("pid", absl::StrCat(from.pid()));
  if (from.gpu_index() < -1) return Invalid("gpu_index", absl::StrCat(from.gpu_index()));
  if (from.end().code() < 0 || from.end().code() > kMaxExitCode) {
    return Invalid("end.code", absl::StrCat(from.end().code()));
  }
  if (from.end().signal() < 0 || from.end().signal() > kMaxSignal) {
    return Invalid("end.signal", absl::StrCat(from.end().signal()));
  }
  return CheckCount("communicators", from.communicators_size(), kMaxCommunicatorsPerProcess);
}

absl::StatusOr<RankView> ToRank(const wire::ProcessReport& from, ConvertLosses& losses) {
  RETURN_IF_ERROR(CheckProcess(from));
  RankView to;
  to.rank = from.rank();
  to.world_size = from.world_size() > 0 ? from.world_size() : -1;
  to.local_rank = from.local_rank();
  to.pid = from.pid();
  to.process_start_ticks = from.process_start_ticks();
  to.gpu = from.gpu_index();
  to.gpu_uuid = from.gpu_uuid();
  to.gpu_pci_address = from.gpu_pci_address();
  to.pod = from.pod();
  to.process_state = FromTable(kProcessStates, from.state(), losses);
  to.finalized = from.recorder_state() == wire::RECORDER_STATE_FINALIZED;
  to.end = ToEnd(from, losses);
  to.disabled = from.recorder_state() == wire::RECORDER_STATE_DISABLED;
  to.can_watch_transfers = from.recorder() == wire::RECORDER_KIND_NCCL_PROFILER;
  to.cpu_ns = std::max<int64_t>(from.cpu_ns(), 0);
  to.operations_enqueued = from.operations_enqueued();
  to.operations_finished = from.operations_finished();
  to.operations_lost = from.operations_lost();
  to.communicators.reserve(from.communicators_size());
  for (int i = 0; i < from.communicators_size(); ++i) {
    absl::StatusOr<CommunicatorView> communicator = ToCommunicator(from.communicators(i), losses);
    if (!communicator.ok()) return At("communicators", i, communicator.status());
    to.communicators.push_back(*std::move(communicator));
  }
  return to;
}

absl::Status AppendSamples(const wire::MetricBlock& block, std::vector<MetricSample>& samples, ConvertLosses& losses) {
  RETURN_IF_ERROR(CheckName("device", block.device(), kMaxNameBytes));
  if (block.metrics_size() != block.values_size()) {
    return Invalid("values", absl::StrCat(block.values_size(), " values for ", block.metrics_size(), " metrics"));
  }
  if (block.monotonic_ns() < 0 || block.monotonic_ns() > kMaxMonotonicNanos) {
    return Invalid("monotonic_ns", "out of range");
  }
  for (int i = 0; i < block.metrics_size(); ++i) {
    const uint32_t number = block.metrics(i);
    const bool known =
        number <= std::numeric_limits<uint16_t>::max() && FindMetric(static_cast<Metric>(number)) != nullptr;
    if (!known) {
      ++losses.unknown_metrics;
    } else if (!std::isfinite(block.values(i))) {
      ++losses.non_finite_values;
    } else {
      samples.push_back({block.device(), static_cast<Metric>(number), block.monotonic_ns(), block.values(i)});
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<KernelEvent> ToKernelEvent(const wire::KernelEvent& from, ConvertLosses& losses) {
  RETURN_IF_ERROR(CheckName("device", from.device(), kMaxNameBytes));
  if (from.text().size() > kMaxTextBytes) return Invalid("text", absl::StrCat(from.text().size(), " bytes"));
  if (from.monotonic_ns() < 0 || from.monotonic_ns() > kMaxMonotonicNanos) {
    return Invalid("monotonic_ns", "out of range");
  }
  KernelEvent to;
  to.kind = FromTable(kKernelEventKinds, from.kind(), losses);
  to.code = from.code();
  to.device = from.device();
  to.pid = std::max(from.pid(), 0);
  to.text = from.text();
  to.host_ns = from.monotonic_ns();
  return to;
}

absl::Status CheckHeader(const wire::CaptureInput& input) {
  const wire::AgentReport& report = input.report();
  RETURN_IF_ERROR(CheckName("job", input.job(), kMaxJobBytes));
  RETURN_IF_ERROR(CheckName("host", input.host(), kMaxHostBytes));
  if (input.host().empty()) return Invalid("host", "is empty");
  if (report.sequence() == 0 || report.sequence() > kMaxSequence) return Invalid("sequence", "out of range");
  if (report.monotonic_ns() < 0 || report.monotonic_ns() > kMaxMonotonicNanos) {
    return Invalid("monotonic_ns", "out of range");
  }
  RETURN_IF_ERROR(CheckCount("processes", report.processes_size(), kMaxProcessesPerReport));
  RETURN_IF_ERROR(CheckCount("metrics", report.metrics_size(), kMaxMetricBlocksPerReport));
  RETURN_IF_ERROR(CheckCount("kernel_events", report.kernel_events_size(), kMaxKernelEventsPerReport));
  RETURN_IF_ERROR(CheckCount("sources", report.sources_size(), kMaxSourcesPerReport));
  RETURN_IF_ERROR(CheckCount("dropped", report.dropped_size(), kMaxDropReasonsPerReport));
  int64_t pulled = 0;
  for (const wire::CommandResult& result : report.command_results()) pulled += result.pulled_size();
  if (pulled > kMaxPulledBatchesPerReport) return Invalid("command_results", absl::StrCat(pulled, " pulled batches"));
  return CheckCount("command_results", report.command_results_size(), kMaxCommandResultsPerReport);
}

absl::Status CheckMissing(const wire::SourceStatus& source) {
  RETURN_IF_ERROR(CheckCount("missing", source.missing_size(), kMaxMissingPartsPerSource));
  for (const std::string& part : source.missing()) RETURN_IF_ERROR(CheckName("missing", part, kMaxNameBytes));
  return absl::OkStatus();
}

absl::Status FillFailingSources(const wire::AgentReport& report, HostReport& to) {
  for (int i = 0; i < report.sources_size(); ++i) {
    const wire::SourceStatus& source = report.sources(i);
    if (const absl::Status name = CheckName("name", source.name(), kMaxNameBytes); !name.ok()) {
      return At("sources", i, name);
    }
    if (source.error().size() > kMaxTextBytes) {
      return At("sources", i, Invalid("error", absl::StrCat(source.error().size(), " bytes")));
    }
    if (source.failing_ns() <= 0) continue;
    if (const absl::Status missing = CheckMissing(source); !missing.ok()) return At("sources", i, missing);
    to.failing_sources.push_back({.source = source.name(),
                                  .hangs = source.outcome() == wire::SourceStatus::OUTCOME_TIMED_OUT,
                                  .worked = source.worked(),
                                  .failing_ns = std::min(source.failing_ns(), kMaxDurationNanos),
                                  .missing = {source.missing().begin(), source.missing().end()}});
  }
  return absl::OkStatus();
}

// What the engine does not look at and history keeps all the same.
absl::Status CheckBystanders(const wire::AgentReport& report) {
  for (int i = 0; i < report.dropped_size(); ++i) {
    if (const absl::Status reason = CheckName("reason", report.dropped(i).reason(), kMaxNameBytes); !reason.ok()) {
      return At("dropped", i, reason);
    }
  }
  return CheckRas(report.nccl_ras());
}

absl::Status FillRanks(const wire::AgentReport& report, HostReport& to, ConvertLosses& losses) {
  to.ranks.reserve(report.processes_size());
  for (int i = 0; i < report.processes_size(); ++i) {
    absl::StatusOr<RankView> rank = ToRank(report.processes(i), losses);
    if (!rank.ok()) return At("processes", i, rank.status());
    if (rank->rank < 0) {
      ++losses.unranked_processes;
    } else {
      to.ranks.push_back(*std::move(rank));
    }
  }
  return absl::OkStatus();
}

absl::Status FillSamples(const wire::AgentReport& report, HostReport& to, ConvertLosses& losses) {
  int64_t values = 0;
  for (const wire::MetricBlock& block : report.metrics()) values += block.metrics_size();
  if (values > kMaxMetricValuesPerReport) {
    return Invalid("metrics", absl::StrCat(values, " values, at most ", kMaxMetricValuesPerReport, " are allowed"));
  }
  to.samples.reserve(values);
  for (int i = 0; i < report.metrics_size(); ++i) {
    const absl::Status block = AppendSamples(report.metrics(i), to.samples, losses);
    if (!block.ok()) return At("metrics", i, block);
  }
  return absl::OkStatus();
}

absl::Status AppendPulled(const google::protobuf::RepeatedPtrField<wire::PulledOperations>& from, PullAnswer& to,
                          ConvertLosses& losses) {
  to.pulled.reserve(to.pulled.size() + static_cast<size_t>(from.size()));
  for (int i = 0; i < from.size(); ++i) {
    const wire::PulledOperations& pulled = from.Get(i);
    if (pulled.rank() < 0 || pulled.rank() >= kMaxRanks) return At("pulled", i, Invalid("rank", "out of range"));
    absl::StatusOr<std::vector<Operation>> operations = ToOperations(pulled.operations(), losses);
    if (!operations.ok()) return At("pulled", i, operations.status());
    to.pulled.push_back({pulled.rank(), pulled.process_start_ticks(), pulled.communicator(), *std::move(operations)});
  }
  return absl::OkStatus();
}

// `unpacked_bytes`: what packed answers may still hold.
absl::StatusOr<PullAnswer> ToPullAnswer(const wire::CommandResult& from, size_t& unpacked_bytes,
                                        ConvertLosses& losses) {
  RETURN_IF_ERROR(CheckName("job", from.job(), kMaxJobBytes));
  if (from.error().size() > kMaxTextBytes) return Invalid("error", absl::StrCat(from.error().size(), " bytes"));
  PullAnswer to;
  to.request = from.id();
  to.done = from.outcome() == wire::CommandResult::OUTCOME_DONE;
  to.left_out = from.left_out();
  RETURN_IF_ERROR(AppendPulled(from.pulled(), to, losses));
  if (from.packed_pulled().empty()) return to;
  ASSIGN_OR_RETURN(const wire::PulledBatches unpacked, UnpackPulled(from.packed_pulled(), unpacked_bytes));
  RETURN_IF_ERROR(CheckCount("packed_pulled", unpacked.pulled_size(), kMaxPulledBatchesPerReport));
  RETURN_IF_ERROR(AppendPulled(unpacked.pulled(), to, losses));
  return to;
}

// Answers to other jobs' requests travel in the same report and are not this job's business.
absl::Status FillAnswers(const wire::CaptureInput& input, HostReport& to, ConvertLosses& losses) {
  size_t unpacked_bytes = kMaxUnpackedBytesPerReport;
  for (int i = 0; i < input.report().command_results_size(); ++i) {
    if (input.report().command_results(i).job() != input.job()) continue;
    absl::StatusOr<PullAnswer> answer = ToPullAnswer(input.report().command_results(i), unpacked_bytes, losses);
    if (!answer.ok()) return At("command_results", i, answer.status());
    to.answers.push_back(*std::move(answer));
  }
  return absl::OkStatus();
}

absl::Status FillKernelEvents(const wire::AgentReport& report, HostReport& to, ConvertLosses& losses) {
  to.kernel_events.reserve(report.kernel_events_size());
  for (int i = 0; i < report.kernel_events_size(); ++i) {
    absl::StatusOr<KernelEvent> event = ToKernelEvent(report.kernel_events(i), losses);
    if (!event.ok()) return At("kernel_events", i, event.status());
    to.kernel_events.push_back(*std::move(event));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t WaitedNanos(const wire::AgentReport& report) {
  return static_cast<int64_t>(std::min<uint64_t>(report.waited_ns(), kMaxWaitedNanos));
}

absl::StatusOr<HostReport> ToHostReport(const wire::CaptureInput& input, ConvertLosses& losses) {
  RETURN_IF_ERROR(CheckHeader(input));
  const wire::AgentReport& report = input.report();
  RETURN_IF_ERROR(CheckBystanders(report));
  HostReport to;
  to.host = input.host();
  to.received_ns = input.received_wall_ns();
  to.waited_ns = WaitedNanos(report);
  to.host_ns = report.monotonic_ns();
  for (const wire::Dropped& dropped : report.dropped()) to.dropped_records += dropped.count();
  RETURN_IF_ERROR(FillRanks(report, to, losses));
  RETURN_IF_ERROR(FillSamples(report, to, losses));
  RETURN_IF_ERROR(FillKernelEvents(report, to, losses));
  RETURN_IF_ERROR(FillFailingSources(report, to));
  RETURN_IF_ERROR(FillAnswers(input, to, losses));
  if (report.has_nccl_ras()) to.ras = ToRasStatement(report.nccl_ras(), losses);
  return to;
}

}  // namespace lockstep
