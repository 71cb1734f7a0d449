#include "detector/structure/expert_load.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/shares.h"
#include "detector/stats/robust.h"

namespace lockstep {
namespace {

// Well above the 1 to 2 % by which own time of equal work varies.
constexpr double kMinExpertExcess = 0.05;
// An index is hot when this share of the expert groups (of the steps, where there is one group) agree.
constexpr double kMostAgree = kNearlyAll;
// Groups of independent noise give about 1, and with tens of cells hardly ever 2.
constexpr double kMinAgreement = 3;

// Of each rank and step: load over the middle one of its stage, minus 1. NaN = unknown.
std::vector<float> LoadExcess(const StepProfile& profile) {
  std::vector<float> load(profile.own_seconds.size(), std::numeric_limits<float>::quiet_NaN());
  std::map<int32_t, std::vector<size_t>> stages;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) stages[profile.places[rank].stage].push_back(rank);
  std::vector<double> known;
  for (const auto& [stage, ranks] : stages) {
    for (size_t step = 0; step < profile.steps; ++step) {
      known.clear();
      for (const size_t rank : ranks) {
        const size_t at = rank * profile.steps + step;
        load[at] = profile.own_seconds[at] / profile.unrouted_seconds[at];
        if (std::isfinite(load[at])) known.push_back(static_cast<double>(load[at]));
      }
      const double middle = Median(known);
      for (const size_t rank : ranks) {
        float& value = load[rank * profile.steps + step];
        value = static_cast<float>(static_cast<double>(value) / middle - 1);
      }
    }
  }
  return load;
}

// One-way analysis of variance; what is added at once belongs to one treatment.
class Agreement {
 public:
  void Add(const std::vector<double>& repetitions) {
    if (repetitions.size() < 2) return;
    double mean = 0;
    for (const double value : repetitions) mean += value / static_cast<double>(repetitions.size());
    for (const double value : repetitions) within_ += (value - mean) * (value - mean);
    within_freedom_ += static_cast<double>(repetitions.size()) - 1;
    means_.push_back(mean);
    repetitions_ += static_cast<double>(repetitions.size());
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

// Load of each replica that holds an expert index; its lanes share tokens and host, and count once.
std::vector<std::vector<double>> RowsOf(const StepProfile& profile, const std::vector<float>& load,
                                        const std::vector<size_t>& ranks) {
  std::map<int32_t, std::vector<size_t>> lanes;
  for (const size_t rank : ranks) lanes[profile.places[rank].replica].push_back(rank);
  std::vector<std::vector<double>> rows;
  std::vector<double> values;
  for (const auto& [replica, members] : lanes) {
    std::vector<double>& row = rows.emplace_back();
    for (size_t step = 0; step < profile.steps; ++step) {
      values.clear();
      for (const size_t rank : members) values.push_back(static_cast<double>(load[rank * profile.steps + step]));
      row.push_back(Median(Known(values)));
    }
  }
  return rows;
}

// So much that nearly all agree; 0 where that is not enough to be called hot.
double SharedBy(const std::vector<double>& values) {
  const double shared = Quantile(values, 1 - kMostAgree);
  return !std::isnan(shared) && shared > kMinExpertExcess ? shared : 0;
}

// The factors of one index, whose rows are given.
std::vector<float> FactorsOf(const std::vector<std::vector<double>>& rows, size_t steps, Agreement* agreement) {
  std::vector<float> factor(steps, 1.0F);
  if (rows.size() == 1) {
    const std::vector<double> known = Known(rows.front());
    agreement->Add(known);
    std::fill(factor.begin(), factor.end(), static_cast<float>(1 + SharedBy(known)));
    return factor;
  }
  std::vector<double> values;
  for (size_t step = 0; step < steps; ++step) {
    values.clear();
    for (const std::vector<double>& row : rows) values.push_back(row[step]);
    const std::vector<double> known = Known(values);
    agreement->Add(known);
    factor[step] = static_cast<float>(1 + SharedBy(known));
  }
  return factor;
}

}  // namespace

ExpertLoad MeasureExpertLoad(const StepProfile& profile) {
  ExpertLoad result;
  if (profile.unrouted_seconds.empty() || profile.steps == 0) return result;
  const std::vector<float> load = LoadExcess(profile);
  std::map<std::pair<int32_t, int32_t>, std::vector<size_t>> holders;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    holders[{profile.places[rank].stage, profile.places[rank].expert}].push_back(rank);
  }
  Agreement agreement;
  for (const auto& [place, ranks] : holders) {
    const std::vector<std::vector<double>> rows = RowsOf(profile, load, ranks);
    result.groups = std::max(result.groups, rows.size());
    result.factor[place] = FactorsOf(rows, profile.steps, &agreement);
  }
  result.agreement = agreement.F();
  std::vector<double> hottest(profile.steps, 0);
  for (auto& [place, factor] : result.factor) {
    if (result.agreement < kMinAgreement) factor.assign(profile.steps, 1.0F);
    for (size_t step = 0; step < profile.steps; ++step) {
      hottest[step] = std::max(hottest[step], static_cast<double>(factor[step]) - 1);
    }
  }
  result.hottest = Median(std::move(hottest));
  return result;
}

std::vector<StructuralFinding> FindExpertImbalance(const StepProfile& profile, const GainOfEvenWork& gain,
                                                   double min_gain) {
  const ExpertLoad load = MeasureExpertLoad(profile);
  if (load.factor.empty() || load.hottest < kMinExpertExcess) return {};
  double share = gain ? gain(UnevenWork::kExperts) : -1;
  if (share < 0) {
    std::vector<float> counterfactual = profile.own_seconds;
    for (size_t rank = 0; rank < profile.ranks(); ++rank) {
      const auto& factor = load.factor.at({profile.places[rank].stage, profile.places[rank].expert});
      for (size_t step = 0; step < profile.steps; ++step) counterfactual[rank * profile.steps + step] /= factor[step];
    }
    share = ModelGain(profile, counterfactual);
  }
  if (share < min_gain) return {};
  return {Throughout(VerdictClass::kExpertImbalance, profile.steps, share,
                     HotExpert{.excess = load.hottest, .groups = load.groups})};
}

}  // namespace lockstep
