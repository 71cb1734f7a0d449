#include "eval/counters/three_sigma.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "eval/minder/metric_grid.h"

namespace lockstep {
namespace {

constexpr double kSigmas = 3;
constexpr double kResolution = 0.01;  // of the largest mean so far: machines that idle alike differ in nothing

// One metric's state of all its units, tick by tick.
class Watch {
 public:
  explicit Watch(const MetricMatrix& matrix)
      : matrix_(matrix),
        weight_(static_cast<float>(std::min(1.0, static_cast<double>(matrix.tick_ms) / 1000 / kSmoothSeconds))),
        smoothed_(Eigen::VectorXf::Constant(matrix.values.rows(), NAN)),
        since_ms_(static_cast<size_t>(matrix.values.rows()), kNotOut) {}

  template <typename Alarm>
  void Run(const Alarm& alarm) {
    for (int64_t tick = 0; tick < matrix_.values.cols(); ++tick) {
      Smooth(tick);
      double mean = 0, deviation = 0;
      if (!Spread(&mean, &deviation)) continue;
      for (int64_t unit = 0; unit < smoothed_.size(); ++unit) {
        if (std::isnan(smoothed_[unit])) continue;
        const double z = (smoothed_[unit] - mean) / deviation;
        int64_t& since_ms = since_ms_[static_cast<size_t>(unit)];
        const int64_t now_ms = matrix_.known_ms[static_cast<size_t>(tick)];
        if (std::abs(z) <= kSigmas) {
          since_ms = kNotOut;
        } else if (since_ms == kNotOut) {
          since_ms = now_ms;
        } else if (static_cast<double>(now_ms - since_ms) >= kPersistSeconds * 1000) {
          alarm(matrix_.units[static_cast<size_t>(unit)], since_ms, now_ms, z);
        }
      }
    }
  }

 private:
  static constexpr int64_t kNotOut = -1;

  void Smooth(int64_t tick) {
    for (int64_t unit = 0; unit < smoothed_.size(); ++unit) {
      const float value = matrix_.values(unit, tick);
      if (std::isnan(value)) continue;
      float& smoothed = smoothed_[unit];
      smoothed = std::isnan(smoothed) ? value : smoothed + weight_ * (value - smoothed);
    }
  }

  bool Spread(double* mean, double* deviation) {
    double sum = 0, squares = 0;
    int64_t count = 0;
    for (const float value : smoothed_) {
      if (std::isnan(value)) continue;
      sum += value;
      ++count;
    }
    if (count < 2) return false;
    *mean = sum / static_cast<double>(count);
    for (const float value : smoothed_) {
      if (!std::isnan(value)) squares += (value - *mean) * (value - *mean);
    }
    largest_mean_ = std::max(largest_mean_, std::abs(*mean));
    *deviation = std::max(std::sqrt(squares / static_cast<double>(count)), kResolution * largest_mean_);
    return *deviation > 0;
  }

  const MetricMatrix& matrix_;
  const float weight_;
  Eigen::VectorXf smoothed_;
  double largest_mean_ = 0;
  std::vector<int64_t> since_ms_;
};

}  // namespace

std::vector<MachineAlarm> DetectByThreeSigma(const MetricTable& table) {
  const MetricGrid grid = BuildGrid(table, {});
  std::map<int32_t, MachineAlarm> first;
  for (const MetricMatrix& matrix : grid.metrics) {
    Watch(matrix).Run([&](const GridUnit& unit, int64_t onset_ms, int64_t alarm_ms, double z) {
      const auto found = first.find(unit.host);
      if (found != first.end() && found->second.alarm_ms <= alarm_ms) return;
      first[unit.host] = {.host = unit.host,
                          .device = unit.device,
                          .metric_name = matrix.name,
                          .onset_ms = onset_ms,
                          .alarm_ms = alarm_ms,
                          .score = std::abs(z)};
    });
  }
  std::vector<MachineAlarm> alarms;
  for (auto& [host, alarm] : first) alarms.push_back(std::move(alarm));
  std::stable_sort(alarms.begin(), alarms.end(),
                   [](const MachineAlarm& a, const MachineAlarm& b) { return a.alarm_ms < b.alarm_ms; });
  return alarms;
}

}  // namespace lockstep
