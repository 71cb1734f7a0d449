#include "detector/collectives/slow_rank.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep {
namespace {

constexpr size_t kShortWindow = 8;  // blocks
constexpr size_t kWindowStride = 2;
// Standard error of a median is 1.25 sigma / sqrt(n); blocks next to each other are not quite independent.
constexpr double kErrorOfMedian = 1.25 * 1.3;
constexpr double kMadToSigma = 1.4826;
constexpr double kNoiseFloor = 0.01;   // GPUs of one model differ by this much from block to block
constexpr double kHoldShare = 0.5;     // of effect and persistence that keeps an accusation alive
constexpr size_t kMaxNoiseRanks = 64;  // the noise is estimated from this many ranks

double Median(std::vector<double>* values) {
  if (values->empty()) return 0;
  const auto middle = values->begin() + static_cast<int64_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  if (values->size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values->begin(), middle)) / 2;
}

const BlockCulprit* Named(const BlockSummary& block, int32_t rank_slot) {
  for (const BlockCulprit& culprit : block.culprits) {
    if (culprit.rank_slot == rank_slot) return &culprit;
  }
  return nullptr;
}

}  // namespace

double RequiredSignificance(double min_significance, size_t ranks, size_t window) {
  const double fewer = 2 * std::log(static_cast<double>(ranks) / kSignificanceRanks);
  const double limit = std::sqrt(std::max(0.0, min_significance * min_significance + fewer));
  return window < kManyBlocks ? std::max(limit, min_significance) : limit;
}

void SlowRankFinder::Add(BlockSummary block) {
  if (!blocks_.empty() && blocks_.back().rank_slots != block.rank_slots) Clear();
  blocks_.push_back(std::move(block));
  while (blocks_.size() > static_cast<size_t>(options_.window_blocks)) blocks_.pop_front();
}

void SlowRankFinder::Clear() {
  blocks_.clear();
  held_.clear();
}

// Spread of the relative excess from block to block, about each rank's own median: 1 sigma.
double SlowRankFinder::Noise(size_t window) const {
  const size_t participants = blocks_.back().relative_excess.size();
  const size_t stride = std::max<size_t>(1, participants / kMaxNoiseRanks);
  std::vector<double> deviations, values;
  for (size_t rank = 0; rank < participants; rank += stride) {
    values.clear();
    for (size_t i = blocks_.size() - window; i < blocks_.size(); ++i) {
      values.push_back(blocks_[i].relative_excess[rank]);
    }
    std::vector<double> copy = values;
    const double center = Median(&copy);
    for (const double value : values) deviations.push_back(std::abs(value - center));
  }
  return std::max(kNoiseFloor, kMadToSigma * Median(&deviations));
}

bool SlowRankFinder::Convict(int32_t participant, size_t window, SlowRank* found) const {
  const auto place = static_cast<size_t>(participant);
  std::vector<double> excess, own, peers, step, alone, last, waits;
  size_t named = 0;
  double span_seconds = 0;
  *found = {};
  found->rank_slot = blocks_.back().rank_slots[place];
  for (size_t i = blocks_.size() - window; i < blocks_.size(); ++i) {
    const BlockSummary& block = blocks_[i];
    if (block.peer_seconds[place] < 0) return false;
    excess.push_back(block.relative_excess[place]);
    own.push_back(block.own_seconds[place]);
    peers.push_back(block.peer_seconds[place]);
    step.push_back(block.step_seconds);
    found->steps += block.steps_used;
    span_seconds += block.step_seconds * block.steps_used;
    const BlockCulprit* const culprit = Named(block, found->rank_slot);
    alone.push_back(culprit == nullptr ? 0 : culprit->saved_alone_seconds);
    last.push_back(culprit == nullptr ? 0 : culprit->saved_last_seconds);
    if (culprit == nullptr) continue;
    if (named++ == 0) found->first_step = block.first_step;
    found->times_last += culprit->times_last;
    waits.push_back(culprit->wait_seconds);
    found->newest = *culprit;
  }
  const double effect = Median(&excess);
  const auto quarter = excess.begin() + static_cast<int64_t>(excess.size() / 4);
  std::nth_element(excess.begin(), quarter, excess.end());
  const double weak_effect = *quarter;  // of the weakest quarter: a short slow phase does not reach it
  found->last_step = blocks_.back().last_step;
  found->own_seconds = Median(&own);
  found->peer_seconds = Median(&peers);
  found->peers = static_cast<int>(blocks_.back().rank_slots.size()) - 1;
  found->step_seconds = Median(&step);
  // With several culprits, healing one alone may give nothing back: then what it costs is seen with the others healed.
  found->saved_seconds = std::max(Median(&alone), Median(&last));
  found->wait_seconds = Median(&waits);
  found->share_of_blocks = static_cast<double>(named) / static_cast<double>(window);
  // A short window may be quiet by luck: the noise is at least that of all remembered blocks.
  const double noise = std::max(Noise(window), Noise(blocks_.size()));
  found->significance = effect / (noise * kErrorOfMedian / std::sqrt(static_cast<double>(window)));
  return found->steps >= options_.min_steps && span_seconds >= options_.min_span_seconds &&
         found->share_of_blocks >= options_.min_persistence && effect >= options_.min_own_time_ratio - 1 &&
         weak_effect >= options_.min_weak_share * effect &&
         found->significance >=
             RequiredSignificance(options_.min_significance, blocks_.back().rank_slots.size(), window) &&
         found->saved_seconds >= options_.min_step_cost * found->step_seconds;
}

bool SlowRankFinder::StillHolds(int32_t participant, const SlowRank& held, SlowRank* now) const {
  const size_t window = std::min(blocks_.size(), kShortWindow);
  if (Convict(participant, window, now)) return true;
  const double convicted = held.own_seconds / std::max(held.peer_seconds, kOwnFloor * held.step_seconds) - 1;
  const double least = std::max(options_.min_own_time_ratio - 1, kHoldShare * convicted);
  return now->share_of_blocks >= kHoldShare &&
         now->own_seconds - now->peer_seconds >= least * std::max(now->peer_seconds, kOwnFloor * now->step_seconds);
}

std::vector<SlowRank> SlowRankFinder::Find() {
  std::vector<SlowRank> slow;
  if (blocks_.empty()) return slow;
  for (auto it = held_.begin(); it != held_.end();) {
    SlowRank now;
    if (!StillHolds(it->first, it->second, &now)) {
      it = held_.erase(it);
      continue;
    }
    now.first_step = it->second.first_step;
    slow.push_back(std::move(now));
    ++it;
  }
  for (const BlockCulprit& candidate : blocks_.back().culprits) {
    const auto place =
        std::find(blocks_.back().rank_slots.begin(), blocks_.back().rank_slots.end(), candidate.rank_slot);
    const auto participant = static_cast<int32_t>(place - blocks_.back().rank_slots.begin());
    for (size_t window = kShortWindow; window <= blocks_.size() && !held_.contains(participant);
         window += kWindowStride) {
      SlowRank found;
      if (!Convict(participant, window, &found)) continue;
      held_.emplace(participant, found);
      slow.push_back(found);
    }
  }
  std::sort(slow.begin(), slow.end(), [](const SlowRank& a, const SlowRank& b) { return a.rank_slot < b.rank_slot; });
  return slow;
}

}  // namespace lockstep
