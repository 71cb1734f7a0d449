#include "detector/counters/peer_distance.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/metric_catalog.h"

namespace lockstep {
namespace {

constexpr double kMinScore = 8;
constexpr int64_t kPersistNs = 10 * kNanosPerSecond;
constexpr int64_t kStaleNs = 10 * kNanosPerSecond;
constexpr double kSmoothingSeconds = 5;
constexpr double kMadToSigma = 1.4826;
constexpr double kResolution = 0.05;  // of the median: hosts of one model differ by this much
constexpr double kSmallest = 1e-9;

double Median(std::vector<double>* values) {
  const auto middle = values->begin() + static_cast<int64_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  if (values->size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values->begin(), middle)) / 2;
}

}  // namespace

void PeerDistance::Observe(int32_t host_slot, const MetricSample& sample, int64_t received_ns) {
  if (!std::isfinite(sample.value)) {
    ++not_finite_;
    return;
  }
  const MetricInfo* const info = FindMetric(sample.metric);
  // Series of a process have a device of their own on every host: they have no peers.
  if (info == nullptr || sample.device.rfind("pid:", 0) == 0) return;
  const auto group = series_.find({sample.device, sample.metric});
  const bool known = group != series_.end() && group->second.contains(host_slot);
  if (!known && series_count_ >= options_.max_series) {
    ++refused_;
    return;
  }
  series_count_ += known ? 0 : 1;
  Series& series =
      group == series_.end() ? series_[{sample.device, sample.metric}][host_slot] : group->second[host_slot];
  const bool first = series.host_ns == 0;
  const double seconds = static_cast<double>(sample.host_ns - series.host_ns) / kNanosPerSecond;
  if (!first && seconds <= 0) return;
  const double before = series.value;
  series.value = sample.value;
  series.host_ns = sample.host_ns;
  series.received_ns = received_ns;
  double now = sample.value;
  if (info->kind == MetricKind::kCounter) {
    if (first) return;
    if (sample.value < before) {
      ++resets_;
      return;
    }
    now = (sample.value - before) / seconds;
  }
  if (!series.has_level) {
    series.has_level = true;
    series.level = now;
    return;
  }
  const double weight = 1 - std::exp(-seconds / kSmoothingSeconds);
  series.deviation += weight * (std::abs(now - series.level) - series.deviation);
  series.level += weight * (now - series.level);
}

void PeerDistance::Judge(const Key& key, std::map<int32_t, Series>* hosts, int64_t watermark_ns,
                         std::vector<CounterOutlier>* found) {
  std::vector<double> levels;
  for (const auto& [host, series] : *hosts) {
    if (series.has_level && watermark_ns - series.received_ns <= kStaleNs) levels.push_back(series.level);
  }
  const auto peers = static_cast<int>(levels.size());
  const bool judge = peers >= std::max(options_.min_peer_hosts, 3);
  double median = 0, mad = 0;
  if (judge) {
    median = Median(&levels);
    for (double& level : levels) level = std::abs(level - median);
    mad = kMadToSigma * Median(&levels);
  }
  for (auto& [host, series] : *hosts) {
    const double scale = std::max({mad, series.deviation, kResolution * std::abs(median), kSmallest});
    const double score = std::abs(series.level - median) / scale;
    const bool fresh = series.has_level && watermark_ns - series.received_ns <= kStaleNs;
    if (!judge || !fresh || score < kMinScore) {
      series.outlier_since_ns = 0;
      continue;
    }
    if (series.outlier_since_ns == 0) series.outlier_since_ns = watermark_ns;
    if (watermark_ns - series.outlier_since_ns < kPersistNs) continue;
    found->push_back({host, key.first, key.second, series.level, median, score, peers, series.outlier_since_ns});
  }
}

std::vector<CounterOutlier> PeerDistance::Evaluate(int64_t watermark_ns) {
  std::vector<CounterOutlier> found;
  for (auto& [key, hosts] : series_) Judge(key, &hosts, watermark_ns, &found);
  if (found.size() <= kMaxOutliers) return found;
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  found.resize(kMaxOutliers);
  return found;
}

}  // namespace lockstep
