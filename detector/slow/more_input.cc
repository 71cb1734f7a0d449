#include "detector/slow/more_input.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/stats/even_places.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

// Peers that are looked at, evenly spread. Budget of time; a median of so many is known to a few per cent of its
// spread.
constexpr size_t kMostPeers = 32;
// Fewer have no usual size.
constexpr size_t kLeastPeers = 2;
// Deviations of the peers' sizes beyond which one is larger: one in 700 of a normal lies there. It clears a machine,
// and so needs less than an accusation.
constexpr double kLargerDeviations = 3;
// Of sizes, that nobody would call more work.
constexpr double kLeastMore = 0.03;

// Kinds of calls that stand for each other on peers.
using CallKey = std::pair<int32_t, OperationKind>;  // family

struct Sum {
  double bytes = 0;
  size_t calls = 0;
};

class Sizes {
 public:
  explicit Sizes(const TraceAnalysis& analysis) : analysis_(analysis) {}

  // Bytes per call in the mean, of each kind of calls since a step.
  std::map<CallKey, double> Of(size_t rank, int32_t first_step) const {
    std::map<CallKey, Sum> sums;
    for (int32_t step = std::max(first_step, 0); step < analysis_.steps.steps; ++step) {
      const StepRange& range = analysis_.steps.Of(rank, step);
      for (uint32_t i = range.begin; i < range.end; ++i) Add(analysis_.trace->operations[i], &sums);
    }
    std::map<CallKey, double> means;
    for (const auto& [key, sum] : sums) means[key] = sum.bytes / static_cast<double>(sum.calls);
    return means;
  }

 private:
  void Add(const TraceOperation& operation, std::map<CallKey, Sum>* sums) const {
    if (operation.bytes == 0 || operation.communicator < 0) return;
    const int32_t family = analysis_.roles.communicators[static_cast<size_t>(operation.communicator)].family;
    Sum& sum = (*sums)[{family, operation.kind}];
    sum.bytes += static_cast<double>(operation.bytes);
    ++sum.calls;
  }

  const TraceAnalysis& analysis_;
};

std::vector<int32_t> PeersBeside(const TraceAnalysis& analysis, const SlowCause& cause) {
  std::set<int32_t> ranks;
  for (const Suspect& suspect : cause.suspects) ranks.insert(suspect.rank);
  std::vector<int32_t> others;
  for (const int32_t peer : analysis.PeersByWaitingOf(static_cast<size_t>(cause.suspects.front().rank))) {
    if (!ranks.contains(peer)) others.push_back(peer);
  }
  std::vector<int32_t> sample;
  for (const size_t place : EvenPlaces(others.size(), kMostPeers)) sample.push_back(others[place]);
  return sample;
}

}  // namespace

std::optional<MoreInput> FindMoreInput(const TraceAnalysis& analysis, const SlowCause& cause) {
  const Suspect& strongest = cause.suspects.front();
  const double usual_work = strongest.own_seconds - strongest.excess_seconds;
  const std::vector<int32_t> peers = PeersBeside(analysis, cause);
  if (usual_work <= 0 || peers.size() < kLeastPeers) return std::nullopt;
  const double longer = strongest.excess_seconds / usual_work;
  const Sizes sizes(analysis);
  std::map<CallKey, std::vector<double>> of_cause, of_peers;
  for (const Suspect& suspect : cause.suspects) {
    for (const auto& [key, mean] : sizes.Of(static_cast<size_t>(suspect.rank), strongest.first_step)) {
      of_cause[key].push_back(mean);
    }
  }
  for (const int32_t peer : peers) {
    for (const auto& [key, mean] : sizes.Of(static_cast<size_t>(peer), strongest.first_step)) {
      of_peers[key].push_back(mean);
    }
  }
  std::optional<MoreInput> found;
  double most = 0;
  for (auto& [key, means] : of_cause) {
    std::vector<double>& usual = of_peers[key];
    if (2 * usual.size() < peers.size() || usual.size() < kLeastPeers) continue;
    const size_t compared = usual.size();
    const double own = MedianInPlace(&means), middle = MedianInPlace(&usual);
    const double spread = SigmaInPlace(&usual, middle) / middle;
    const double more = own / middle - 1;
    if (more <= most || more < std::max({kLeastMore, kLargerDeviations * spread, kMainPart * longer})) continue;
    most = more;
    found = MoreInput{.kind = key.second, .bytes = own, .peer_bytes = middle, .peers = compared};
  }
  return found;
}

}  // namespace lockstep
