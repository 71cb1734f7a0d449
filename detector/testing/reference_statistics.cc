#include "detector/testing/reference_statistics.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kMadToSigma = 1.4826;

double Spread(const std::vector<std::vector<double>>& excess_of_rank) {
  std::vector<double> deviations;
  for (const std::vector<double>& excess : excess_of_rank) {
    const double center = ReferenceMedian(excess);
    for (const double value : excess) deviations.push_back(std::abs(value - center));
  }
  return std::max(0.01, kMadToSigma * ReferenceMedian(deviations));
}

std::vector<std::vector<double>> Excess(const std::deque<BlockSummary>& blocks, size_t window) {
  std::vector<std::vector<double>> excess(blocks.back().relative_excess.size());
  for (size_t i = blocks.size() - window; i < blocks.size(); ++i) {
    for (size_t rank = 0; rank < excess.size(); ++rank) excess[rank].push_back(blocks[i].relative_excess[rank]);
  }
  return excess;
}

bool Convicts(const std::deque<BlockSummary>& blocks, const SlowRankOptions& options, size_t place, size_t window,
              ReferenceConviction* conviction) {
  std::vector<double> excess, own, step, alone, last;
  double named = 0, steps = 0, seconds = 0;
  for (size_t i = blocks.size() - window; i < blocks.size(); ++i) {
    const BlockSummary& block = blocks[i];
    excess.push_back(block.relative_excess[place]);
    own.push_back(block.own_seconds[place]);
    step.push_back(block.step_seconds);
    steps += block.steps_used;
    seconds += block.steps_used * block.step_seconds;
    alone.push_back(0);
    last.push_back(0);
    for (const BlockCulprit& culprit : block.culprits) {
      if (culprit.rank_slot != block.rank_slots[place]) continue;
      ++named;
      alone.back() = culprit.saved_alone_seconds;
      last.back() = culprit.saved_last_seconds;
    }
  }
  const double ranks = static_cast<double>(blocks.back().rank_slots.size());
  double given = 2 * std::log(8192 / ranks);
  if (window < 16) given = std::min(0.0, given);
  const double needed = options.min_significance * options.min_significance - given;
  const auto blocks_used = static_cast<double>(window);
  const double noise = std::max(Spread(Excess(blocks, window)), Spread(Excess(blocks, blocks.size())));
  conviction->window = window;
  conviction->own_seconds = ReferenceMedian(own);
  conviction->effect = ReferenceMedian(excess);
  conviction->share_of_blocks = named / blocks_used;
  conviction->significance = conviction->effect * std::sqrt(blocks_used) / (noise * 1.25 * 1.3);
  std::sort(excess.begin(), excess.end());
  const double weak = excess[excess.size() / 4];
  const double saved = std::max(ReferenceMedian(alone), ReferenceMedian(last));
  return steps >= options.min_steps && seconds >= options.min_span_seconds &&
         conviction->share_of_blocks >= options.min_persistence &&
         conviction->effect >= options.min_own_time_ratio - 1 && weak >= options.min_weak_share * conviction->effect &&
         std::pow(conviction->significance, 2) >= needed && conviction->significance > 0 &&
         saved >= options.min_step_cost * ReferenceMedian(step);
}

}  // namespace

double ReferenceMedian(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::map<int32_t, ReferenceConviction> ReferenceSlowRanks(const std::deque<BlockSummary>& blocks,
                                                          const SlowRankOptions& options) {
  std::map<int32_t, ReferenceConviction> convictions;
  for (size_t place = 0; place < blocks.back().rank_slots.size(); ++place) {
    const int32_t slot = blocks.back().rank_slots[place];
    const bool named = std::any_of(blocks.back().culprits.begin(), blocks.back().culprits.end(),
                                   [slot](const BlockCulprit& culprit) { return culprit.rank_slot == slot; });
    for (size_t window = 8; named && window <= blocks.size(); window += 2) {
      ReferenceConviction conviction;
      if (!Convicts(blocks, options, place, window, &conviction)) continue;
      convictions[slot] = conviction;
      break;
    }
  }
  return convictions;
}

}  // namespace lockstep
