#include "formats/trace_collection.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr char kStandInPrefix[] = "unknown-host-of-rank-";

// The recorders of a host are read together: what was seen of one rank was seen of its neighbours.
void ShareLastSeen(Trace& trace) {
  std::vector<int64_t> last_seen_ns(trace.hosts.size(), kNoTime);
  for (const TraceRank& rank : trace.ranks) {
    if (rank.host < 0) continue;
    int64_t& of_host = last_seen_ns[static_cast<size_t>(rank.host)];
    of_host = std::max(of_host, rank.last_seen_ns);
  }
  for (TraceRank& rank : trace.ranks) {
    if (rank.host >= 0) rank.last_seen_ns = last_seen_ns[static_cast<size_t>(rank.host)];
  }
}

}  // namespace

bool IsStandInHost(absl::string_view host) { return absl::StartsWith(host, kStandInPrefix); }

TraceCollection::TraceCollection(std::string job)
    : builder_(std::move(job)), hosts_(kMaxTraceNames), communicators_(kMaxTraceNames) {}

TraceCollection::KnownRank* TraceCollection::Known(const RankRow& row) {
  if (row.rank < 0 || row.rank > kMaxRank) return nullptr;
  const auto index = static_cast<size_t>(row.rank);
  if (index >= ranks_.size()) ranks_.resize(std::max(index + 1, ranks_.size() * 2));
  KnownRank& known = ranks_[index];
  const bool news = known.handle < 0 || (!known.has_host && !row.host.empty()) || (!known.has_gpu && row.gpu >= 0) ||
                    row.pid != 0 || row.process_state != ProcessState::kUnknown || row.last_seen_ns != kNoTime;
  if (!news) return &known;
  const int32_t host = row.host.empty() ? -1 : hosts_.Intern(row.host);
  if (host >= 0 && static_cast<size_t>(host) == host_handles_.size())
    host_handles_.push_back(builder_.AddHost(row.host));
  TraceRank rank;
  rank.rank = row.rank;
  rank.host = host >= 0 ? host_handles_[static_cast<size_t>(host)] : -1;
  rank.gpu = row.gpu;
  rank.pid = row.pid;
  rank.process_state = row.process_state;
  rank.last_seen_ns = row.last_seen_ns;
  known.handle = builder_.AddRank(rank);
  known.has_host |= host >= 0;
  known.has_gpu |= row.gpu >= 0;
  return known.handle >= 0 ? &known : nullptr;
}

int32_t TraceCollection::Communicator(absl::string_view name, absl::string_view hint, int32_t size) {
  const int32_t number = communicators_.Intern(name);
  if (number < 0) return -1;
  const auto index = static_cast<size_t>(number);
  if (index == communicator_handles_.size()) {
    communicator_handles_.push_back(-1);
    communicator_sizes_.push_back(-1);
  }
  size = std::clamp(size, 0, kMaxRank + 1);
  if (size > communicator_sizes_[index] || !hint.empty()) {
    communicator_sizes_[index] = std::max(size, communicator_sizes_[index]);
    communicator_handles_[index] = builder_.AddCommunicator(name, hint, communicator_sizes_[index]);
  }
  return communicator_handles_[index];
}

void TraceCollection::Add(const OperationRow& row) {
  RankRow rank;
  rank.rank = row.rank;
  rank.host = row.host;
  rank.gpu = row.gpu;
  rank.last_seen_ns = row.taken_ns;
  const KnownRank* known = Known(rank);
  TraceOperation operation = row.operation;
  operation.communicator = known != nullptr ? Communicator(row.communicator, "", row.communicator_size) : -1;
  if (operation.communicator < 0) {
    builder_.AddLost(1);
    return;
  }
  builder_.AddMember(operation.communicator, row.communicator_rank, known->handle);
  builder_.Add(known->handle, operation);
}

void TraceCollection::Describe(const RankRow& row) { Known(row); }

void TraceCollection::DescribeCommunicator(absl::string_view name, absl::string_view hint,
                                           absl::Span<const int32_t> ranks) {
  const int32_t communicator = Communicator(name, hint, static_cast<int32_t>(ranks.size()));
  if (communicator < 0 || listed_.size() + ranks.size() > kMaxListedMembers) return;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] > kMaxRank) continue;
    listed_.push_back({communicator, static_cast<int32_t>(i), ranks[i]});
  }
}

void TraceCollection::ExpectRanks(int32_t world_size) {
  expected_ranks_ = std::max(expected_ranks_, std::min(world_size, kMaxRank + 1));
}

Trace TraceCollection::Finish() {
  std::vector<char> expected(static_cast<size_t>(expected_ranks_), 1);
  const auto is_known = [this](int32_t rank) {
    return static_cast<size_t>(rank) < ranks_.size() && ranks_[static_cast<size_t>(rank)].handle >= 0;
  };
  for (const ListedMember& member : listed_) {
    if (is_known(member.rank)) {
      builder_.AddMember(member.communicator, member.communicator_rank,
                         ranks_[static_cast<size_t>(member.rank)].handle);
    } else {
      const auto index = static_cast<size_t>(member.rank);
      if (index >= expected.size()) expected.resize(index + 1, 0);
      expected[index] = 1;
    }
  }
  for (size_t rank = 0; rank < expected.size(); ++rank) {
    if (expected[rank] != 0 && !is_known(static_cast<int32_t>(rank))) builder_.ExpectRank(static_cast<int32_t>(rank));
  }
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].handle < 0 || ranks_[rank].has_host) continue;
    TraceRank stand_in;
    stand_in.rank = static_cast<int32_t>(rank);
    stand_in.host = builder_.AddHost(absl::StrCat(kStandInPrefix, rank));
    builder_.AddRank(stand_in);
  }
  Trace trace = builder_.Build();
  ShareLastSeen(trace);
  return trace;
}

}  // namespace lockstep
