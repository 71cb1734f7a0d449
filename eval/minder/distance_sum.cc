#include "eval/minder/distance_sum.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"

namespace lockstep {
namespace {

constexpr uint64_t kReferenceSeed = 1;

// Adds sum over j of |x_i - x_j| to each sum: with x sorted, position k has k values below and n - k - 1 above.
void AddManhattan(const Eigen::ArrayXd& x, std::vector<size_t>& order, Eigen::ArrayXd& sums) {
  std::sort(order.begin(), order.end(), [&x](size_t a, size_t b) {
    return std::pair(x[static_cast<Eigen::Index>(a)], a) < std::pair(x[static_cast<Eigen::Index>(b)], b);
  });
  const double total = x.sum();
  const auto n = static_cast<double>(x.size());
  double below = 0;
  double position = 0;
  for (const size_t machine : order) {
    const auto i = static_cast<Eigen::Index>(machine);
    sums[i] += x[i] * (2 * position - n) + total - 2 * below;
    below += x[i];
    position += 1;
  }
}

Eigen::ArrayXd ManhattanSums(const Eigen::MatrixXf& points) {
  Eigen::ArrayXd sums = Eigen::ArrayXd::Zero(points.rows());
  std::vector<size_t> order(static_cast<size_t>(points.rows()));
  std::iota(order.begin(), order.end(), size_t{0});
  for (Eigen::Index coordinate = 0; coordinate < points.cols(); ++coordinate) {
    AddManhattan(points.col(coordinate).cast<double>().array(), order, sums);
  }
  return sums;
}

// Without repetition, by a shuffle that stops early.
std::vector<Eigen::Index> References(Eigen::Index machines) {
  std::vector<Eigen::Index> all(static_cast<size_t>(machines));
  std::iota(all.begin(), all.end(), Eigen::Index{0});
  if (machines <= kMaxExactMachines) return all;
  Random random(kReferenceSeed);
  for (size_t i = 0; i < static_cast<size_t>(kReferenceMachines); ++i) {
    std::swap(all[i], all[i + random.Below(all.size() - i)]);
  }
  all.resize(static_cast<size_t>(kReferenceMachines));
  return all;
}

}  // namespace

Eigen::ArrayXd DistanceSums(const Eigen::MatrixXf& points, DistanceKind kind) {
  if (points.rows() == 0) return {};
  if (kind == DistanceKind::kManhattan) return ManhattanSums(points);
  const std::vector<Eigen::Index> references = References(points.rows());
  Eigen::ArrayXd sums = Eigen::ArrayXd::Zero(points.rows());
  Eigen::ArrayXf distance(points.rows());
  for (const Eigen::Index reference : references) {
    distance.setZero();
    for (Eigen::Index coordinate = 0; coordinate < points.cols(); ++coordinate) {
      const auto difference = points.col(coordinate).array() - points(reference, coordinate);
      if (kind == DistanceKind::kEuclid) {
        distance += difference.square();
      } else {
        distance = distance.max(difference.abs());
      }
    }
    if (kind == DistanceKind::kEuclid) distance = distance.sqrt();
    sums += distance.cast<double>();
  }
  return sums * (static_cast<double>(points.rows()) / static_cast<double>(references.size()));
}

}  // namespace lockstep
