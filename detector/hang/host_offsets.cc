#include "detector/hang/host_offsets.h"

#include <algorithm>
#include <cstddef>

#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

struct Sighting {
  int32_t host = -1;
  int64_t end_ns = kNoTime;
};

// The newest collective of a communicator that all members with any finished one have finished; -1 = none.
int64_t NewestCommon(const Frontier& frontier, int32_t communicator) {
  const size_t members = frontier.trace().communicators[static_cast<size_t>(communicator)].members.size();
  int64_t newest = -1;
  for (size_t member = 0; member < members; ++member) {
    const int64_t finished = frontier.Of(communicator, static_cast<int32_t>(member)).finished;
    if (finished >= 0 && (newest < 0 || finished < newest)) newest = finished;
  }
  return newest;
}

// By communicator: when each host left that collective.
std::vector<std::vector<Sighting>> Sightings(const Frontier& frontier) {
  const Trace& trace = frontier.trace();
  std::vector<int64_t> wanted(trace.communicators.size());
  for (size_t c = 0; c < wanted.size(); ++c) wanted[c] = NewestCommon(frontier, static_cast<int32_t>(c));
  std::vector<std::vector<Sighting>> sightings(wanted.size());
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    if (trace.ranks[rank].host < 0) continue;
    for (const TraceOperation& operation : trace.OperationsOf(rank)) {
      if (operation.communicator < 0 || !operation.finished() || !IsSynchronous(operation.kind)) continue;
      const auto c = static_cast<size_t>(operation.communicator);
      if (static_cast<int64_t>(operation.sequence) != wanted[c]) continue;
      sightings[c].push_back({trace.ranks[rank].host, operation.end_ns});
    }
  }
  return sightings;
}

}  // namespace

HostOffsets AlignHosts(const Frontier& frontier) {
  const size_t hosts = frontier.trace().hosts.size();
  const std::vector<std::vector<Sighting>> sightings = Sightings(frontier);
  std::vector<std::vector<size_t>> communicators_of(hosts);
  for (size_t c = 0; c < sightings.size(); ++c) {
    for (const Sighting& sighting : sightings[c]) communicators_of[static_cast<size_t>(sighting.host)].push_back(c);
  }
  HostOffsets offsets{.offset_ns = std::vector<int64_t>(hosts, 0), .island = std::vector<int32_t>(hosts, -1)};
  std::vector<char> used(sightings.size(), 0);
  int32_t islands = 0;
  for (size_t first = 0; first < hosts; ++first) {
    if (offsets.island[first] >= 0) continue;
    offsets.island[first] = islands;
    std::vector<Sighting> reached = {{static_cast<int32_t>(first), 0}};
    for (size_t next = 0; next < reached.size(); ++next) {
      const int32_t host = reached[next].host;
      for (const size_t c : communicators_of[static_cast<size_t>(host)]) {
        if (used[c] != 0) continue;
        used[c] = 1;
        const auto here = std::find_if(sightings[c].begin(), sightings[c].end(),
                                       [host](const Sighting& sighting) { return sighting.host == host; });
        const int64_t common_ns = here->end_ns - offsets.offset_ns[static_cast<size_t>(host)];
        for (const Sighting& there : sightings[c]) {
          const auto other = static_cast<size_t>(there.host);
          if (offsets.island[other] >= 0) continue;
          offsets.island[other] = islands;
          offsets.offset_ns[other] = there.end_ns - common_ns;
          reached.push_back(there);
        }
      }
    }
    ++islands;
  }
  return offsets;
}

}  // namespace lockstep
