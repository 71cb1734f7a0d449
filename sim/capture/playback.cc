#include "sim/capture/playback.h"

#include <unordered_set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/fnv1a.h"

namespace lockstep {
std::vector<uint64_t> CommunicatorIds(const std::vector<TraceCommunicator>& communicators) {
  std::vector<uint64_t> ids;
  std::unordered_set<uint64_t> taken = {0};
  for (const TraceCommunicator& communicator : communicators) {
    uint64_t id = 0;
    const bool is_number = absl::StartsWith(communicator.name, "0x") || communicator.name.size() == 16;
    if (!is_number || !absl::SimpleHexAtoi(communicator.name, &id)) id = Fnv1a(communicator.name);
    while (!taken.insert(id).second) ++id;
    ids.push_back(id);
  }
  return ids;
}

}  // namespace lockstep
