#include "detector/counters/history_period.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/median.h"
#include "detector/counters/sampling_interval.h"

namespace lockstep {
namespace {

// Histories that are this much longer at one end than at the other are longer, not shifted. Chosen by hand; of a shift
// both ends move by the same, so that any value well below 1 tells them apart.
constexpr double kShiftTolerance = 0.2;

struct Ends {
  int64_t first_ms = 0;
  int64_t last_ms = 0;
};

std::map<int32_t, Ends> EndsOfHosts(const MetricTable& table) {
  std::map<int32_t, std::pair<std::vector<int64_t>, std::vector<int64_t>>> of_series;
  for (const MetricSeries& series : table.series) {
    if (series.time_ms.empty()) continue;
    of_series[series.host].first.push_back(series.time_ms.front());
    of_series[series.host].second.push_back(series.time_ms.back());
  }
  std::map<int32_t, Ends> ends;
  for (auto& [host, pair] : of_series) {
    ends[host] = {LowerMedian(&pair.first), LowerMedian(&pair.second)};
  }
  return ends;
}

}  // namespace

bool HistoryPeriod::IsMisclocked(int32_t host) const {
  return std::binary_search(misclocked_hosts.begin(), misclocked_hosts.end(), host);
}

HistoryPeriod PeriodOf(const MetricTable& table) {
  const std::map<int32_t, Ends> ends = EndsOfHosts(table);
  std::vector<int64_t> firsts;
  std::vector<int64_t> lasts;
  for (const auto& [host, own] : ends) {
    firsts.push_back(own.first_ms);
    lasts.push_back(own.last_ms);
  }
  const Ends usual = {LowerMedian(&firsts), LowerMedian(&lasts)};
  HistoryPeriod period{.first_ms = usual.first_ms, .last_ms = usual.last_ms};
  for (const auto& [host, own] : ends) {
    const auto begin = static_cast<double>(own.first_ms) - static_cast<double>(usual.first_ms);
    const auto end = static_cast<double>(own.last_ms) - static_cast<double>(usual.last_ms);
    const bool elsewhere =
        own.last_ms < usual.first_ms - kMaxClockOffsetMs || own.first_ms > usual.last_ms + kMaxClockOffsetMs;
    const bool shifted = std::min(std::abs(begin), std::abs(end)) > static_cast<double>(kMaxClockOffsetMs) &&
                         std::abs(begin - end) <= kShiftTolerance * std::abs(begin);
    if (elsewhere || shifted) {
      period.misclocked_hosts.push_back(host);
      continue;
    }
    period.first_ms = std::min(period.first_ms, std::max(own.first_ms, usual.first_ms - kFarOffMs));
    period.last_ms = std::max(period.last_ms, std::min(own.last_ms, usual.last_ms + kFarOffMs));
  }
  return period;
}

}  // namespace lockstep
