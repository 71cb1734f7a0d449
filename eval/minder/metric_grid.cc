#include "eval/minder/metric_grid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "detector/counters/history_period.h"
#include "detector/counters/sampling_interval.h"

namespace lockstep {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kIntervalsLookedAt = 4096;
constexpr Eigen::Index kRowsAtOnce = 16;  // of a column-major matrix of floats: a cache line

using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

bool OfProcess(const MetricSeries& series) { return absl::StartsWith(series.device, "pid:"); }

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
  GridBuilder(const MetricTable& table, const GridOptions& options)
      : table_(table), options_(options), period_(PeriodOf(table)) {
    grid_.losses.misclocked_hosts = period_.misclocked_hosts;
  }

  MetricGrid Build() {
    std::map<absl::string_view, std::vector<const MetricSeries*>> by_name;
    for (const MetricSeries& series : table_.series) {
      grid_.losses.samples += series.time_ms.size();
      if (series.time_ms.empty() || period_.IsMisclocked(series.host)) continue;
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
      if (!intervals.empty()) medians.push_back(MiddleInterval(std::move(intervals)));
    }
    return medians.empty() ? 1000 : MiddleInterval(std::move(medians));
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
      if (period_.IsFarOff(series.time_ms[i])) continue;
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
    SampleLosses& losses = grid_.losses;
    const int64_t time_ms = series.time_ms[i];
    if (!std::isfinite(series.value[i])) {
      ++losses.not_finite;
    } else if (IsBlankSentinel(series.value[i])) {
      ++losses.blank;
    } else if (period_.IsFarOff(time_ms)) {
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
  const HistoryPeriod period_;
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

}  // namespace lockstep
