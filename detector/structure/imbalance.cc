#include "detector/structure/imbalance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "detector/structure/robust.h"

namespace lockstep {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kMinSequenceSteps = 10;
// Own time of equal work varies by 1 to 2 % from step to step, of batches of different length by 20 to 40 %.
constexpr double kMinVariation = 0.05;
// Variation that ranks share which have nothing but their data in common needs to be less: averages over micro-batches.
constexpr double kMinSharedVariation = 0.025;
constexpr double kMinFellowCorrelation = 0.5;
constexpr double kMinExpertExcess = 0.05;
// An index is hot when this share of the expert groups agree.
constexpr double kGroupsAgree = 0.8;
// Groups of independent noise give about 1, and with tens of cells hardly ever 2.
constexpr double kMinAgreement = 3;
// A stall is so many deviations of the usual above the peers; of several, most hit other ranks than the last ones.
constexpr double kStallDeviations = 6;
constexpr size_t kMinStalls = 4;
constexpr double kMostOnOneRank = 0.4;

using RankList = std::vector<size_t>;

double OwnAt(const StepProfile& profile, size_t rank, size_t step) {
  return static_cast<double>(profile.own_seconds[rank * profile.steps + step]);
}

// Middle own time of each rank over the steps.
std::vector<double> TypicalOwn(const StepProfile& profile) {
  std::vector<double> typical(profile.ranks(), std::nan(""));
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    std::vector<double> known;
    for (const float own : profile.OwnOf(rank)) {
      if (!std::isnan(own)) known.push_back(static_cast<double>(own));
    }
    typical[rank] = Median(std::move(known));
  }
  return typical;
}

// The profile without what single ranks have beyond their place all the time: what two causes cost may hide behind one
// another, and a slow machine must not hide a long stage.
StepProfile WithoutSlowRanks(const StepProfile& profile) {
  const std::vector<float> beyond = ExcessBeyondPlace(profile);
  StepProfile cleaned = profile;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    std::vector<double> known;
    for (size_t step = 0; step < profile.steps; ++step) {
      const auto value = static_cast<double>(beyond[rank * profile.steps + step]);
      if (!std::isnan(value)) known.push_back(value);
    }
    const auto factor = static_cast<float>(std::max(1.0, known.empty() ? 1.0 : Median(std::move(known))));
    for (size_t step = 0; step < profile.steps; ++step) cleaned.own_seconds[rank * profile.steps + step] /= factor;
  }
  return cleaned;
}

std::map<std::pair<int32_t, int32_t>, RankList> Peers(const StepProfile& profile) {
  std::map<std::pair<int32_t, int32_t>, RankList> peers;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    const PlaceInJob& place = profile.places[rank];
    peers[{place.stage, place.lane}].push_back(rank);
  }
  return peers;
}

// Own time over the middle of the peers in the same step, minus 1; layout of own_seconds.
std::vector<float> Excess(const StepProfile& profile) {
  std::vector<float> excess(profile.own_seconds.size(), kUnknown);
  for (const auto& [key, ranks] : Peers(profile)) {
    for (size_t step = 0; step < profile.steps; ++step) {
      std::vector<double> known;
      for (const size_t rank : ranks) {
        if (!std::isnan(OwnAt(profile, rank, step))) known.push_back(OwnAt(profile, rank, step));
      }
      const double middle = Median(std::move(known));
      if (std::isnan(middle) || middle <= 0) continue;
      for (const size_t rank : ranks) {
        excess[rank * profile.steps + step] = static_cast<float>(OwnAt(profile, rank, step) / middle - 1);
      }
    }
  }
  return excess;
}

std::vector<double> RowOf(const StepProfile& profile, const std::vector<float>& matrix, size_t rank) {
  const auto row = absl::MakeConstSpan(matrix).subspan(rank * profile.steps, profile.steps);
  return {row.begin(), row.end()};
}

std::vector<double> Known(const std::vector<double>& values) {
  std::vector<double> known;
  for (const double value : values) {
    if (!std::isnan(value)) known.push_back(value);
  }
  return known;
}

StructuralFinding Throughout(const StepProfile& profile, VerdictClass verdict_class, double gain, std::string text) {
  return {.verdict_class = verdict_class,
          .first_step = 0,
          .last_step = static_cast<int64_t>(profile.steps) - 1,
          .gain = gain,
          .text = std::move(text)};
}

// How alike the excess of ranks that share the data is: one pair of each replica, in different stages or lanes. NaN
// when no replica has two such ranks.
double FellowCorrelation(const StepProfile& profile, const std::vector<float>& excess) {
  std::map<int32_t, std::pair<size_t, size_t>> pairs;  // by replica; second = the first rank again until one is found
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    const auto [it, fresh] = pairs.try_emplace(profile.places[rank].replica, rank, rank);
    const PlaceInJob& first = profile.places[it->second.first];
    const PlaceInJob& here = profile.places[rank];
    if (!fresh && it->second.second == it->second.first && (here.stage != first.stage || here.lane != first.lane)) {
      it->second.second = rank;
    }
  }
  std::vector<double> correlations;
  for (const auto& [replica, pair] : pairs) {
    if (pair.first == pair.second) continue;
    const double value = Correlation(RowOf(profile, excess, pair.first), RowOf(profile, excess, pair.second));
    if (!std::isnan(value)) correlations.push_back(value);
  }
  return Median(std::move(correlations));
}

size_t Stages(const StepProfile& profile) {
  std::set<int32_t> stages;
  for (const PlaceInJob& place : profile.places) stages.insert(place.stage);
  return stages.size();
}

}  // namespace

std::vector<StructuralFinding> FindStageImbalance(const StepProfile& profile, double min_gain) {
  const std::vector<double> typical = TypicalOwn(profile);
  // The quickest replica of a stage bounds what the stage itself costs: one slow machine does not move it.
  std::map<int32_t, std::map<int32_t, double>> slowest_lane;  // stage, replica
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    if (std::isnan(typical[rank])) continue;
    const PlaceInJob& place = profile.places[rank];
    double& slowest = slowest_lane[place.stage][place.replica];
    slowest = std::max(slowest, typical[rank]);
  }
  if (slowest_lane.size() < 2) return {};
  std::map<int32_t, double> of_stage;
  std::vector<double> all;
  for (const auto& [stage, replicas] : slowest_lane) {
    if (replicas.size() < 2) return {};
    std::vector<double> values;
    for (const auto& [replica, seconds] : replicas) values.push_back(seconds);
    of_stage[stage] = Quantile(std::move(values), 0.25);
    all.push_back(of_stage[stage]);
  }
  const double usual = Median(std::move(all));
  const auto longest = std::max_element(of_stage.begin(), of_stage.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  if (usual <= 0) return {};
  const StepProfile others = WithoutSlowRanks(profile);
  std::vector<float> healed = others.own_seconds;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    const auto stage = of_stage.find(profile.places[rank].stage);
    if (stage == of_stage.end()) continue;  // nothing is known of any of its ranks
    const double factor = std::min(1.0, usual / stage->second);
    for (size_t step = 0; step < profile.steps; ++step) {
      healed[rank * profile.steps + step] *= static_cast<float>(factor);
    }
  }
  const double gain = ModelGain(others, healed);
  if (gain < min_gain) return {};
  return {Throughout(
      profile, VerdictClass::kStageImbalance, gain,
      absl::StrFormat("Pipeline stage %d works %.2f times as long on its own as the middle stage, in every one of its "
                      "%d replicas: it has more to do; no machine is slow.",
                      longest->first, longest->second / usual, slowest_lane.at(longest->first).size()))};
}

std::vector<StructuralFinding> FindSequenceImbalance(const StepProfile& profile, double min_gain) {
  if (profile.steps < kMinSequenceSteps) return {};
  std::vector<float> excess = ExcessBeyondPlace(profile);
  for (float& value : excess) value -= 1;
  std::vector<double> variation;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    const std::vector<double> known = Known(RowOf(profile, excess, rank));
    if (known.size() >= kMinSequenceSteps) variation.push_back(RobustDeviation(known));
  }
  const double typical = Median(std::move(variation));
  const double alike = FellowCorrelation(profile, excess);
  if (std::isnan(typical) || typical < (std::isnan(alike) ? kMinVariation : kMinSharedVariation)) return {};
  const bool few = profile.ranks() < 4 * Stages(profile);
  if (std::isnan(alike) ? few : alike < kMinFellowCorrelation) return {};
  const StepProfile others = WithoutSlowRanks(profile);
  std::vector<float> healed = others.own_seconds;
  for (const auto& [key, ranks] : Peers(others)) {
    for (size_t step = 0; step < profile.steps; ++step) {
      std::vector<double> known;
      for (const size_t rank : ranks) {
        if (!std::isnan(OwnAt(others, rank, step))) known.push_back(OwnAt(others, rank, step));
      }
      const float middle = static_cast<float>(Median(std::move(known)));
      for (const size_t rank : ranks) healed[rank * profile.steps + step] = middle;
    }
  }
  const double gain = ModelGain(others, healed);
  if (gain < min_gain) return {};
  return {Throughout(
      profile, VerdictClass::kSequenceImbalance, gain,
      absl::StrFormat("Own time varies by %.0f %% from step to step on the typical rank, each time most on others%s: "
                      "batches differ in length.",
                      100 * typical,
                      std::isnan(alike)
                          ? ""
                          : absl::StrFormat(", and alike on ranks that share the data (correlation %.2f)", alike)))};
}

namespace {

// What every expert index of a stage has in excess in every step, in all expert groups at once.
struct ExpertFactors {
  std::map<std::pair<int32_t, int32_t>, std::vector<float>> factor;  // (stage, expert): by step, 1 = as the others
  double hottest = 0;                                                // typical excess of the hottest index of a step
  size_t groups = 0;
  double agreement = 0;  // variance of an index over that between groups of one index; about 1 by chance
};

// Excess of each replica (its lanes share data and host, and count once) that holds an expert index.
using ReplicaRows = std::map<int32_t, std::vector<double>>;

ReplicaRows RowsOf(const StepProfile& profile, const std::vector<float>& excess, const RankList& ranks) {
  std::map<int32_t, RankList> lanes;
  for (const size_t rank : ranks) lanes[profile.places[rank].replica].push_back(rank);
  ReplicaRows rows;
  for (const auto& [replica, members] : lanes) {
    std::vector<double>& row = rows[replica];
    for (size_t step = 0; step < profile.steps; ++step) {
      std::vector<double> values;
      for (const size_t rank : members) values.push_back(static_cast<double>(excess[rank * profile.steps + step]));
      row.push_back(Median(Known(values)));
    }
  }
  return rows;
}

// One-way analysis of variance over all indices and steps, groups being the repetitions.
class Agreement {
 public:
  void Add(const std::vector<double>& groups) {
    if (groups.size() < 2) return;
    double mean = 0;
    for (const double value : groups) mean += value / static_cast<double>(groups.size());
    for (const double value : groups) within_ += (value - mean) * (value - mean);
    within_freedom_ += static_cast<double>(groups.size()) - 1;
    means_.push_back(mean);
    repetitions_ += static_cast<double>(groups.size());
  }

  double F() const {
    if (means_.size() < 2 || within_ <= 0) return 0;
    double mean = 0;
    for (const double value : means_) mean += value / static_cast<double>(means_.size());
    double between = 0;
    for (const double value : means_) between += (value - mean) * (value - mean);
    const auto cells = static_cast<double>(means_.size());
    return between / (cells - 1) * (repetitions_ / cells) / (within_ / within_freedom_);
  }

 private:
  std::vector<double> means_;
  double within_ = 0;
  double within_freedom_ = 0;
  double repetitions_ = 0;
};

ExpertFactors FactorsOf(const StepProfile& profile) {
  ExpertFactors factors;
  const std::vector<float> excess = Excess(profile);
  std::map<std::pair<int32_t, int32_t>, RankList> holders;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    holders[{profile.places[rank].stage, profile.places[rank].expert}].push_back(rank);
  }
  Agreement agreement;
  for (const auto& [key, ranks] : holders) {
    const ReplicaRows rows = RowsOf(profile, excess, ranks);
    std::vector<float>& factor = factors.factor[key];
    factor.assign(profile.steps, 1.0F);
    if (rows.size() < 2) continue;
    factors.groups = std::max(factors.groups, rows.size());
    for (size_t step = 0; step < profile.steps; ++step) {
      std::vector<double> values;
      for (const auto& [replica, row] : rows) values.push_back(row[step]);
      values = Known(values);
      agreement.Add(values);
      // Low enough that nearly all groups agree.
      const double shared = Quantile(std::move(values), 1 - kGroupsAgree);
      if (!std::isnan(shared) && shared > kMinExpertExcess) factor[step] = static_cast<float>(1 + shared);
    }
  }
  factors.agreement = agreement.F();
  if (factors.agreement < kMinAgreement) {
    for (auto& [key, factor] : factors.factor) factor.assign(profile.steps, 1.0F);
  }
  std::vector<double> hottest(profile.steps, 0);
  for (const auto& [key, factor] : factors.factor) {
    for (size_t step = 0; step < profile.steps; ++step) {
      hottest[step] = std::max(hottest[step], static_cast<double>(factor[step]) - 1);
    }
  }
  factors.hottest = Median(std::move(hottest));
  return factors;
}

}  // namespace

std::vector<StructuralFinding> FindExpertImbalance(const StepProfile& profile, double min_gain) {
  const bool has_experts = std::any_of(profile.places.begin(), profile.places.end(),
                                       [](const PlaceInJob& place) { return place.expert != 0; });
  if (!has_experts || profile.steps == 0) return {};
  const ExpertFactors factors = FactorsOf(profile);
  if (factors.groups < 2 || factors.hottest < kMinExpertExcess) return {};
  std::vector<float> healed = profile.own_seconds;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    const auto& factor = factors.factor.at({profile.places[rank].stage, profile.places[rank].expert});
    for (size_t step = 0; step < profile.steps; ++step) healed[rank * profile.steps + step] /= factor[step];
  }
  const double gain = ModelGain(profile, healed);
  if (gain < min_gain) return {};
  return {Throughout(profile, VerdictClass::kExpertImbalance, gain,
                     absl::StrFormat("In a typical step the ranks of one expert index work %.0f %% longer than the "
                                     "others, in at least 80 %% of the %d expert groups at once: hot experts.",
                                     100 * factors.hottest, factors.groups))};
}

std::vector<StructuralFinding> FindRotatingStalls(const StepProfile& profile, double min_gain) {
  if (profile.lost_share > 0) return {};  // what lies beside a lost record looks like a stall
  const StepProfile others = WithoutSlowRanks(profile);
  const std::vector<float> beyond = ExcessBeyondPlace(others);
  std::vector<double> usual;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    usual.push_back(RobustDeviation(Known(RowOf(profile, beyond, rank))));
  }
  const double deviation = Median(std::move(usual));
  if (std::isnan(deviation) || deviation >= kMinVariation) return {};  // everything varies: no stalls stand out
  const auto limit = static_cast<float>(1 + std::max(kMinVariation, kStallDeviations * deviation));
  std::vector<float> healed = others.own_seconds;
  std::map<size_t, size_t> stalls_of;  // by rank: steps of which it was the worst
  std::vector<size_t> steps;
  for (size_t step = 0; step < profile.steps; ++step) {
    size_t worst = profile.ranks();
    for (size_t rank = 0; rank < profile.ranks(); ++rank) {
      const size_t at = rank * profile.steps + step;
      if (std::isnan(beyond[at]) || beyond[at] < limit) continue;
      healed[at] /= beyond[at];
      if (worst == profile.ranks() || beyond[at] > beyond[worst * profile.steps + step]) worst = rank;
    }
    if (worst == profile.ranks()) continue;
    ++stalls_of[worst];
    steps.push_back(step);
  }
  if (steps.size() < kMinStalls) return {};
  size_t most = 0;
  for (const auto& [rank, count] : stalls_of) most = std::max(most, count);
  if (static_cast<double>(most) > kMostOnOneRank * static_cast<double>(steps.size())) return {};
  const double gain = ModelGain(others, healed);
  if (gain < min_gain) return {};
  return {
      {.verdict_class = VerdictClass::kHostSlow,
       .first_step = static_cast<int64_t>(steps.front()),
       .last_step = static_cast<int64_t>(steps.back()),
       .gain = gain,
       .steps_affected = static_cast<double>(steps.size()) / static_cast<double>(steps.back() - steps.front() + 1),
       .text = absl::StrFormat("In %d steps some rank stalled, the worst of them %d different ranks: stalls that go "
                               "round (garbage collection, an accidental synchronisation) are the program's.",
                               steps.size(), stalls_of.size())}};
}

std::vector<float> ExcessBeyondPlace(const StepProfile& profile) {
  const bool has_experts = std::any_of(profile.places.begin(), profile.places.end(),
                                       [](const PlaceInJob& place) { return place.expert != 0; });
  std::vector<float> beyond = Excess(profile);
  for (float& value : beyond) value += 1;
  if (!has_experts) return beyond;
  const ExpertFactors factors = FactorsOf(profile);
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    const auto& factor = factors.factor.at({profile.places[rank].stage, profile.places[rank].expert});
    for (size_t step = 0; step < profile.steps; ++step) beyond[rank * profile.steps + step] /= factor[step];
  }
  return beyond;
}

}  // namespace lockstep
