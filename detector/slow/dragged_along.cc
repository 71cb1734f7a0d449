#include "detector/slow/dragged_along.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
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

void DropDraggedAlong(const TraceAnalysis& analysis, std::vector<Suspect>* suspects) {
  if (suspects->size() < 2) return;
  const std::vector<std::vector<size_t>> neighbours = Neighbours(analysis, *suspects);
  const auto is_sure = [&](size_t place) -> std::optional<bool> {
    const std::optional<double> sure = SureExcess(analysis, (*suspects)[place], *suspects);
    if (!sure.has_value()) return std::nullopt;
    return *sure >= kMostOf * (*suspects)[place].excess_seconds;
  };
  std::vector<char> dragged(suspects->size(), 0);
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
