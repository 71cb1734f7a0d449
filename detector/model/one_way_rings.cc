#include "detector/model/one_way_rings.h"

#include <cstddef>
#include <cstdint>
#include <map>

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

}  // namespace

std::vector<char> FindOneWayRings(const Trace& trace, const OperationInstances& matched) {
  std::vector<Receivers> receiver_of(trace.communicators.size());
  std::vector<char> rings(trace.communicators.size(), 1);
  for (const OperationChannel& channel : matched.channels) {
    if (channel.collective()) continue;
    const auto communicator = static_cast<size_t>(channel.communicator);
    if (!receiver_of[communicator].try_emplace(channel.source, channel.destination).second) rings[communicator] = 0;
  }
  for (size_t i = 0; i < rings.size(); ++i) {
    if (rings[i] != 0) rings[i] = IsRing(receiver_of[i], trace.communicators[i].members.size()) ? 1 : 0;
  }
  return rings;
}

}  // namespace lockstep
