#include "eval/baselines/baseline.h"

#include <algorithm>
#include <cstddef>

namespace lockstep {
namespace {

constexpr Baseline kBaselines[] = {
    {"least communication time", "NCCLX analyzer, arXiv 2510.20171", false, RankByLeastCommunication},
    {"last arriver", "NCCLX analyzer, arXiv 2510.20171", true, RankByLastArrivals},
    {"3-sigma", "Holmes, NSDI'25", true, RankByThreeSigma},
    {"random walk", "Holmes, NSDI'25", false, RankByRandomWalk},
    {"row/column/point 3/3/5", "C4, arXiv 2406.04594; DeepXTrace", true, RankByWaitMatrix},
    {"median ratio 0.75", "nvidia-resiliency-ext", true, RankByMedianRatio},
};

}  // namespace

absl::Span<const Baseline> AllBaselines() { return kBaselines; }

Ranking RankedByScore(const std::vector<double>& scores, const std::vector<bool>& accused) {
  Ranking ranking(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    ranking[i] = {static_cast<int32_t>(i), scores[i], accused.empty() ? false : accused[i]};
  }
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const RankedSuspect& a, const RankedSuspect& b) { return a.score > b.score; });
  return ranking;
}

}  // namespace lockstep
