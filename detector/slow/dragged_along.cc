#include "detector/slow/dragged_along.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/shares.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/own_time.h"
#include "detector/steps/step_finder.h"

namespace lockstep {
namespace {

// Budget of time.
constexpr size_t kMaxSampledSteps = 8;  // the sum over the calls of a step averages by itself
// Budget of time: the median of so many is known to a third of their spread.
constexpr size_t kMaxPeers = 16;
// More than half of the excess: the main cause.
constexpr double kMostOf = kMainPart;
constexpr int32_t kOnsetSteps = 2;  // lost records hide an onset for a step or two

bool IsWhole(const TraceAnalysis& analysis, int32_t rank, int32_t step) {
  const auto row = static_cast<size_t>(rank);
  return analysis.steps.Of(row, step).complete && analysis.profile.Complete(row, static_cast<size_t>(step)) &&
         !std::isnan(analysis.profile.Row(analysis.profile.own, row)[static_cast<size_t>(step)]);
}

// Of one step; negative = there is nobody to compare with.
double SureExcessIn(const TraceAnalysis& analysis, const Suspect& suspect, const std::set<int32_t>& suspected,
                    int32_t step) {
  const StepRange& range = analysis.steps.Of(static_cast<size_t>(suspect.rank), step);
  std::vector<std::vector<OwnInterval>> peers;
  for (const int32_t peer : analysis.roles.PeersOf(static_cast<size_t>(suspect.rank))) {
    const StepRange& of_peer = analysis.steps.Of(static_cast<size_t>(peer), step);
    if (peers.size() >= kMaxPeers || suspected.contains(peer) || !IsWhole(analysis, peer, step)) continue;
    // Peers make the same calls in the same order.
    if (of_peer.end - of_peer.begin != range.end - range.begin) continue;
    peers.push_back(LongestOwnTimes(*analysis.trace, analysis.roles, of_peer.begin, of_peer.end));
  }
  if (peers.empty()) return -1;
  // Neighbouring calls share the work between them in one way or another: so the stretch of calls with the largest sum.
  double sure = 0, stretch = 0;
  std::vector<double> longest;
  for (uint32_t call = 0; call < range.end - range.begin; ++call) {
    longest.clear();
    for (const std::vector<OwnInterval>& peer : peers) {
      if (peer[call].seconds >= 0) longest.push_back(static_cast<double>(peer[call].seconds));
    }
    const auto own = static_cast<double>(analysis.times.before[range.begin + call].seconds);
    if (longest.empty() || own < 0) continue;
    stretch = std::max(0.0, stretch + own - MedianInPlace(&longest));
    sure = std::max(sure, stretch);
  }
  return sure;
}

bool AreOfOneOnset(const Suspect& a, const Suspect& b) {
  return a.earliest_step() <= b.first_step + kOnsetSteps && b.earliest_step() <= a.first_step + kOnsetSteps;
}

// Of each suspect, by place: those that send to it or receive from it.
std::vector<std::vector<size_t>> Neighbours(const TraceAnalysis& analysis, const std::vector<Suspect>& suspects) {
  std::map<int32_t, size_t> place_of;
  for (size_t i = 0; i < suspects.size(); ++i) place_of.emplace(suspects[i].rank, i);
  std::vector<std::vector<size_t>> neighbours(suspects.size());
  for (const OperationChannel& channel : analysis.matched.channels) {
    if (channel.collective()) continue;
    const std::vector<int32_t>& members =
        analysis.trace->communicators[static_cast<size_t>(channel.communicator)].members;
    const auto place_at = [&](int32_t place) {
      return static_cast<size_t>(place) < members.size() ? place_of.find(members[static_cast<size_t>(place)])
                                                         : place_of.end();
    };
    const auto from = place_at(channel.source), to = place_at(channel.destination);
    if (from == place_of.end() || to == place_of.end()) continue;
    neighbours[from->second].push_back(to->second);
    neighbours[to->second].push_back(from->second);
  }
  return neighbours;
}

// Places of suspects of the same onset that a chain of such connects with the first.
std::vector<size_t> Connected(const std::vector<Suspect>& suspects, const std::vector<std::vector<size_t>>& neighbours,
                              size_t first) {
  std::vector<size_t> chain = {first};
  std::set<size_t> seen = {first};
  for (size_t i = 0; i < chain.size(); ++i) {
    for (const size_t next : neighbours[chain[i]]) {
      if (AreOfOneOnset(suspects[next], suspects[first]) && seen.insert(next).second) chain.push_back(next);
    }
  }
  return chain;
}

// Ranks that send to one another, directly or over others: by rank index, one of them that stands for all.
class Pipelines {
 public:
  explicit Pipelines(const TraceAnalysis& analysis) : analysis_(analysis), parent_(analysis.trace->ranks.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const OperationChannel& channel : analysis.matched.channels) {
      const int32_t from = EndOf(channel, channel.source), to = EndOf(channel, channel.destination);
      if (from >= 0 && to >= 0) parent_[Root(from)] = Root(to);
    }
  }

  // -1 = a collective, or ends that left no record.
  int64_t Of(const OperationChannel& channel) {
    const int32_t from = EndOf(channel, channel.source), to = EndOf(channel, channel.destination);
    const int32_t end = from >= 0 ? from : to;
    return end < 0 ? -1 : static_cast<int64_t>(Root(end));
  }
  int64_t Of(int32_t rank) { return static_cast<int64_t>(Root(rank)); }

 private:
  int32_t EndOf(const OperationChannel& channel, int32_t place) const {
    if (channel.collective() || place < 0) return -1;
    const std::vector<int32_t>& members =
        analysis_.trace->communicators[static_cast<size_t>(channel.communicator)].members;
    return static_cast<size_t>(place) < members.size() ? members[static_cast<size_t>(place)] : -1;
  }
  size_t Root(int32_t rank) {
    auto at = static_cast<size_t>(rank);
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }

  const TraceAnalysis& analysis_;
  std::vector<size_t> parent_;
};

// Places of suspects in whose pipeline a Send/Recv path became slow when they did.
std::vector<size_t> BesideSlowPaths(const TraceAnalysis& analysis, absl::Span<const SlowTransfers> transfers,
                                    const std::vector<Suspect>& suspects) {
  std::vector<size_t> places;
  if (transfers.empty() || suspects.empty()) return places;
  Pipelines pipelines(analysis);
  std::set<std::pair<int64_t, int32_t>> slow;  // pipeline, first step
  for (const SlowTransfers& together : transfers) {
    for (const SlowChannel& one : together.channels) {
      const int64_t pipeline = pipelines.Of(analysis.matched.channels[static_cast<size_t>(one.channel)]);
      if (pipeline >= 0) slow.emplace(pipeline, one.first_step);
    }
  }
  for (size_t place = 0; place < suspects.size(); ++place) {
    const Suspect& suspect = suspects[place];
    const auto first = slow.lower_bound({pipelines.Of(suspect.rank), suspect.earliest_step() - kOnsetSteps});
    const bool beside = first != slow.end() && first->first == pipelines.Of(suspect.rank) &&
                        first->second <= suspect.first_step + kOnsetSteps;
    if (beside) places.push_back(place);
  }
  return places;
}

}  // namespace

std::optional<double> SureExcess(const TraceAnalysis& analysis, const Suspect& suspect,
                                 const std::vector<Suspect>& suspects) {
  std::set<int32_t> suspected;
  for (const Suspect& other : suspects) suspected.insert(other.rank);
  std::vector<double> sure;
  for (int32_t step = suspect.first_step; step <= suspect.last_step && sure.size() < kMaxSampledSteps; ++step) {
    if (!IsWhole(analysis, suspect.rank, step)) continue;
    const double seconds = SureExcessIn(analysis, suspect, suspected, step);
    if (seconds >= 0) sure.push_back(seconds);
  }
  if (sure.empty()) return std::nullopt;
  return MedianInPlace(&sure);
}

void DropDraggedAlong(const TraceAnalysis& analysis, absl::Span<const SlowTransfers> transfers,
                      std::vector<Suspect>* suspects) {
  const std::vector<std::vector<size_t>> neighbours = Neighbours(analysis, *suspects);
  const auto is_sure = [&](size_t place) -> std::optional<bool> {
    const std::optional<double> sure = SureExcess(analysis, (*suspects)[place], *suspects);
    if (!sure.has_value()) return std::nullopt;
    return *sure >= kMostOf * (*suspects)[place].excess_seconds;
  };
  std::vector<char> dragged(suspects->size(), 0);
  for (const size_t place : BesideSlowPaths(analysis, transfers, *suspects)) {
    if (!is_sure(place).value_or(true)) dragged[place] = 1;
  }
  for (size_t first = 0; first < suspects->size(); ++first) {
    if (dragged[first] != 0 || neighbours[first].empty() || (*suspects)[first].in_some_steps()) continue;
    if (!is_sure(first).value_or(false)) continue;
    for (const size_t other : Connected(*suspects, neighbours, first)) {
      if (other > first && !is_sure(other).value_or(true)) dragged[other] = 1;
    }
  }
  size_t place = 0;
  std::erase_if(*suspects, [&](const Suspect&) { return dragged[place++] != 0; });
}

}  // namespace lockstep
