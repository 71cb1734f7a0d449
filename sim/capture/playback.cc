#include "sim/capture/playback.h"

#include <unordered_set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace lockstep {
namespace {

// FNV-1a, 64 bits: the same id for a name on every machine.
uint64_t IdOfText(const std::string& name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace

std::vector<uint64_t> CommunicatorIds(const std::vector<TraceCommunicator>& communicators) {
  std::vector<uint64_t> ids;
  std::unordered_set<uint64_t> taken = {0};
  for (const TraceCommunicator& communicator : communicators) {
    uint64_t id = 0;
    const bool is_number = absl::StartsWith(communicator.name, "0x") || communicator.name.size() == 16;
    if (!is_number || !absl::SimpleHexAtoi(communicator.name, &id)) id = IdOfText(communicator.name);
    while (!taken.insert(id).second) ++id;
    ids.push_back(id);
  }
  return ids;
}

}  // namespace lockstep
