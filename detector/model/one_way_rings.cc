#include "detector/model/one_way_rings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace lockstep {
namespace {

// Two send to one another, which is a ring as well as two stages.
constexpr size_t kFewestMembers = 3;

// By sender.
using Receivers = std::map<int32_t, int32_t>;

bool IsRing(const Receivers& receiver_of, size_t members) {
  if (members < kFewestMembers || receiver_of.size() != members) return false;
  int32_t at = receiver_of.begin()->first;
  for (size_t passed = 1; passed <= members; ++passed) {
    const auto next = receiver_of.find(at);
    if (next == receiver_of.end()) return false;
    at = next->second;
    if (at == receiver_of.begin()->first) return passed == members;
  }
  return false;
}

// By communicator: the number of its set of members, which others may share. One of unknown members is a set by itself.
std::vector<size_t> SetsOfMembers(const Trace& trace) {
  std::map<std::vector<int32_t>, size_t> numbers;
  std::vector<size_t> set_of;
  for (size_t c = 0; c < trace.communicators.size(); ++c) {
    std::vector<int32_t> members = trace.communicators[c].members;
    std::sort(members.begin(), members.end());
    const bool known = !members.empty() && members.front() >= 0;
    set_of.push_back(known ? numbers.try_emplace(std::move(members), c).first->second : c);
  }
  return set_of;
}

}  // namespace

std::vector<char> FindOneWayRings(const Trace& trace, const OperationInstances& matched) {
  const std::vector<size_t> set_of = SetsOfMembers(trace);
  std::vector<Receivers> receiver_of(set_of.size());  // by set
  std::vector<char> rings(set_of.size(), 1);
  for (const OperationChannel& channel : matched.channels) {
    if (channel.collective()) continue;
    const auto communicator = static_cast<size_t>(channel.communicator);
    const std::vector<int32_t>& members = trace.communicators[communicator].members;
    const auto rank_of = [&members](int32_t member) {
      const auto at = static_cast<size_t>(member);
      return member >= 0 && at < members.size() && members[at] >= 0 ? members[at] : member;
    };
    const size_t set = set_of[communicator];
    const int32_t receiver = rank_of(channel.destination);
    if (receiver_of[set].try_emplace(rank_of(channel.source), receiver).first->second != receiver) rings[set] = 0;
  }
  std::vector<char> found;
  for (size_t c = 0; c < set_of.size(); ++c) {
    const size_t set = set_of[c];
    found.push_back(rings[set] != 0 && IsRing(receiver_of[set], trace.communicators[c].members.size()) ? 1 : 0);
  }
  return found;
}

}  // namespace lockstep
