#include "agent/sources/rings/ring_report.h"

#include <unistd.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/kubelet/pod_table.h"
#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/operation_columns.h"
#include "agent/sources/rings/process_exit.h"
#include "agent/sources/rings/ring_shares.h"
#include "agent/sources/rings/ring_text.h"
#include "base/pci_address.h"

namespace lockstep {
namespace {

constexpr int32_t kMaxMembers = 1'000'000;
constexpr uint64_t kMaxSequence = uint64_t{1} << 62;

struct ProcessStateRow {
  char letter;  // of /proc/<pid>/stat
  wire::ProcessState state;
};
constexpr ProcessStateRow kProcessStates[] = {
    {'R', wire::PROCESS_STATE_RUNNING},         {'S', wire::PROCESS_STATE_RUNNING}, {'I', wire::PROCESS_STATE_RUNNING},
    {'D', wire::PROCESS_STATE_UNINTERRUPTIBLE}, {'T', wire::PROCESS_STATE_STOPPED}, {'t', wire::PROCESS_STATE_STOPPED},
    {'Z', wire::PROCESS_STATE_ZOMBIE},          {'X', wire::PROCESS_STATE_GONE},
};

// By ring::RecorderState; a ring in state kInitializing is not followed.
constexpr wire::RecorderState kRecorderStates[] = {wire::RECORDER_STATE_UNSPECIFIED, wire::RECORDER_STATE_ACTIVE,
                                                   wire::RECORDER_STATE_FINALIZED, wire::RECORDER_STATE_DISABLED};

// By ring::RecorderKind.
constexpr wire::RecorderKind kRecorderKinds[] = {wire::RECORDER_KIND_UNSPECIFIED, wire::RECORDER_KIND_MPI,
                                                 wire::RECORDER_KIND_NCCL_PROFILER, wire::RECORDER_KIND_NCCL_PRELOAD};

// By ExitSource.
constexpr wire::ProcessEnd::Source kExitSources[] = {wire::ProcessEnd::SOURCE_NONE, wire::ProcessEnd::SOURCE_PIDFD,
                                                     wire::ProcessEnd::SOURCE_ZOMBIE,
                                                     wire::ProcessEnd::SOURCE_CONNECTOR};

template <typename T, size_t kSize>
T FromTable(const T (&table)[kSize], size_t index) {
  return index < kSize ? table[index] : table[0];
}

wire::ProcessState ToProcessState(const absl::optional<ProcessStat>& process) {
  if (!process.has_value()) return wire::PROCESS_STATE_GONE;
  for (const ProcessStateRow& row : kProcessStates) {
    if (row.letter == process->state) return row.state;
  }
  return wire::PROCESS_STATE_UNSPECIFIED;
}

int64_t ToCpuNanos(uint64_t ticks) {
  static const double nanos_per_tick = static_cast<double>(kNanosPerSecond) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<int64_t>(std::min(static_cast<double>(ticks) * nanos_per_tick, 9e18));
}

bool IsPlausible(const ring::CommunicatorEntry& entry) {
  const int32_t places = entry.size > 0 ? entry.size : kMaxMembers;  // NCCL before 2.27 does not tell the size
  return entry.size >= 0 && entry.size <= kMaxMembers && entry.rank >= -1 && entry.rank < places &&
         entry.enqueued <= kMaxSequence && entry.started <= kMaxSequence && entry.finished <= kMaxSequence;
}

// What is to be said about one entry of the communicator table.
struct CommunicatorPart {
  const ring::CommunicatorEntry* entry = nullptr;
  std::vector<const ring::OperationSlot*> finished;
  std::vector<const ring::OperationSlot*> in_flight;  // by rising ticket
  std::vector<const ring::TransferWaits*> transfers;
  uint32_t stride = 1;
};

// What is to be said about one ring.
struct ProcessPart {
  const FollowedRing* ring = nullptr;
  std::vector<CommunicatorPart> communicators;
  bool stands = false;  // in something that began long ago, or has called something long ago and begun nothing
};

// What one user's rings want to say in this report, and what each of them may.
struct OwnerPart {
  size_t rings = 0;
  size_t operations = 0;
  size_t busy_communicators = 0;
  size_t operation_share = 0;  // of each busy communicator
};

// What is left to one ring.
struct RingRoom {
  size_t communicators = 0;
  size_t transfers = 0;
  size_t further_in_flight = 0;
};

bool IsWorthReporting(const CommunicatorPart& part, int64_t now_ns) {
  const bool freed = part.entry->ready == 2;
  const bool busy = !part.finished.empty() || !part.in_flight.empty();
  return !freed || busy || now_ns - std::clamp<int64_t>(part.entry->changed_at_ns, 0, now_ns) < kFreedCommunicatorNanos;
}

class Builder {
 public:
  Builder(const ReadingTime& time, OperationArchive& archive)
      : now_ns_(time.tick_ns), over_ns_(time.over_ns), archive_(archive) {}

  void Append(const std::map<std::string, FollowedRing>& rings, wire::AgentReport& report) {
    std::vector<ProcessPart> parts;
    for (const auto& [name, ring] : rings) {
      if (ring.job.empty()) {
        tally_.without_job += ring.snapshot.finished.size();
        continue;
      }
      parts.push_back(Sort(ring));
      OwnerPart& owner = owners_[ring.owner];
      ++owner.rings;
      for (const CommunicatorPart& part : parts.back().communicators) {
        owner.operations += part.finished.size();
        owner.busy_communicators += part.finished.empty() ? 0 : 1;
      }
    }
    size_t operations = 0;
    for (const auto& [uid, owner] : owners_) operations += owner.operations;
    // kMaxCommunicatorsPerReport bounds the number of communicators that have at least 1.
    for (auto& [uid, owner] : owners_) {
      const bool all_fit = operations <= kMaxOperationsPerReport ||
                           owner.operations <= FairShare(kMaxOperationsPerReport, owners_.size(), 1);
      owner.operation_share =
          all_fit ? owner.operations : FairShare(kMaxOperationsPerReport, owners_.size(), owner.busy_communicators);
    }
    for (const ProcessPart& part : parts) AppendProcess(part, *report.add_processes());
  }

  const RingTally& tally() const { return tally_; }

 private:
  // Distributes the operations of a ring over its communicators.
  ProcessPart Sort(const FollowedRing& ring) {
    ProcessPart part;
    part.ring = &ring;
    std::unordered_map<uint32_t, size_t> position;  // of a table index in part.communicators
    for (const RingCommunicator& communicator : ring.snapshot.communicators) {
      if (!IsPlausible(communicator.entry)) {
        ++tally_.communicators_left_out;
        continue;
      }
      position.emplace(communicator.index, part.communicators.size());
      part.communicators.push_back({&communicator.entry, {}, {}, {}, ring.snapshot.stride});
    }
    tally_.overwritten += ring.snapshot.overwritten;
    tally_.malformed += ring.snapshot.malformed;
    tally_.over_budget += ring.snapshot.thinned;
    tally_.over_allowance += ring.snapshot.skipped;
    tally_.communicators_left_out += ring.snapshot.communicators_left_out;
    tally_.transfers_left_out += ring.snapshot.transfers_left_out;
    for (const ring::OperationSlot& operation : ring.snapshot.finished) {
      const auto at = position.find(operation.communicator);
      if (at == position.end()) {
        ++tally_.unknown_communicator;
      } else if (!IsPlausibleOperation(operation, over_ns_)) {
        ++tally_.malformed;
      } else {
        part.communicators[at->second].finished.push_back(&operation);
      }
    }
    for (const ring::OperationSlot& operation : ring.snapshot.in_flight) {
      const auto at = position.find(operation.communicator);
      if (at == position.end() || operation.sequence > kMaxSequence) continue;
      part.communicators[at->second].in_flight.push_back(&operation);
    }
    part.stands = Stands(ring.snapshot.in_flight);
    for (const ring::TransferWaits& transfer : ring.snapshot.transfers) {
      const auto at = position.find(transfer.communicator);
      if (at == position.end()) continue;
      CommunicatorPart& communicator = part.communicators[at->second];
      const int32_t peers = communicator.entry->size > 0 ? communicator.entry->size : kMaxMembers;
      if (transfer.peer >= 0 && transfer.peer < peers) communicator.transfers.push_back(&transfer);
    }
    return part;
  }

  static bool HasStarted(const ring::OperationSlot& operation) {
    return operation.state == static_cast<uint8_t>(ring::OperationState::kStarted);
  }
  int64_t Since(int64_t time_ns) const { return now_ns_ - std::clamp<int64_t>(time_ns, 0, now_ns_); }

  bool Stands(const std::vector<ring::OperationSlot>& in_flight) const {
    int64_t oldest_start_ns = 0;
    int64_t oldest_call_ns = 0;
    bool any_started = false;
    for (const ring::OperationSlot& operation : in_flight) {
      oldest_call_ns = std::max(oldest_call_ns, Since(operation.enqueued_at_ns));
      if (!HasStarted(operation)) continue;
      any_started = true;
      oldest_start_ns = std::max(oldest_start_ns, Since(operation.started_at_ns));
    }
    return (any_started ? oldest_start_ns : oldest_call_ns) >= kStandsNanos;
  }

  void AppendProcess(const ProcessPart& part, wire::ProcessReport& to) {
    const ring::RingHeader& header = part.ring->reader->header();
    const RingSnapshot& snapshot = part.ring->snapshot;
    to.set_job(part.ring->job);
    to.set_rank(header.rank);
    to.set_world_size(header.world_size);
    to.set_local_rank(header.local_rank);
    to.set_pid(part.ring->host_pid != 0 ? part.ring->host_pid : header.pid);
    to.set_process_start_ticks(header.process_start_ticks);
    to.set_gpu_index(header.gpu_index);
    to.set_gpu_uuid(RingText(header.gpu_uuid));
    to.set_gpu_pci_address(NormalizePciAddress(RingText(header.gpu_pci_address)));
    AppendPod(*part.ring, to);
    to.set_uid(part.ring->owner);
    to.set_recorder(FromTable(kRecorderKinds, header.recorder_kind));
    to.set_state(ToProcessState(part.ring->process));
    to.set_recorder_state(FromTable(kRecorderStates, snapshot.state));
    to.set_disabled_reason(snapshot.disabled_reason);
    if (part.ring->process.has_value()) to.set_cpu_ns(ToCpuNanos(part.ring->process->cpu_ticks));
    if (part.ring->end.has_value()) AppendEnd(*part.ring->end, *to.mutable_end());
    to.set_operations_enqueued(snapshot.counters.enqueued);
    to.set_operations_finished(snapshot.counters.finished);
    to.set_operations_lost(snapshot.counters.lost);
    if (to.recorder() == wire::RECORDER_KIND_NCCL_PROFILER) AppendNcclStatus(header, snapshot, *to.mutable_nccl());
    AppendCommunicators(part, to);
  }

  // A process that may use one GPU is on that one, if it does not know better: what the kubelet gave its pod may be a
  // part of what its devices are of.
  static void AppendPod(const FollowedRing& ring, wire::ProcessReport& to) {
    const Pod& pod = ring.pod;
    if (!pod.name.empty()) to.set_pod(absl::StrCat(pod.name_space, "/", pod.name));
    const bool is_told = !to.gpu_uuid().empty() || !to.gpu_pci_address().empty();
    if (is_told) return;
    to.set_gpu_uuid(pod.gpu_uuids.size() == 1 ? pod.gpu_uuids.front() : ring.gpu_uuid);
  }

  void AppendEnd(const ProcessExit& end, wire::ProcessEnd& to) const {
    to.set_source(FromTable(kExitSources, static_cast<size_t>(end.source)));
    to.set_code(end.code);
    to.set_signal(end.signal);
    to.set_core_dumped(end.core_dumped);
    to.set_age_ns(Since(end.at_ns));
    to.set_uncertain_ns(end.uncertain_ns);
  }

  void AppendCommunicators(const ProcessPart& part, wire::ProcessReport& to) {
    const OwnerPart& owner = owners_[part.ring->owner];
    RingRoom room;
    room.communicators = FairShare(kMaxCommunicatorsPerReport, owners_.size(), owner.rings);
    room.transfers = FairShare(kMaxTransfersPerReport, owners_.size(), owner.rings);
    room.further_in_flight = FairShare(kMaxFurtherInFlightPerReport, owners_.size(), owner.rings);
    for (const CommunicatorPart& communicator : part.communicators) {
      if (!IsWorthReporting(communicator, now_ns_)) continue;
      if (room.communicators == 0) {
        ++tally_.communicators_left_out;
        tally_.over_budget += communicator.finished.size();
        continue;
      }
      --room.communicators;
      wire::CommunicatorReport& added = *to.add_communicators();
      AppendCommunicator(communicator, part.ring->owner, owner.operation_share, to, added);
      AppendTransfers(communicator.transfers, room, added);
      if (part.stands && !communicator.in_flight.empty()) AppendFurther(communicator.in_flight, room, added);
    }
  }

  static void AppendNcclStatus(const ring::RingHeader& header, const RingSnapshot& snapshot,
                               wire::NcclRecorderStatus& to) {
    to.set_library_version(header.library_version);
    to.set_abi_version(header.abi_version);
    to.set_active_mask(snapshot.active_mask);
    to.set_governor_level(snapshot.nccl.governor_level);
    to.set_callback_ns(snapshot.nccl.callback_ns);
    to.set_clock_error_ns(snapshot.nccl.clock_error_ns);
    to.set_gpu_clock_error_ns(snapshot.nccl.gpu_clock_error_ns);
    to.set_timer_conflicts(snapshot.nccl.timer_conflicts);
    to.set_kernel_events_missing(snapshot.nccl.kernel_events_missing);
    to.set_foreign_masks(snapshot.nccl.foreign_masks);
  }

  void AppendTransfers(const std::vector<const ring::TransferWaits*>& transfers, RingRoom& room,
                       wire::CommunicatorReport& to) {
    const size_t kept = std::min({transfers.size(), room.transfers, kMaxTransfersPerCommunicator});
    room.transfers -= kept;
    tally_.transfers_left_out += transfers.size() - kept;
    for (size_t i = 0; i < kept; ++i) {
      const ring::TransferWaits* const transfer = transfers[i];
      wire::TransferWaits& added = *to.add_transfers();
      added.set_peer(transfer->peer);
      added.set_is_send(transfer->is_send != 0);
      added.set_steps(transfer->steps);
      added.set_bytes(transfer->bytes);
      for (const uint64_t wait_ns : transfer->waits_ns) added.add_waits_ns(wait_ns);
    }
  }

  void AppendCommunicator(const CommunicatorPart& part, uint32_t user, size_t share, const wire::ProcessReport& process,
                          wire::CommunicatorReport& to) {
    const ring::CommunicatorEntry& entry = *part.entry;
    to.set_id(entry.id);
    to.set_name(RingText(entry.name));
    to.set_size(entry.size);
    to.set_rank(entry.rank);
    to.set_freed(entry.ready == 2);
    to.set_enqueued(entry.enqueued);
    to.set_started(std::min(entry.started, entry.enqueued));
    to.set_finished(std::min(entry.finished, entry.enqueued));
    const int64_t changed_ns = std::clamp<int64_t>(entry.changed_at_ns, 0, now_ns_);
    to.set_idle_ns(now_ns_ - changed_ns);
    if (!part.in_flight.empty()) AppendInFlight(*part.in_flight.front(), *to.mutable_oldest_in_flight());
    if (part.finished.empty()) return;
    const size_t kept = AppendOperations(part.finished, share, part.stride, *to.mutable_operations());
    tally_.reported += kept;
    tally_.over_budget += part.finished.size() - kept;
    Archive(part, user, process, entry.id, kept == part.finished.size() ? &to.operations() : nullptr);
  }

  // `all` = the operations as already encoded, if nothing was thinned out.
  void Archive(const CommunicatorPart& part, uint32_t user, const wire::ProcessReport& process, uint64_t communicator,
               const wire::OperationBatch* all) {
    const OperationArchive::Owner owner{process.job(), process.rank(), process.process_start_ticks(), communicator,
                                        user};
    const auto newest = std::max_element(part.finished.begin(), part.finished.end(), [](const auto* a, const auto* b) {
      return a->finished_at_ns < b->finished_at_ns;
    });
    wire::OperationBatch encoded;
    if (all == nullptr) {
      AppendOperations(part.finished, part.finished.size(), part.stride, encoded);
      all = &encoded;
    }
    archive_.Add(owner, *all, (*newest)->finished_at_ns);
  }

  void AppendFurther(const std::vector<const ring::OperationSlot*>& in_flight, RingRoom& room,
                     wire::CommunicatorReport& to) {
    wire::InFlightRest& rest = *to.mutable_further_in_flight();
    const size_t worth_telling = std::min(in_flight.size() - 1, kMaxFurtherInFlight);
    const size_t kept = std::min(worth_telling, room.further_in_flight);
    room.further_in_flight -= kept;
    tally_.in_flight_left_out += worth_telling - kept;
    for (size_t i = 1; i <= kept; ++i) AppendInFlight(*in_flight[i], *rest.add_operations());
    rest.set_left_out(in_flight.size() - 1 - kept);
  }

  void AppendInFlight(const ring::OperationSlot& operation, wire::InFlight& to) const {
    to.set_kind(ToWireKind(operation.kind));
    to.set_sequence(operation.sequence);
    to.set_started(HasStarted(operation));
    to.set_age_ns(Since(operation.enqueued_at_ns));
    if (HasStarted(operation)) to.set_inside_ns(Since(operation.started_at_ns));
    to.set_bytes(operation.bytes);
    to.set_peer(std::max(operation.peer, -1));
    to.set_timing_quality(operation.timing_quality);
    to.set_channels_started(operation.channels_started);
    to.set_channels_finished(operation.channels_finished);
    to.set_algorithm(operation.algorithm);
    to.set_protocol(operation.protocol);
    to.set_channels(operation.channels);
  }

  const int64_t now_ns_;
  const int64_t over_ns_;
  OperationArchive& archive_;
  std::map<uint32_t, OwnerPart> owners_;  // by uid
  RingTally tally_;
};

}  // namespace

void RingTally::Add(const RingTally& other) {
  reported += other.reported;
  overwritten += other.overwritten;
  over_budget += other.over_budget;
  malformed += other.malformed;
  unknown_communicator += other.unknown_communicator;
  over_allowance += other.over_allowance;
  without_job += other.without_job;
  communicators_left_out += other.communicators_left_out;
  transfers_left_out += other.transfers_left_out;
  in_flight_left_out += other.in_flight_left_out;
}

RingTally AppendRings(const std::map<std::string, FollowedRing>& rings, const ReadingTime& time,
                      OperationArchive& archive, wire::AgentReport& report) {
  Builder builder(time, archive);
  builder.Append(rings, report);
  return builder.tally();
}

}  // namespace lockstep
