#include "detector/steps/expert_work.h"

#include <algorithm>

#include "base/shares.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

// Of the work, by time: in less than that a slow rank need not be slow.
constexpr double kNearlyEverywhere = kFew;

}  // namespace

uint32_t HolderOfRoutedWork(const Trace& trace, const OwnTimes& times, uint32_t i) {
  while (!times.before[i].routed) {
    const OwnInterval& interval = times.before[i];
    const bool ends = interval.after == kNoOperation || interval.after_end;
    if (ends || trace.operations[interval.after].kind == OperationKind::kAllToAll) return kNoOperation;
    i = interval.after;
  }
  return i;
}

void ExpertWork::Collect(const std::vector<int32_t>& peers, int32_t step) {
  pieces_.clear();
  for (uint32_t peer = 0; peer < peers.size(); ++peer) {
    const StepRange& range = steps_.Of(static_cast<size_t>(peers[peer]), step);
    if (!range.complete) continue;
    uint32_t place = 0;
    for (uint32_t i = range.begin; i < range.end; ++i) {
      const TraceOperation& operation = trace_.operations[i];
      if (operation.kind != OperationKind::kAllToAll) continue;
      const uint32_t holder = HolderOfRoutedWork(trace_, times_, i);
      if (holder != kNoOperation && times_.before[holder].seconds >= 0) {
        pieces_.push_back({place, peer, static_cast<double>(times_.before[holder].seconds)});
      }
      ++place;
    }
  }
}

// Each piece against the median of its place.
void ExpertWork::Compare() {
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    if (a.place != b.place) return a.place < b.place;
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.peer < b.peer;
  });
  for (auto begin = pieces_.begin(); begin != pieces_.end();) {
    const auto end =
        std::find_if(begin, pieces_.end(), [place = begin->place](const Piece& piece) { return piece.place != place; });
    const auto n = static_cast<size_t>(end - begin);
    const double median =
        (begin[static_cast<std::ptrdiff_t>((n - 1) / 2)].seconds + begin[static_cast<std::ptrdiff_t>(n / 2)].seconds) /
        2;
    for (auto piece = begin; median > 0 && piece != end; ++piece) {
      factors_[piece->peer].push_back({piece->seconds / median, median});
    }
    begin = end;
  }
}

const std::vector<double>& ExpertWork::Comparable(const std::vector<int32_t>& peers, int32_t step) {
  seconds_.assign(peers.size(), 0);
  factors_.resize(std::max(factors_.size(), peers.size()));
  for (std::vector<Factor>& factors : factors_) factors.clear();
  Collect(peers, step);
  Compare();
  for (size_t peer = 0; peer < peers.size(); ++peer) {
    std::vector<Factor>& factors = factors_[peer];
    std::sort(factors.begin(), factors.end(), [](const Factor& a, const Factor& b) { return a.factor < b.factor; });
    double weight = 0, below = 0;
    for (const Factor& factor : factors) weight += factor.weight;
    for (const Factor& factor : factors) {
      below += factor.weight;
      if (below < kNearlyEverywhere * weight) continue;
      seconds_[peer] = factor.factor * weight;
      break;
    }
  }
  return seconds_;
}

}  // namespace lockstep
