#include "detector/counters/metric_raster.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "detector/counters/sampling_interval.h"

namespace lockstep {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
// A phase is the mean of so many samples, then follows with the same weight: the error of a mean of 64 is an eighth of
// the jitter, and a clock that is 100 ppm off moves by 6 ms in that time.
constexpr uint8_t kPhaseSamples = 64;
// A unit leaves its tick for the neighbour when it is further off than this. Above a half, so that jitter does not
// throw it to and fro.
constexpr double kTurnOver = 0.6;

int64_t FloorOf(double value) { return static_cast<int64_t>(std::floor(value)); }

// The circular mean of where samples lie within a tick, within half a tick.
double PhaseOf(const std::vector<int64_t>& times_ms, int64_t zero_ms, int64_t tick_ms) {
  double sine = 0;
  double cosine = 0;
  const double turn = 2 * M_PI / static_cast<double>(tick_ms);
  for (const int64_t time_ms : times_ms) {
    const double angle = turn * static_cast<double>((time_ms - zero_ms) % tick_ms);
    sine += std::sin(angle);
    cosine += std::cos(angle);
  }
  return std::atan2(sine, cosine) / turn;
}

}  // namespace

int32_t MetricRaster::AddRow(int32_t host, const std::string& device) {
  const auto index = static_cast<int32_t>(rows_.size());
  Row& row = rows_.emplace_back();
  row.host = host;
  row.device = device;
  if (!started()) return index;
  row.unit = static_cast<int32_t>(units_.size());
  units_.push_back({host, device});
  for (Tick& tick : open_) {
    tick.values.push_back(kUnknown);
    tick.counts.push_back(0);
  }
  return index;
}

void MetricRaster::Observe(int32_t index, int64_t time_ms, double value, SampleLosses* losses) {
  Row& row = rows_[static_cast<size_t>(index)];
  if (row.has_sample && time_ms <= row.time_ms) {
    ++(time_ms == row.time_ms ? losses->duplicate : losses->out_of_order);
    return;
  }
  const bool first = !row.has_sample;
  const double growth = value - row.value;
  const double seconds = static_cast<double>(time_ms - row.time_ms) / 1000;
  row.has_sample = true;
  row.time_ms = time_ms;
  row.value = value;
  if (!started()) {
    row.warm_ms.push_back(time_ms);
    if (row.warm_ms.size() == kWarmSamples) ++ready_rows_;
    if (row.warm_ms.size() == kMostWarmSamples) overdue_ = true;
  }
  const bool fell = is_rate_ && !first && growth < 0;
  if (fell) ++losses->resets;
  if (!fell && !(is_rate_ && first)) {
    const auto known = static_cast<float>(is_rate_ ? growth / seconds : value);
    if (started()) {
      Place(&row, time_ms, known, losses);
    } else {
      row.warm.emplace_back(time_ms, known);
    }
  }
  if (!started() && IsReady()) Start(losses);
}

bool MetricRaster::IsReady() const { return 2 * ready_rows_ >= rows_.size() || overdue_; }

void MetricRaster::Start(SampleLosses* losses) {
  std::vector<int64_t> of_rows;
  for (const Row& row : rows_) {
    if (row.warm_ms.size() < 2) continue;
    // The mean, which jitter moves less than any one interval.
    of_rows.push_back((row.warm_ms.back() - row.warm_ms.front()) / static_cast<int64_t>(row.warm_ms.size() - 1));
  }
  tick_ms_ = ConfiguredInterval(MiddleInterval(std::move(of_rows)));
  std::vector<int32_t> order(rows_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [this](int32_t a, int32_t b) {
    const Row& first = rows_[static_cast<size_t>(a)];
    const Row& second = rows_[static_cast<size_t>(b)];
    return std::tie(first.host, first.device) < std::tie(second.host, second.device);
  });
  next_ = std::numeric_limits<int64_t>::max();
  for (const int32_t index : order) {
    Row& row = rows_[static_cast<size_t>(index)];
    row.unit = static_cast<int32_t>(units_.size());
    units_.push_back({row.host, row.device});
    if (row.warm_ms.empty()) continue;
    row.phase_ms = PhaseOf(row.warm_ms, zero_ms_, tick_ms_);
    row.phases = static_cast<uint8_t>(row.warm_ms.size());
    const double behind_ms = static_cast<double>(row.warm_ms.front() - zero_ms_) - row.phase_ms;
    next_ = std::min(next_, FloorOf(behind_ms / static_cast<double>(tick_ms_) + 0.5));
  }
  expected_ = 1;  // next_ is where it has to be
  for (Row& row : rows_) {
    for (const auto& [time_ms, value] : row.warm) Place(&row, time_ms, value, losses);
    row.warm = {};
    row.warm_ms = {};
  }
  Expect();
}

void MetricRaster::FollowPhase(Row* row, double off_ms) const {
  const auto tick_ms = static_cast<double>(tick_ms_);
  if (row->phases < kPhaseSamples) ++row->phases;
  row->phase_ms += off_ms / row->phases;
  if (std::abs(row->phase_ms) > kTurnOver * tick_ms) row->phase_ms -= std::copysign(tick_ms, row->phase_ms);
}

void MetricRaster::Place(Row* row, int64_t time_ms, float value, SampleLosses* losses) {
  const auto tick_ms = static_cast<double>(tick_ms_);
  const auto since_zero_ms = static_cast<double>(time_ms - zero_ms_);
  if (row->phases == 0) row->phase_ms = PhaseOf({time_ms}, zero_ms_, tick_ms_);
  const int64_t column = FloorOf((since_zero_ms - row->phase_ms) / tick_ms + 0.5);
  FollowPhase(row, since_zero_ms - row->phase_ms - static_cast<double>(column) * tick_ms);
  row->newest = std::max(row->newest, column);
  if (column < next_) {
    ++losses->late;
    // Who is back is waited for from the next tick on.
    if (!row->expected && column >= next_ - kExpectedTicks) {
      row->expected = true;
      ++expected_;
      latest_phase_ms_ = std::max(latest_phase_ms_, row->phase_ms);
    }
    return;
  }
  // After a time in which nobody sampled there is nothing in between to be waited for.
  if (open_.empty() && expected_ == 0) next_ = column;
  const int64_t at = column - next_;
  if (at >= kMostOpenTicks) {
    ++losses->over_limit;
    return;
  }
  while (static_cast<int64_t>(open_.size()) <= at) {
    open_.push_back({std::vector<float>(units_.size(), kUnknown), std::vector<uint8_t>(units_.size(), 0)});
  }
  Tick& tick = open_[static_cast<size_t>(at)];
  const auto unit = static_cast<size_t>(row->unit);
  tick.known_ms = std::max(tick.known_ms, time_ms);
  uint8_t& count = tick.counts[unit];
  if (count == std::numeric_limits<uint8_t>::max()) return;
  if (count == 0) {
    tick.values[unit] = value;
    if (at == 0 && row->expected) ++arrived_;
  } else {
    tick.values[unit] += (value - tick.values[unit]) / static_cast<float>(count + 1);
  }
  ++count;
}

int64_t MetricRaster::DueMs() const {
  if (!started() || (open_.empty() && expected_ == 0)) return kNever;
  const int64_t begin_ms = zero_ms_ + next_ * tick_ms_;
  int64_t known_ms = std::max(known_ms_, begin_ms);
  if (!open_.empty()) known_ms = std::max(known_ms, open_.front().known_ms);
  if (expected_ > 0 && arrived_ >= expected_) return known_ms;
  const int64_t jitter_ms = std::min(kJitterMs, tick_ms_ / 4);
  const int64_t last_ms = expected_ > 0 ? begin_ms + FloorOf(latest_phase_ms_) + jitter_ms : begin_ms + tick_ms_;
  return std::max(known_ms, last_ms);
}

std::vector<float> MetricRaster::TakeTick() {
  CHECK(started());
  std::vector<float> values(units_.size(), kUnknown);
  known_ms_ = std::max(known_ms_, zero_ms_ + next_ * tick_ms_);
  if (!open_.empty()) {
    known_ms_ = std::max(known_ms_, open_.front().known_ms);
    values = std::move(open_.front().values);
    open_.pop_front();
  }
  ++next_;
  Expect();
  return values;
}

// Who is expected in the next tick, and when the last of them samples.
void MetricRaster::Expect() {
  expected_ = arrived_ = 0;
  latest_phase_ms_ = -static_cast<double>(tick_ms_);
  for (Row& row : rows_) {
    row.expected = row.newest >= next_ - kExpectedTicks;
    if (!row.expected) continue;
    ++expected_;
    latest_phase_ms_ = std::max(latest_phase_ms_, row.phase_ms);
    if (!open_.empty() && open_.front().counts[static_cast<size_t>(row.unit)] > 0) ++arrived_;
  }
}

}  // namespace lockstep
