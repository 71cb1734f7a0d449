#include "sim/capture/host_alignment.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/median.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "sim/capture/operation_batch.h"

namespace lockstep {
namespace {

// When a transfer ended on a host, by its clock.
struct Sighting {
  int32_t host = -1;
  int64_t end_ns = kNoTime;
};

struct Transfer {
  Sighting sent;
  Sighting received;
};

using Direction = std::tuple<int32_t, int32_t, int32_t>;  // communicator, source, destination

// Of each pair of ranks and direction, the newest transfer that both sides have finished.
std::map<Direction, Transfer> NewestTransfers(const Frontier& frontier) {
  const Trace& trace = frontier.trace();
  std::map<Direction, Transfer> transfers;
  for (size_t r = 0; r < trace.ranks.size(); ++r) {
    if (trace.ranks[r].host < 0) continue;
    for (const TraceOperation& operation : trace.OperationsOf(r)) {
      if (!IsTransfer(operation) || !operation.finished()) continue;
      const int32_t self = frontier.MemberOf(r, operation.communicator);
      const bool sends = operation.kind == OperationKind::kSend;
      const int32_t source = sends ? self : operation.peer;
      const int32_t destination = sends ? operation.peer : self;
      const int64_t newest = std::min(frontier.Sends(operation.communicator, source, destination).finished,
                                      frontier.Receives(operation.communicator, source, destination).finished);
      if (static_cast<int64_t>(operation.sequence) != newest) continue;
      Transfer& transfer = transfers[{operation.communicator, source, destination}];
      (sends ? transfer.sent : transfer.received) = {trace.ranks[r].host, operation.end_ns};
    }
  }
  return transfers;
}

}  // namespace

HostOffsets AlignPlayedHosts(const Frontier& frontier) {
  HostOffsets offsets = AlignHosts(frontier);
  const auto islands = offsets.island.empty() ? 0 : *std::max_element(offsets.island.begin(), offsets.island.end()) + 1;
  if (islands < 2) return offsets;
  // By how much the clock of the second island is ahead of that of the first, as each transfer says.
  std::map<std::pair<int32_t, int32_t>, std::vector<int64_t>> ahead_ns;
  for (const auto& [direction, transfer] : NewestTransfers(frontier)) {
    if (transfer.sent.host < 0 || transfer.received.host < 0) continue;
    const auto from = static_cast<size_t>(transfer.sent.host);
    const auto to = static_cast<size_t>(transfer.received.host);
    if (offsets.island[from] == offsets.island[to]) continue;
    const int64_t gap_ns =
        (transfer.received.end_ns - offsets.offset_ns[to]) - (transfer.sent.end_ns - offsets.offset_ns[from]);
    ahead_ns[{offsets.island[from], offsets.island[to]}].push_back(gap_ns);
    ahead_ns[{offsets.island[to], offsets.island[from]}].push_back(-gap_ns);
  }
  std::vector<int64_t> shift_ns(static_cast<size_t>(islands), 0);
  std::vector<int32_t> joined(static_cast<size_t>(islands), -1);
  for (int32_t first = 0; first < islands; ++first) {
    if (joined[static_cast<size_t>(first)] >= 0) continue;
    joined[static_cast<size_t>(first)] = first;
    std::vector<int32_t> reached = {first};
    for (size_t next = 0; next < reached.size(); ++next) {
      const int32_t at = reached[next];
      for (auto gap = ahead_ns.lower_bound({at, 0}); gap != ahead_ns.end() && gap->first.first == at; ++gap) {
        const auto other = static_cast<size_t>(gap->first.second);
        if (joined[other] >= 0) continue;
        joined[other] = first;
        shift_ns[other] = shift_ns[static_cast<size_t>(at)] + UpperMedian(&gap->second);
        reached.push_back(gap->first.second);
      }
    }
  }
  for (size_t host = 0; host < offsets.island.size(); ++host) {
    const auto island = static_cast<size_t>(offsets.island[host]);
    offsets.offset_ns[host] += shift_ns[island];
    offsets.island[host] = joined[island];
  }
  return offsets;
}

}  // namespace lockstep
