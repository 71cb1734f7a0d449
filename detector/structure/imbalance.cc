#include "detector/structure/imbalance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/shares.h"
#include "detector/stats/order_statistics.h"
#include "detector/stats/robust.h"
#include "detector/structure/rotation.h"

namespace lockstep {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
// Own time of equal work varies by 1 to 2 % from step to step.
constexpr double kMinVariation = 0.05;
constexpr double kStallDeviations = kSureDeviations;  // of the usual, above the peers
// As many as a suspect needs (persistent_excess.h).
constexpr size_t kMinStalls = 4;
// Of the excess, that lies in one piece of work: the main part.
constexpr double kMostOfStall = kMainPart;

using RankList = std::vector<size_t>;

double OwnAt(const StepProfile& profile, size_t rank, size_t step) {
  return static_cast<double>(profile.own_seconds[rank * profile.steps + step]);
}

std::map<std::pair<int32_t, int32_t>, RankList> Peers(const StepProfile& profile) {
  std::map<std::pair<int32_t, int32_t>, RankList> peers;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    const PlaceInJob& place = profile.places[rank];
    peers[{place.stage, place.lane}].push_back(rank);
  }
  return peers;
}

std::vector<double> RowOf(const StepProfile& profile, const std::vector<float>& matrix, size_t rank) {
  const auto row = absl::MakeConstSpan(matrix).subspan(rank * profile.steps, profile.steps);
  return {row.begin(), row.end()};
}

}  // namespace

StepProfile WithoutSlowRanks(const StepProfile& profile) {
  const std::vector<float> beyond = ExcessBeyondPlace(profile);
  StepProfile cleaned = profile;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    std::vector<double> known;
    for (size_t step = 0; step < profile.steps; ++step) {
      const auto value = static_cast<double>(beyond[rank * profile.steps + step]);
      if (!std::isnan(value)) known.push_back(value);
    }
    const auto factor = static_cast<float>(std::max(1.0, known.empty() ? 1.0 : LowerMedianOrNan(std::move(known))));
    for (size_t step = 0; step < profile.steps; ++step) cleaned.own_seconds[rank * profile.steps + step] /= factor;
  }
  return cleaned;
}

namespace {

// Middle of the longest pieces of work of each rank over the steps; empty where they are not known.
std::vector<double> UsualLongest(const StepProfile& profile) {
  std::vector<double> usual;
  if (profile.longest_seconds.empty()) return usual;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    usual.push_back(LowerMedianOrNan(Known(RowOf(profile, profile.longest_seconds, rank))));
  }
  return usual;
}

// A stall is one long piece of work. Many pieces that are each a little longer are something else, and what lies beside
// a lost record is no piece that is known.
bool IsOnePiece(const StepProfile& profile, const std::vector<double>& usual_longest, size_t rank, size_t step,
                double beyond) {
  if (usual_longest.empty()) return profile.lost_share <= 0;
  const auto longest = static_cast<double>(profile.longest_seconds[rank * profile.steps + step]);
  return longest - usual_longest[rank] >= kMostOfStall * OwnAt(profile, rank, step) * (1 - 1 / beyond);
}

// Whose ranks take turns, and those of others do not: nothing goes round.
bool StayOnFewHosts(const StepProfile& profile, const std::vector<size_t>& ranks) {
  std::set<int32_t> hosts;
  for (const PlaceInJob& place : profile.places) hosts.insert(place.host);
  if (hosts.size() < 2) return false;
  std::vector<size_t> of_host;
  for (const size_t rank : ranks) of_host.push_back(static_cast<size_t>(profile.places[rank].host + 1));
  return RotationEntropy(std::move(of_host), hosts.size()) < kGoesRound;
}

}  // namespace

std::vector<StructuralFinding> FindRotatingStalls(const StepProfile& profile, double min_gain) {
  const StepProfile others = WithoutSlowRanks(profile);
  const std::vector<float> beyond = ExcessBeyondPlace(others);
  std::vector<double> usual;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    usual.push_back(RobustDeviation(Known(RowOf(profile, beyond, rank))));
  }
  const double deviation = LowerMedianOrNan(std::move(usual));
  if (std::isnan(deviation) || deviation >= kMinVariation) return {};  // everything varies: no stalls stand out
  const std::vector<double> usual_longest = UsualLongest(others);
  const auto limit = static_cast<float>(1 + std::max(kMinVariation, kStallDeviations * deviation));
  std::vector<float> counterfactual = others.own_seconds;
  std::vector<size_t> steps, worst_of;  // those with a stall, and its rank
  for (size_t step = 0; step < profile.steps; ++step) {
    size_t worst = profile.ranks();
    for (size_t rank = 0; rank < profile.ranks(); ++rank) {
      const size_t at = rank * profile.steps + step;
      if (std::isnan(beyond[at]) || beyond[at] < limit) continue;
      if (!IsOnePiece(others, usual_longest, rank, step, static_cast<double>(beyond[at]))) continue;
      counterfactual[at] /= beyond[at];
      if (worst == profile.ranks() || beyond[at] > beyond[worst * profile.steps + step]) worst = rank;
    }
    if (worst == profile.ranks()) continue;
    worst_of.push_back(worst);
    steps.push_back(step);
  }
  if (steps.size() < kMinStalls) return {};
  const double rotation = RotationEntropy(worst_of, profile.ranks());
  if (rotation < kGoesRound || StayOnFewHosts(profile, worst_of)) return {};
  const double gain = ModelGain(others, counterfactual);
  if (gain < min_gain) return {};
  return {{.verdict_class = VerdictClass::kHostSlow,
           .first_step = static_cast<int64_t>(steps.front()),
           .last_step = static_cast<int64_t>(steps.back()),
           .gain = gain,
           .steps_affected = static_cast<double>(steps.size()) / static_cast<double>(steps.back() - steps.front() + 1),
           .reason = RotatingStalls{.steps = steps.size(), .rotation = rotation}}};
}

std::vector<float> ExcessBeyondPlace(const StepProfile& profile) {
  const std::vector<float>& own = profile.unrouted_seconds.empty() ? profile.own_seconds : profile.unrouted_seconds;
  std::vector<float> beyond(own.size(), kUnknown);
  for (const auto& [key, ranks] : Peers(profile)) {
    for (size_t step = 0; step < profile.steps; ++step) {
      std::vector<double> known;
      for (const size_t rank : ranks) {
        const float seconds = own[rank * profile.steps + step];
        if (!std::isnan(seconds)) known.push_back(static_cast<double>(seconds));
      }
      const double middle = LowerMedianOrNan(std::move(known));
      if (std::isnan(middle) || middle <= 0) continue;
      for (const size_t rank : ranks) {
        const size_t at = rank * profile.steps + step;
        beyond[at] = static_cast<float>(static_cast<double>(own[at]) / middle);
      }
    }
  }
  return beyond;
}

}  // namespace lockstep
