#include "detector/slow/shared_batch.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lockstep {
namespace {

constexpr int32_t kSeveral = -1;  // a host on which replicas meet

}  // namespace

std::vector<SharedBatch> FindSharedBatches(const Trace& trace, absl::Span<const PlaceInJob> places,
                                           const std::vector<SlowCause>& causes) {
  std::map<int32_t, int32_t> replica_of_host;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const auto [host, fresh] = replica_of_host.try_emplace(trace.ranks[rank].host, places[rank].replica);
    if (!fresh && host->second != places[rank].replica) host->second = kSeveral;
  }
  std::map<int32_t, size_t> hosts_of_replica;
  for (const auto& [host, replica] : replica_of_host) ++hosts_of_replica[replica];
  std::map<int32_t, std::vector<size_t>> causes_of_replica;
  for (size_t i = 0; i < causes.size(); ++i) {
    if (!causes[i].whole_host) continue;
    const int32_t host = trace.ranks[static_cast<size_t>(causes[i].suspects.front().rank)].host;
    causes_of_replica[replica_of_host[host]].push_back(i);
  }
  std::vector<SharedBatch> batches;
  for (auto& [replica, slow] : causes_of_replica) {
    const bool all = slow.size() == hosts_of_replica[replica] && slow.size() >= kMinBatchHosts;
    if (replica == kSeveral || hosts_of_replica.size() < 2 || !all) continue;
    const SlowCause& first = causes[slow.front()];
    if (std::all_of(slow.begin(), slow.end(), [&](size_t i) { return AreOfOneEvent(first, causes[i]); })) {
      batches.push_back({replica, std::move(slow)});
    }
  }
  return batches;
}

}  // namespace lockstep
