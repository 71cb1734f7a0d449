#include "detector/hang/precedents.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "absl/types/span.h"
#include "detector/hang/host_offsets.h"

namespace lockstep {
namespace {

// With the tail of an exponential, twice the longest of n moments comes once in n x n.
constexpr int64_t kMultiple = 2;
// As a power of n: where no tail is known, no more than n x n is believed.
constexpr double kKnownTail = 2;
// That one of all waits that are looked at is as long by chance. One recording in a thousand.
constexpr double kMostChance = 0.001;

bool Whole(const TraceOperation& operation) { return operation.started() && operation.finished(); }

absl::Span<const TraceOperation> NewerHalf(absl::Span<const TraceOperation> operations) {
  return operations.subspan(operations.size() / 2);
}

// When the rank last began or ended something; kNoTime = never.
int64_t LastMove(absl::Span<const TraceOperation> operations) {
  int64_t last_ns = kNoTime;
  for (const TraceOperation& operation : operations) {
    last_ns = std::max({last_ns, operation.start_ns, operation.end_ns});
  }
  return last_ns;
}

}  // namespace

bool HasPrecedents(const Frontier& frontier) {
  const std::vector<TraceOperation>& operations = frontier.trace().operations;
  return std::any_of(operations.begin(), operations.end(), Whole);
}

Precedents::Precedents(const Frontier& frontier) : frontier_(&frontier), trace_(&frontier.trace()) {
  for (size_t rank = 0; rank < trace_->ranks.size(); ++rank) {
    NoteWaits(rank);
    NoteWork(rank);
  }
  NoteEnds();
}

void Precedents::NoteWaits(size_t rank_index) {
  for (const TraceOperation& operation : NewerHalf(trace_->OperationsOf(rank_index))) {
    if (!Whole(operation)) continue;
    int64_t& here_ns = longest_here_ns_[{operation.communicator, operation.kind}];
    here_ns = std::max(here_ns, operation.duration_ns());
    Longest& alike = longest_alike_[{SizeOf(operation), operation.kind}];
    alike.ns = std::max(alike.ns, operation.duration_ns());
    ++alike.records;
    longest_stay_ns_ = std::max(longest_stay_ns_, operation.duration_ns());
  }
}

void Precedents::NoteWork(size_t rank_index) {
  int64_t free_ns = kNoTime;
  for (const TraceOperation& operation : NewerHalf(trace_->OperationsOf(rank_index))) {
    if (!operation.started()) continue;
    if (free_ns != kNoTime) longest_work_ns_ = std::max(longest_work_ns_, operation.start_ns - free_ns);
    free_ns = std::max({free_ns, operation.start_ns, operation.end_ns});
  }
}

void Precedents::NoteEnds() {
  const size_t hosts = trace_->hosts.size();
  host_end_ns_.assign(hosts, kNoTime);
  for (size_t rank = 0; rank < trace_->ranks.size(); ++rank) {
    if (trace_->ranks[rank].host < 0) continue;
    int64_t& end_ns = host_end_ns_[static_cast<size_t>(trace_->ranks[rank].host)];
    for (const TraceOperation& operation : trace_->OperationsOf(rank)) {
      end_ns = std::max({end_ns, operation.enqueue_ns, operation.start_ns, operation.end_ns});
    }
  }
  const HostOffsets offsets = AlignHosts(*frontier_);
  std::vector<int64_t> island_end_ns(hosts, kNoTime);
  for (size_t host = 0; host < hosts; ++host) {
    if (host_end_ns_[host] == kNoTime) continue;
    int64_t& end_ns = island_end_ns[static_cast<size_t>(offsets.island[host])];
    end_ns = std::max(end_ns, host_end_ns_[host] - offsets.offset_ns[host]);
  }
  all_end_ns_.assign(hosts, kNoTime);
  for (size_t host = 0; host < hosts; ++host) {
    const int64_t end_ns = island_end_ns[static_cast<size_t>(offsets.island[host])];
    if (end_ns != kNoTime) all_end_ns_[host] = end_ns + offsets.offset_ns[host];
  }
}

size_t Precedents::SizeOf(const TraceOperation& operation) const {
  return trace_->communicators[static_cast<size_t>(operation.communicator)].members.size();
}

// How likely a wait of this length is at a moment of a job under way; 1 where there was one as long.
double Precedents::ChanceOfWait(const TraceOperation& first, int32_t host, Tail tail) const {
  const auto here = longest_here_ns_.find({first.communicator, first.kind});
  if (!first.started() || here == longest_here_ns_.end()) return 1;
  const int64_t waited_ns = host_end_ns_[static_cast<size_t>(host)] - first.start_ns;
  const Longest& alike = longest_alike_.at({SizeOf(first), first.kind});
  if (waited_ns <= kMultiple * here->second || waited_ns <= alike.ns) return 1;
  // Each operation has left a record with each member. The longest of n moments has one chance in n + 1.
  const double moments = std::ceil(static_cast<double>(alike.records) / static_cast<double>(SizeOf(first)));
  const double times = static_cast<double>(waited_ns) / static_cast<double>(std::max<int64_t>(alike.ns, 1));
  return std::pow(moments + 1, -(tail == Tail::kUnknown ? std::min(times, kKnownTail) : times));
}

bool Precedents::WaitLongest(absl::Span<const size_t> rank_indices, double least_share, Tail tail) const {
  std::map<std::tuple<int32_t, OperationKind, uint64_t, int32_t>, double> chance;  // by operation: of its longest wait
  for (const size_t rank : rank_indices) {
    const absl::Span<const size_t> open = frontier_->OpenOf(rank);
    const int32_t host = trace_->ranks[rank].host;
    if (open.empty() || host < 0) continue;
    const TraceOperation& first = trace_->operations[open.front()];
    const double wait_chance = ChanceOfWait(first, host, tail);
    const auto [found, fresh] =
        chance.try_emplace({first.communicator, first.kind, first.sequence, first.peer}, wait_chance);
    if (!fresh) found->second = std::min(found->second, wait_chance);
  }
  const auto all = static_cast<double>(chance.size());
  const auto longest = static_cast<double>(std::count_if(
      chance.begin(), chance.end(), [all](const auto& operation) { return operation.second * all <= kMostChance; }));
  return longest > 0 && longest >= least_share * all;
}

std::optional<double> Precedents::AbsenceToLongest(size_t rank_index) const {
  const int32_t host = trace_->ranks[rank_index].host;
  const int64_t last_ns = LastMove(trace_->OperationsOf(rank_index));
  if (host < 0 || last_ns == kNoTime) return std::nullopt;
  const absl::Span<const size_t> open = frontier_->OpenOf(rank_index);
  const bool inside = !open.empty() && trace_->operations[open.front()].started();
  const int64_t since_ns = inside ? trace_->operations[open.front()].start_ns : last_ns;
  const int64_t longest_ns = inside ? longest_stay_ns_ : longest_work_ns_;
  if (longest_ns <= 0) return std::nullopt;
  return static_cast<double>(all_end_ns_[static_cast<size_t>(host)] - since_ns) / static_cast<double>(longest_ns);
}

bool Precedents::TakesPart(const BlockedOperation& blocked, const TraceOperation& operation, size_t rank_index) const {
  if (operation.communicator != blocked.communicator || !Whole(operation)) return false;
  if (blocked.collective()) return operation.kind == blocked.kind;
  const int32_t member = frontier_->MemberOf(rank_index, blocked.communicator);
  if (operation.kind == OperationKind::kSend) {
    return member == blocked.source && operation.peer == blocked.destination;
  }
  return operation.kind == OperationKind::kRecv && member == blocked.destination && operation.peer == blocked.source;
}

// The last to come was inside for the shortest time, now and in each operation before.
bool Precedents::TransfersLongest(const BlockedOperation& blocked) const {
  int64_t now_ns = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < blocked.at.size(); ++i) {
    const TraceRank& rank = trace_->ranks[static_cast<size_t>(blocked.at[i])];
    const TraceOperation& operation = trace_->operations[blocked.operations[i]];
    if (rank.host < 0 || !operation.started()) return false;
    now_ns = std::min(now_ns, host_end_ns_[static_cast<size_t>(rank.host)] - operation.start_ns);
  }
  std::map<uint64_t, int64_t> shortest_ns;  // by sequence
  for (const int32_t rank : blocked.at) {
    for (const TraceOperation& operation : NewerHalf(trace_->OperationsOf(static_cast<size_t>(rank)))) {
      if (!TakesPart(blocked, operation, static_cast<size_t>(rank))) continue;
      const auto [found, fresh] = shortest_ns.try_emplace(operation.sequence, operation.duration_ns());
      if (!fresh) found->second = std::min(found->second, operation.duration_ns());
    }
  }
  return !blocked.at.empty() && !shortest_ns.empty() &&
         std::all_of(shortest_ns.begin(), shortest_ns.end(),
                     [now_ns](const auto& past) { return now_ns > kMultiple * past.second; });
}

}  // namespace lockstep
