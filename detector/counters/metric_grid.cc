#include "detector/counters/metric_grid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

namespace lockstep {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
// A single sample may be this much outside of the time in which the hosts sampled.
constexpr int64_t kFarOffMs = 3'600'000;
// Histories that are this much longer at one end than at the other are longer, not shifted.
constexpr double kShiftTolerance = 0.2;
constexpr size_t kIntervalsLookedAt = 4096;
constexpr Eigen::Index kRowsAtOnce = 16;  // of a column-major matrix of floats: a cache line

using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Period {
  int64_t first_ms = 0;
  int64_t last_ms = 0;
};

int64_t LowerMedian(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  // Mostly all are the same, which needs no sorting.
  if (std::count(values.begin(), values.end(), values.front()) * 2 > static_cast<ptrdiff_t>(values.size())) {
    return values.front();
  }
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool OfProcess(const MetricSeries& series) { return absl::StartsWith(series.device, "pid:"); }

// When each host sampled: medians over its series, which no single wild timestamp moves.
std::map<int32_t, Period> HostPeriods(const MetricTable& table) {
  std::map<int32_t, std::pair<std::vector<int64_t>, std::vector<int64_t>>> ends;
  for (const MetricSeries& series : table.series) {
    if (series.time_ms.empty()) continue;
    ends[series.host].first.push_back(series.time_ms.front());
    ends[series.host].second.push_back(series.time_ms.back());
  }
  std::map<int32_t, Period> periods;
  for (auto& [host, pair] : ends) periods[host] = {LowerMedian(pair.first), LowerMedian(pair.second)};
  return periods;
}

// Where a time lies in a raster that begins at 0, as / and % would say. Times mostly rise from one tick to the next,
// and then nothing is divided.
class RasterPlace {
 public:
  explicit RasterPlace(int64_t tick_ms) : tick_ms_(tick_ms) {}

  void MoveTo(int64_t ms) {
    const int64_t further_ms = ms - begin_ms_;
    if (begin_ms_ < 0 || further_ms < 0 || further_ms >= 2 * tick_ms_) {
      tick_ = ms / tick_ms_;
      begin_ms_ = tick_ * tick_ms_;
    } else if (further_ms >= tick_ms_) {
      ++tick_;
      begin_ms_ += tick_ms_;
    }
    of_tick_ms_ = ms - begin_ms_;
  }

  int64_t tick() const { return tick_; }
  int64_t of_tick_ms() const { return of_tick_ms_; }

 private:
  const int64_t tick_ms_;
  int64_t tick_ = 0;
  int64_t begin_ms_ = 0;  // of the tick
  int64_t of_tick_ms_ = 0;
};

class GridBuilder {
 public:
  GridBuilder(const MetricTable& table, const GridOptions& options) : table_(table), options_(options) {}

  MetricGrid Build() {
    FindPeriod();
    std::map<absl::string_view, std::vector<const MetricSeries*>> by_name;
    for (const MetricSeries& series : table_.series) {
      grid_.losses.samples += series.time_ms.size();
      if (series.time_ms.empty() || misclocked_[static_cast<size_t>(series.host)]) continue;
      if (OfProcess(series)) {
        ++grid_.losses.process_series;
        continue;
      }
      by_name[series.name].push_back(&series);
    }
    int64_t units = 0;
    for (auto& [name, all] : by_name) {
      std::stable_sort(all.begin(), all.end(), [](const MetricSeries* a, const MetricSeries* b) {
        return std::tie(a->host, a->device) < std::tie(b->host, b->device);
      });
      const auto same = [](const MetricSeries* a, const MetricSeries* b) {
        return a->host == b->host && a->device == b->device;
      };
      const auto end = std::unique(all.begin(), all.end(), same);
      grid_.losses.repeated_series += static_cast<uint64_t>(all.end() - end);
      all.erase(end, all.end());
      units += static_cast<int64_t>(all.size());
    }
    most_ticks_ = std::min(options_.max_ticks, options_.max_cells / std::max<int64_t>(1, units));
    for (const auto& [name, all] : by_name) grid_.metrics.push_back(Fill(all));
    return std::move(grid_);
  }

 private:
  // The time in which the hosts sampled, and the hosts that lived in another one.
  void FindPeriod() {
    misclocked_.assign(table_.hosts.size(), false);
    const std::map<int32_t, Period> periods = HostPeriods(table_);
    std::vector<int64_t> firsts;
    std::vector<int64_t> lasts;
    for (const auto& [host, period] : periods) {
      firsts.push_back(period.first_ms);
      lasts.push_back(period.last_ms);
    }
    const Period usual = {LowerMedian(firsts), LowerMedian(lasts)};
    period_ = usual;
    for (const auto& [host, period] : periods) {
      const auto begin = static_cast<double>(period.first_ms) - static_cast<double>(usual.first_ms);
      const auto end = static_cast<double>(period.last_ms) - static_cast<double>(usual.last_ms);
      const auto limit = static_cast<double>(options_.max_clock_offset_ms);
      const bool elsewhere = period.last_ms < usual.first_ms - options_.max_clock_offset_ms ||
                             period.first_ms > usual.last_ms + options_.max_clock_offset_ms;
      const bool shifted = std::min(std::abs(begin), std::abs(end)) > limit &&
                           std::abs(begin - end) <= kShiftTolerance * std::abs(begin);
      if (elsewhere || shifted) {
        misclocked_[static_cast<size_t>(host)] = true;
        grid_.losses.misclocked_hosts.push_back(host);
        continue;
      }
      period_.first_ms = std::min(period_.first_ms, std::max(period.first_ms, usual.first_ms - kFarOffMs));
      period_.last_ms = std::max(period_.last_ms, std::min(period.last_ms, usual.last_ms + kFarOffMs));
    }
  }

  int64_t TickOf(const std::vector<const MetricSeries*>& all) const {
    if (options_.tick_ms > 0) return options_.tick_ms;
    std::vector<int64_t> medians;
    for (const MetricSeries* series : all) {
      std::vector<int64_t> intervals;
      intervals.reserve(std::min(series->time_ms.size(), kIntervalsLookedAt));
      for (size_t i = 1; i < series->time_ms.size() && intervals.size() < kIntervalsLookedAt; ++i) {
        const int64_t interval = series->time_ms[i] - series->time_ms[i - 1];
        if (interval > 0) intervals.push_back(interval);
      }
      if (!intervals.empty()) medians.push_back(LowerMedian(std::move(intervals)));
    }
    return medians.empty() ? 1000 : LowerMedian(std::move(medians));
  }

  // How far the samples of a series lie from the middles of the ticks, within half a tick: the circular mean.
  int64_t PhaseOf(const MetricSeries& series, int64_t tick_ms) const {
    double sine = 0;
    double cosine = 0;
    const double turn = 2 * M_PI / static_cast<double>(tick_ms);
    const size_t some = std::min(series.time_ms.size(), kIntervalsLookedAt);
    RasterPlace place(tick_ms);
    int64_t of_tick = 0;
    double sine_there = 0;
    double cosine_there = 1;
    for (size_t i = 0; i < some; ++i) {
      if (series.time_ms[i] < period_.first_ms - kFarOffMs || series.time_ms[i] > period_.last_ms + kFarOffMs) continue;
      // Mostly the same again, which needs no trigonometry.
      place.MoveTo(series.time_ms[i] - period_.first_ms);
      if (place.of_tick_ms() != of_tick) {
        of_tick = place.of_tick_ms();
        const double angle = turn * static_cast<double>(of_tick);
        sine_there = std::sin(angle);
        cosine_there = std::cos(angle);
      }
      sine += sine_there;
      cosine += cosine_there;
    }
    const double phase = std::atan2(sine, cosine) / turn;  // of the beginnings of the ticks
    return std::clamp(static_cast<int64_t>(std::floor(phase)), -(tick_ms / 2), tick_ms / 2);
  }

  MetricMatrix Fill(const std::vector<const MetricSeries*>& all) {
    MetricMatrix matrix;
    matrix.name = all.front()->name;
    matrix.metric = all.front()->metric;
    const MetricInfo* const info = FindMetric(matrix.metric);
    matrix.is_rate = info != nullptr && info->kind == MetricKind::kCounter;
    matrix.tick_ms = TickOf(all);
    const int64_t wanted = (period_.last_ms - period_.first_ms) / matrix.tick_ms + 2;
    const int64_t ticks = std::min(wanted, most_ticks_);
    matrix.start_ms = period_.first_ms + (wanted - ticks) * matrix.tick_ms;
    matrix.values.resize(static_cast<Eigen::Index>(all.size()), ticks);
    for (int64_t column = 0; column < ticks; ++column) {
      matrix.known_ms.push_back(matrix.start_ms + column * matrix.tick_ms);
    }
    for (const MetricSeries* series : all) matrix.units.push_back({series->host, series->device});
    RowMatrix some(std::min(kRowsAtOnce, matrix.values.rows()), ticks);
    for (Eigen::Index first = 0; first < matrix.values.rows(); first += kRowsAtOnce) {
      const Eigen::Index rows = std::min(kRowsAtOnce, matrix.values.rows() - first);
      some.setConstant(kUnknown);
      for (Eigen::Index row = 0; row < rows; ++row) {
        FillRow(*all[static_cast<size_t>(first + row)], {some.row(row).data(), static_cast<size_t>(ticks)}, matrix);
      }
      matrix.values.middleRows(first, rows) = some.topRows(rows);
    }
    std::partial_sum(matrix.known_ms.begin(), matrix.known_ms.end(), matrix.known_ms.begin(),
                     [](int64_t before_ms, int64_t now_ms) { return std::max(before_ms, now_ms); });
    return matrix;
  }

  bool Usable(const MetricSeries& series, size_t i, int64_t before_ms) {
    GridLosses& losses = grid_.losses;
    const int64_t time_ms = series.time_ms[i];
    if (!std::isfinite(series.value[i])) {
      ++losses.not_finite;
    } else if (IsBlankSentinel(series.value[i])) {
      ++losses.blank;
    } else if (time_ms < period_.first_ms - kFarOffMs || time_ms > period_.last_ms + kFarOffMs) {
      ++losses.far_off;
    } else if (time_ms == before_ms) {
      ++losses.duplicate;
    } else if (time_ms < before_ms) {
      ++losses.out_of_order;
    } else {
      return true;
    }
    return false;
  }

  // Fills in the values of one unit, and when those of a column were known.
  void FillRow(const MetricSeries& series, absl::Span<float> row, MetricMatrix& matrix) {
    const int64_t phase_ms = PhaseOf(series, matrix.tick_ms);
    RasterPlace place(matrix.tick_ms);
    int64_t before_ms = std::numeric_limits<int64_t>::min();
    double before = 0;
    size_t filled = row.size();  // column of the values in `sum`
    double sum = 0;
    int count = 0;
    for (size_t i = 0; i < series.time_ms.size(); ++i) {
      if (!Usable(series, i, before_ms)) continue;
      const int64_t time_ms = series.time_ms[i];
      const bool first = before_ms == std::numeric_limits<int64_t>::min();
      double value = series.value[i];
      if (matrix.is_rate) {
        const double growth = value - before;
        const double seconds = first ? 0 : static_cast<double>(time_ms - before_ms) / 1000;
        before = value;
        before_ms = time_ms;
        if (first) continue;
        if (growth < 0) {
          ++grid_.losses.resets;
          continue;
        }
        value = growth / seconds;
      }
      before_ms = time_ms;
      const int64_t middle_ms = time_ms - matrix.start_ms - phase_ms + matrix.tick_ms / 2;
      if (middle_ms >= 0) place.MoveTo(middle_ms);
      const auto column = static_cast<size_t>(place.tick());
      if (middle_ms < 0 || column >= row.size()) {
        ++grid_.losses.over_limit;
        continue;
      }
      if (column != filled) {
        filled = column;
        sum = 0;
        count = 0;
      }
      sum += value;
      row[column] = static_cast<float>(sum / ++count);
      int64_t& known_ms = matrix.known_ms[column];
      known_ms = std::max(known_ms, time_ms);
    }
  }

  const MetricTable& table_;
  const GridOptions& options_;
  MetricGrid grid_;
  std::vector<bool> misclocked_;  // by host
  Period period_;
  int64_t most_ticks_ = 0;
};

}  // namespace

const MetricMatrix* MetricGrid::Find(absl::string_view name) const {
  const auto at =
      std::lower_bound(metrics.begin(), metrics.end(), name,
                       [](const MetricMatrix& matrix, absl::string_view other) { return matrix.name < other; });
  return at == metrics.end() || at->name != name ? nullptr : &*at;
}

MetricGrid BuildGrid(const MetricTable& table, const GridOptions& options) {
  return GridBuilder(table, options).Build();
}

std::string DescribeLosses(const GridLosses& losses, const std::vector<std::string>& hosts) {
  std::vector<std::string> parts;
  const auto say = [&parts](uint64_t count, absl::string_view what) {
    if (count > 0) parts.push_back(absl::StrCat(count, " ", what));
  };
  say(losses.not_finite, "values that are no numbers");
  say(losses.blank, "blank values of DCGM");
  say(losses.duplicate, "repeated samples");
  say(losses.out_of_order, "samples out of order");
  say(losses.resets, "counter resets or wraps");
  say(losses.far_off, "samples of another time");
  say(losses.over_limit, "samples beyond the limits");
  say(losses.repeated_series, "repeated series");
  if (!losses.misclocked_hosts.empty()) {
    const auto host = static_cast<size_t>(losses.misclocked_hosts.front());
    const size_t others = losses.misclocked_hosts.size() - 1;
    parts.push_back(absl::StrCat("all of host ", hosts[host], others > 0 ? absl::StrCat(" and ", others, " more") : "",
                                 ", whose clock is elsewhere"));
  }
  return parts.empty() ? "" : absl::StrCat("Left out: ", absl::StrJoin(parts, ", "), ".");
}

}  // namespace lockstep
