#include "eval/minder/machine_history.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr int64_t kNone = -1;

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// NaN where no device of the host has a sample.
Eigen::MatrixXf MeanOverDevices(const MetricMatrix& matrix, const TickRange& range,
                                const std::map<int32_t, int64_t>& row_of_host) {
  const auto rows = static_cast<int64_t>(row_of_host.size());
  Eigen::MatrixXf mean(rows, range.ticks);
  std::vector<int64_t> row_of_unit;
  for (const GridUnit& unit : matrix.units) row_of_unit.push_back(row_of_host.at(unit.host));
  for (int64_t tick = 0; tick < range.ticks; ++tick) {
    // The tick ends where column + 1 begins, or later.
    const int64_t column = FloorDivide(range.EndMs(tick) - matrix.start_ms, matrix.tick_ms) - 1;
    Eigen::ArrayXd sum = Eigen::ArrayXd::Zero(rows);
    Eigen::ArrayXd count = Eigen::ArrayXd::Zero(rows);
    if (column >= 0 && column < matrix.values.cols()) {
      for (size_t unit = 0; unit < row_of_unit.size(); ++unit) {
        const float value = matrix.values(static_cast<Eigen::Index>(unit), column);
        if (!std::isfinite(value)) continue;
        sum[row_of_unit[unit]] += static_cast<double>(value);
        count[row_of_unit[unit]] += 1;
      }
    }
    mean.col(tick) = (sum / count).cast<float>();  // 0 / 0 = NaN
  }
  return mean;
}

// False if the row has no sample at all.
bool FillRow(Eigen::MatrixXf& values, int64_t row) {
  const int64_t ticks = values.cols();
  std::vector<int64_t> next(static_cast<size_t>(ticks), kNone);
  int64_t seen = kNone;
  for (int64_t tick = ticks - 1; tick >= 0; --tick) {
    if (!std::isnan(values(row, tick))) seen = tick;
    next[static_cast<size_t>(tick)] = seen;
  }
  if (seen == kNone) return false;
  int64_t before = kNone;
  for (int64_t tick = 0; tick < ticks; ++tick) {
    const int64_t after = next[static_cast<size_t>(tick)];
    if (after == tick) {
      before = tick;
      continue;
    }
    const bool earlier = before != kNone && (after == kNone || tick - before <= after - tick);
    values(row, tick) = values(row, earlier ? before : after);
  }
  return true;
}

}  // namespace

MachineHistory FillMachineHistory(const MetricMatrix& matrix, const TickRange& range) {
  CHECK(range.tick_ms > 0 && matrix.tick_ms > 0);
  MachineHistory all;
  std::map<int32_t, int64_t> row_of_host;
  for (const GridUnit& unit : matrix.units) row_of_host[unit.host] = 0;
  for (auto& [host, row] : row_of_host) {
    row = static_cast<int64_t>(all.hosts.size());
    all.hosts.push_back(host);
  }
  all.values = MeanOverDevices(matrix, range, row_of_host);
  std::vector<int32_t> known;
  for (size_t row = 0; row < all.hosts.size(); ++row) {
    if (FillRow(all.values, static_cast<int64_t>(row))) known.push_back(all.hosts[row]);
  }
  return known.size() == all.hosts.size() ? all : SelectHosts(all, known);
}

MachineHistory SelectHosts(const MachineHistory& history, absl::Span<const int32_t> hosts) {
  MachineHistory selected;
  selected.hosts.assign(hosts.begin(), hosts.end());
  selected.values.resize(static_cast<Eigen::Index>(hosts.size()), history.values.cols());
  size_t from = 0;
  for (size_t to = 0; to < hosts.size(); ++to) {
    while (history.hosts[from] != hosts[to]) {
      ++from;
      CHECK(from < history.hosts.size());
    }
    selected.values.row(static_cast<Eigen::Index>(to)) = history.values.row(static_cast<Eigen::Index>(from));
  }
  return selected;
}

bool NormaliseHistory(MachineHistory& history) {
  if (history.values.size() == 0) return false;
  const float least = history.values.minCoeff();
  const float range = history.values.maxCoeff() - least;
  if (!(range > 0) || !std::isfinite(range)) return false;
  history.values = ((history.values.array() - least) / range).matrix();
  return true;
}

}  // namespace lockstep
