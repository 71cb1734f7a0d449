#include "detector/hang/blind_members.h"

#include <algorithm>
#include <cstddef>

#include "detector/hang/member_numbers.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

// As trace_frontier.cc: one record may be lost by chance.
constexpr int64_t kProof = 2;

bool IsBlindBeside(const Frontier::Progress& own, const Frontier::Progress& other) {
  return own.records == 0 && other.ended >= kProof;
}

}  // namespace

BlindMembers::BlindMembers(const Frontier& frontier) : frontier_(frontier) {
  const Trace& trace = frontier.trace();
  somewhere_.assign(trace.ranks.size(), 0);
  ended_.assign(trace.communicators.size(), 0);
  if (frontier.watch() != nullptr) return;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    if (frontier.IsKnown(rank)) indices_[trace.ranks[rank].rank] = static_cast<int32_t>(rank);
  }
  std::map<int32_t, std::vector<int32_t>> blind;  // members, by communicator
  for (size_t c = 0; c < ended_.size(); ++c) {
    const auto communicator = static_cast<int32_t>(c);
    const auto members = static_cast<int32_t>(trace.communicators[c].members.size());
    for (int32_t m = 0; m < members; ++m) ended_[c] = std::max(ended_[c], frontier.Of(communicator, m).ended);
    for (int32_t m = 0; m < members && ended_[c] >= kProof; ++m) {
      if (frontier.Of(communicator, m).records == 0) blind[communicator].push_back(m);
    }
  }
  for (const auto& [pair, progress] : frontier.pairs()) {
    const auto [communicator, source, destination] = pair;
    if (IsBlindBeside(progress.send, progress.receive)) blind[communicator].push_back(source);
    if (IsBlindBeside(progress.receive, progress.send)) blind[communicator].push_back(destination);
  }
  for (const auto& [communicator, members] : blind) Note(communicator, members);
}

void BlindMembers::Note(int32_t communicator, const std::vector<int32_t>& blind) {
  const std::vector<int32_t> numbers = MemberNumbers(frontier_.trace(), communicator);
  for (const int32_t member : blind) {
    if (member < 0 || static_cast<size_t>(member) >= numbers.size()) continue;
    const auto found = indices_.find(numbers[static_cast<size_t>(member)]);
    if (found == indices_.end()) continue;
    ranks_[{communicator, member}] = found->second;
    somewhere_[static_cast<size_t>(found->second)] = 1;
  }
}

bool BlindMembers::IsBlind(const BlockedOperation& blocked, int32_t member) const {
  if (frontier_.watch() != nullptr) return false;
  if (blocked.collective()) {
    return ended_[static_cast<size_t>(blocked.communicator)] >= kProof &&
           frontier_.Of(blocked.communicator, member).records == 0;
  }
  const auto sends = frontier_.Sends(blocked.communicator, blocked.source, blocked.destination);
  const auto receives = frontier_.Receives(blocked.communicator, blocked.source, blocked.destination);
  return member == blocked.source ? IsBlindBeside(sends, receives) : IsBlindBeside(receives, sends);
}

int32_t BlindMembers::RankAt(int32_t communicator, int32_t member) const {
  const auto found = ranks_.find({communicator, member});
  if (found != ranks_.end()) return found->second;
  const Trace& trace = frontier_.trace();
  return trace.communicators[static_cast<size_t>(communicator)].members[static_cast<size_t>(member)];
}

}  // namespace lockstep
