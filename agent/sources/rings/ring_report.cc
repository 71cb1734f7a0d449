#include "agent/sources/rings/ring_report.h"

#include <algorithm>
#include <vector>

#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/operation_columns.h"
#include "agent/sources/rings/process_facts.h"
#include "agent/sources/rings/ring_contents.h"
#include "agent/sources/rings/ring_shares.h"
#include "agent/sources/rings/ring_text.h"

namespace lockstep {
namespace {

// One ring, and what is to be said about it.
struct ProcessPart {
  const FollowedRing* ring = nullptr;
  RingContents contents;
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

bool IsWorthReporting(const CommunicatorContents& part, const ReadingTime& time) {
  const bool freed = part.entry->ready == 2;
  const bool busy = !part.finished.empty() || !part.in_flight.empty();
  return !freed || busy || time.Since(part.entry->changed_at_ns) < kFreedCommunicatorNanos;
}

class Builder {
 public:
  Builder(const ReadingTime& time, OperationArchive& archive) : time_(time), archive_(archive) {}

  void Append(const std::map<std::string, FollowedRing>& rings, wire::AgentReport& report) {
    std::vector<ProcessPart> parts;
    for (const auto& [name, ring] : rings) {
      if (ring.job.empty()) {
        tally_.without_job += ring.snapshot.finished.size();
        continue;
      }
      parts.push_back({&ring, SortRing(ring.snapshot, time_, &tally_)});
      OwnerPart& owner = owners_[ring.owner];
      ++owner.rings;
      for (const CommunicatorContents& part : parts.back().contents.communicators) {
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
    for (const ProcessPart& part : parts) {
      wire::ProcessReport& added = *report.add_processes();
      AppendProcessFacts(part.ring->reader->header(), *part.ring, time_, added);
      AppendCommunicators(part, added);
    }
  }

  const RingTally& tally() const { return tally_; }

 private:
  void AppendCommunicators(const ProcessPart& part, wire::ProcessReport& to) {
    const OwnerPart& owner = owners_[part.ring->owner];
    RingRoom room;
    room.communicators = FairShare(kMaxCommunicatorsPerReport, owners_.size(), owner.rings);
    room.transfers = FairShare(kMaxTransfersPerReport, owners_.size(), owner.rings);
    room.further_in_flight = FairShare(kMaxFurtherInFlightPerReport, owners_.size(), owner.rings);
    for (const CommunicatorContents& communicator : part.contents.communicators) {
      if (!IsWorthReporting(communicator, time_)) continue;
      if (room.communicators == 0) {
        ++tally_.communicators_left_out;
        tally_.over_budget += communicator.finished.size();
        continue;
      }
      --room.communicators;
      wire::CommunicatorReport& added = *to.add_communicators();
      AppendCommunicator(communicator, part.ring->owner, owner.operation_share, to, added);
      AppendTransfers(communicator.transfers, room, added);
      if (part.contents.stands && !communicator.in_flight.empty()) AppendFurther(communicator.in_flight, room, added);
    }
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

  void AppendCommunicator(const CommunicatorContents& part, uint32_t user, size_t share,
                          const wire::ProcessReport& process, wire::CommunicatorReport& to) {
    const ring::CommunicatorEntry& entry = *part.entry;
    to.set_id(entry.id);
    to.set_name(RingText(entry.name));
    to.set_size(entry.size);
    to.set_rank(entry.rank);
    to.set_freed(entry.ready == 2);
    to.set_enqueued(entry.enqueued);
    to.set_started(std::min(entry.started, entry.enqueued));
    to.set_finished(std::min(entry.finished, entry.enqueued));
    to.set_idle_ns(time_.Since(entry.changed_at_ns));
    if (!part.in_flight.empty()) AppendInFlight(*part.in_flight.front(), *to.mutable_oldest_in_flight());
    if (part.finished.empty()) return;
    const size_t kept = AppendOperations(part.finished, share, part.stride, *to.mutable_operations());
    tally_.reported += kept;
    tally_.over_budget += part.finished.size() - kept;
    Archive(part, user, process, entry.id, kept == part.finished.size() ? &to.operations() : nullptr);
  }

  // `all` = the operations as already encoded, if nothing was thinned out.
  void Archive(const CommunicatorContents& part, uint32_t user, const wire::ProcessReport& process,
               uint64_t communicator, const wire::OperationBatch* all) {
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
    to.set_age_ns(time_.Since(operation.enqueued_at_ns));
    if (HasStarted(operation)) to.set_inside_ns(time_.Since(operation.started_at_ns));
    to.set_bytes(operation.bytes);
    to.set_peer(std::max(operation.peer, -1));
    to.set_timing_quality(operation.timing_quality);
    to.set_channels_started(operation.channels_started);
    to.set_channels_finished(operation.channels_finished);
    to.set_algorithm(operation.algorithm);
    to.set_protocol(operation.protocol);
    to.set_channels(operation.channels);
  }

  const ReadingTime time_;
  OperationArchive& archive_;
  std::map<uint32_t, OwnerPart> owners_;  // by uid
  RingTally tally_;
};

}  // namespace

RingTally AppendRings(const std::map<std::string, FollowedRing>& rings, const ReadingTime& time,
                      OperationArchive& archive, wire::AgentReport& report) {
  Builder builder(time, archive);
  builder.Append(rings, report);
  return builder.tally();
}

}  // namespace lockstep
