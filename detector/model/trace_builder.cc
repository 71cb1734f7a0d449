#include "detector/model/trace_builder.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "detector/model/member_places.h"

namespace lockstep {
namespace {

int64_t Completeness(const TraceOperation& operation) {
  return (operation.started() ? 1 : 0) + (operation.finished() ? 2 : 0) + (operation.bytes > 0 ? 1 : 0);
}

auto Identity(const TraceOperation& operation) {
  return std::make_tuple(operation.enqueue_ns, operation.communicator, static_cast<int>(operation.kind), operation.peer,
                         operation.sequence);
}

bool Before(const TraceOperation& a, const TraceOperation& b) {
  return std::tuple_cat(Identity(a), std::make_tuple(-Completeness(a), a.start_ns, a.end_ns, a.bytes)) <
         std::tuple_cat(Identity(b), std::make_tuple(-Completeness(b), b.start_ns, b.end_ns, b.bytes));
}

bool SameCall(const TraceOperation& a, const TraceOperation& b) { return Identity(a) == Identity(b); }

bool ContradictsItself(const TraceOperation& operation) {
  return (operation.finished() && !operation.started()) ||
         (operation.finished() && operation.end_ns < operation.start_ns);
}

}  // namespace

TraceBuilder::TraceBuilder(std::string job, const TraceLimits& limits) : job_(std::move(job)), limits_(limits) {}

int32_t TraceBuilder::AddHost(absl::string_view name) {
  const auto [it, added] = host_handles_.try_emplace(name, static_cast<int32_t>(hosts_.size()));
  if (added) hosts_.emplace_back(name);
  return it->second;
}

int32_t TraceBuilder::AddRank(const TraceRank& rank) {
  const auto found = rank_handles_.find(rank.rank);
  if (found == rank_handles_.end()) {
    if (ranks_.size() >= limits_.max_ranks) return -1;
    const auto handle = static_cast<int32_t>(ranks_.size());
    rank_handles_.emplace(rank.rank, handle);
    ranks_.push_back(rank);
    operations_.emplace_back();
    return handle;
  }
  TraceRank& known = ranks_[static_cast<size_t>(found->second)];
  if (known.host < 0) known.host = rank.host;
  if (known.gpu < 0) known.gpu = rank.gpu;
  if (known.pid == 0) known.pid = rank.pid;
  if (known.process_state == ProcessState::kUnknown) known.process_state = rank.process_state;
  known.last_seen_ns = std::max(known.last_seen_ns, rank.last_seen_ns);
  return found->second;
}

int32_t TraceBuilder::AddCommunicator(absl::string_view name, absl::string_view hint, int32_t size) {
  auto found = communicator_handles_.find(name);
  if (found == communicator_handles_.end()) {
    if (communicators_.size() >= limits_.max_communicators) return -1;
    found = communicator_handles_.emplace(name, static_cast<int32_t>(communicators_.size())).first;
    communicators_.push_back({.name = std::string(name)});
  }
  Communicator& communicator = communicators_[static_cast<size_t>(found->second)];
  if (communicator.hint < hint) communicator.hint = std::string(hint);
  communicator.size = std::max(communicator.size, size);
  return found->second;
}

void TraceBuilder::AddMember(int32_t communicator, int32_t communicator_rank, int32_t rank_handle) {
  if (communicator < 0 || rank_handle < 0) return;
  auto& places = communicators_[static_cast<size_t>(communicator)].place_of_rank;
  const auto found = places.find(rank_handle);
  if (found != places.end()) {
    if (found->second < 0) found->second = communicator_rank;
    return;
  }
  if (members_ >= limits_.max_members) return;
  ++members_;
  places.emplace(rank_handle, communicator_rank);
}

bool TraceBuilder::Add(int32_t rank_handle, const TraceOperation& operation) {
  TraceOperation kept = operation;
  // A call cannot come after what it began: recorders that read two clocks are off by a little.
  if (kept.enqueue_ns == kNoTime || (kept.started() && kept.enqueue_ns > kept.start_ns))
    kept.enqueue_ns = kept.start_ns;
  if (rank_handle < 0 || kept.communicator < 0 || kept.enqueue_ns == kNoTime || ContradictsItself(kept) ||
      stored_ >= limits_.max_operations) {
    ++lost_;
    return false;
  }
  ++stored_;
  int32_t& highest_peer = communicators_[static_cast<size_t>(kept.communicator)].highest_peer;
  if (static_cast<size_t>(kept.peer) < limits_.max_ranks) highest_peer = std::max(highest_peer, kept.peer);
  operations_[static_cast<size_t>(rank_handle)].push_back(kept);
  return true;
}

void TraceBuilder::BuildRanks(Trace* trace, std::vector<int32_t>* new_rank) {
  std::vector<int32_t> host_order(hosts_.size()), new_host(hosts_.size());
  for (size_t i = 0; i < hosts_.size(); ++i) host_order[i] = static_cast<int32_t>(i);
  std::sort(host_order.begin(), host_order.end(),
            [this](int32_t a, int32_t b) { return hosts_[static_cast<size_t>(a)] < hosts_[static_cast<size_t>(b)]; });
  for (size_t i = 0; i < host_order.size(); ++i) {
    const auto old = static_cast<size_t>(host_order[i]);
    new_host[old] = static_cast<int32_t>(i);
    trace->hosts.push_back(hosts_[old]);
  }
  rank_order_.resize(ranks_.size());
  for (size_t i = 0; i < ranks_.size(); ++i) rank_order_[i] = static_cast<int32_t>(i);
  std::sort(rank_order_.begin(), rank_order_.end(), [this](int32_t a, int32_t b) {
    return ranks_[static_cast<size_t>(a)].rank < ranks_[static_cast<size_t>(b)].rank;
  });
  new_rank->resize(ranks_.size());
  for (size_t i = 0; i < rank_order_.size(); ++i) {
    const auto old = static_cast<size_t>(rank_order_[i]);
    (*new_rank)[old] = static_cast<int32_t>(i);
    trace->ranks.push_back(ranks_[old]);
    int32_t& host = trace->ranks.back().host;
    if (host >= 0) host = new_host[static_cast<size_t>(host)];
  }
}

void TraceBuilder::PlaceMembers() {
  std::vector<std::vector<UnplacedMember>> unplaced(communicators_.size());
  const auto is_unplaced = [this](int32_t communicator) {
    const auto& places = communicators_[static_cast<size_t>(communicator)].place_of_rank;
    return std::all_of(places.begin(), places.end(), [](const auto& place) { return place.second < 0; });
  };
  std::vector<char> wanted(communicators_.size());
  for (size_t c = 0; c < wanted.size(); ++c) wanted[c] = is_unplaced(static_cast<int32_t>(c)) ? 1 : 0;
  for (const int32_t handle : rank_order_) {
    for (const TraceOperation& operation : operations_[static_cast<size_t>(handle)]) {
      const auto communicator = static_cast<size_t>(operation.communicator);
      if (wanted[communicator] == 0) continue;
      std::vector<UnplacedMember>& members = unplaced[communicator];
      if (members.empty() || members.back().rank != handle) members.push_back({.rank = handle, .peers = {}});
      const bool known = operation.peer >= 0 && static_cast<size_t>(operation.peer) < limits_.max_ranks;
      if (known) members.back().peers.insert(operation.peer);
    }
  }
  for (size_t c = 0; c < communicators_.size(); ++c) {
    Communicator& communicator = communicators_[c];
    int32_t size = communicator.size;
    for (const UnplacedMember& member : unplaced[c]) {
      if (!member.peers.empty()) size = std::max(size, *member.peers.rbegin() + 1);
    }
    const std::vector<int32_t> places = PlacesByPeers(unplaced[c], size);
    for (size_t m = 0; m < places.size(); ++m) communicator.place_of_rank[unplaced[c][m].rank] = places[m];
    if (!places.empty()) communicator.size = size;
  }
}

void TraceBuilder::BuildCommunicators(const std::vector<int32_t>& new_rank, Trace* trace,
                                      std::vector<int32_t>* new_communicator) {
  std::vector<size_t> order(communicators_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [this](size_t a, size_t b) { return communicators_[a].name < communicators_[b].name; });
  new_communicator->resize(order.size());
  size_t places = 0;
  for (const size_t old : order) {
    Communicator& from = communicators_[old];
    (*new_communicator)[old] = static_cast<int32_t>(trace->communicators.size());
    TraceCommunicator to{std::move(from.name), std::move(from.hint), {}};
    int32_t size = std::max(static_cast<int32_t>(from.place_of_rank.size()), from.highest_peer + 1);
    for (const auto& [rank, place] : from.place_of_rank) {
      if (static_cast<size_t>(place) < limits_.max_ranks) size = std::max(size, place + 1);
    }
    if (static_cast<size_t>(std::max(from.size, 0)) <= limits_.max_ranks) size = std::max(size, from.size);
    if (places + static_cast<size_t>(size) > limits_.max_members) {
      size = 0;
      lost_ += from.place_of_rank.size();
    }
    places += static_cast<size_t>(size);
    to.members.assign(static_cast<size_t>(size), -1);
    std::vector<int32_t> homeless;
    // Two ranks that claim one place: the lower rank has it, the other takes a free one, so that no order is left over.
    std::vector<std::pair<int32_t, int32_t>> claims;
    for (const auto& [rank, place] : from.place_of_rank)
      claims.emplace_back(new_rank[static_cast<size_t>(rank)], place);
    std::sort(claims.begin(), claims.end());
    for (const auto& [rank, place] : claims) {
      if (place >= 0 && place < size && to.members[static_cast<size_t>(place)] < 0) {
        to.members[static_cast<size_t>(place)] = rank;
      } else {
        homeless.push_back(rank);
      }
    }
    size_t free_place = 0;
    for (const int32_t rank : homeless) {
      while (free_place < to.members.size() && to.members[free_place] >= 0) ++free_place;
      if (free_place < to.members.size()) to.members[free_place] = rank;
    }
    trace->communicators.push_back(std::move(to));
  }
}

void TraceBuilder::BuildOperations(const std::vector<int32_t>& new_communicator, Trace* trace) {
  trace->operations.reserve(stored_);
  trace->first_operation.assign(1, 0);
  for (const int32_t handle : rank_order_) {
    std::vector<TraceOperation>& own = operations_[static_cast<size_t>(handle)];
    for (TraceOperation& operation : own) {
      operation.communicator = new_communicator[static_cast<size_t>(operation.communicator)];
      const auto& members = trace->communicators[static_cast<size_t>(operation.communicator)].members;
      if (static_cast<size_t>(operation.peer) >= members.size()) operation.peer = -1;
    }
    if (!std::is_sorted(own.begin(), own.end(), Before)) std::sort(own.begin(), own.end(), Before);
    for (const TraceOperation& operation : own) {
      const bool has_previous = trace->operations.size() > trace->first_operation.back();
      if (has_previous && SameCall(trace->operations.back(), operation)) {
        ++duplicates_;
      } else {
        trace->operations.push_back(operation);
      }
    }
    std::vector<TraceOperation>().swap(own);
    trace->first_operation.push_back(trace->operations.size());
  }
}

void TraceBuilder::FindMissingRanks(Trace* trace) const {
  std::vector<int32_t> missing;
  for (const int32_t rank : expected_ranks_) {
    if (!rank_handles_.contains(rank)) missing.push_back(rank);
  }
  for (const TraceCommunicator& communicator : trace->communicators) {
    if (communicator.members.size() <= trace->ranks.size()) continue;
    bool spans_job = true;
    for (size_t place = 0; place < communicator.members.size() && spans_job; ++place) {
      const int32_t member = communicator.members[place];
      spans_job = member < 0 || trace->ranks[static_cast<size_t>(member)].rank == static_cast<int32_t>(place);
    }
    if (!spans_job) continue;
    for (size_t place = 0; place < communicator.members.size(); ++place) {
      const auto rank = static_cast<int32_t>(place);
      if (communicator.members[place] < 0 && !rank_handles_.contains(rank)) missing.push_back(rank);
    }
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  trace->missing_ranks = std::move(missing);
}

Trace TraceBuilder::Build() {
  Trace trace;
  trace.job = job_;
  std::vector<int32_t> new_rank, new_communicator;
  BuildRanks(&trace, &new_rank);
  PlaceMembers();
  BuildCommunicators(new_rank, &trace, &new_communicator);
  BuildOperations(new_communicator, &trace);
  FindMissingRanks(&trace);
  trace.lost_records = lost_;
  return trace;
}

}  // namespace lockstep
