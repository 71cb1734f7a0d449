#include "eval/patterns/pattern_baselines.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "absl/types/span.h"
#include "detector/patterns/function_group.h"
#include "eval/scoring/confidence_interval.h"

namespace lockstep {
namespace {

constexpr double kLeastBeta = 0.01;
constexpr double kRadius = 0.4;
constexpr double kMads = 5;

// (beta, mu, sigma): mu is the utilisation, or the duration relative to the median of all.
struct Point {
  double beta;
  double mu;
  double sigma;
};

double Distance(const Point& a, const Point& b) {
  return std::fabs(a.beta - b.beta) + std::min(1.0, std::fabs(a.mu - b.mu)) +
         std::min(1.0, std::fabs(a.sigma - b.sigma));
}

std::vector<Point> PointsOf(const FleetFunction& function) {
  std::vector<double> means;
  for (const PatternCell& cell : function.cells) means.push_back(static_cast<double>(cell.mean_seconds));
  const double usual = std::max(Percentile(means, 0.5), 1e-12);
  std::vector<Point> points;
  for (const PatternCell& cell : function.cells) {
    const bool occupancy = function.utilisation == Utilisation::kOccupancy;
    points.push_back({static_cast<double>(cell.beta),
                      occupancy ? static_cast<double>(cell.mu) : static_cast<double>(cell.mean_seconds) / usual,
                      occupancy ? static_cast<double>(cell.sigma) : static_cast<double>(cell.spread)});
  }
  return points;
}

// How many of the points are within the radius of each, itself included.
std::vector<size_t> Neighbours(const std::vector<Point>& points) {
  std::vector<size_t> neighbours(points.size(), 0);
  for (size_t i = 0; i < points.size(); ++i) {
    for (const Point& other : points) neighbours[i] += Distance(points[i], other) < kRadius ? 1 : 0;
  }
  return neighbours;
}

// Which cells of a function are abnormal.
using Rule = std::function<std::vector<char>(const FleetFunction& function)>;

std::vector<PatternAnswer> JudgeBy(const Rule& rule, const PatternFleet& fleet) {
  struct Named {
    double beta = 0;
    int32_t function = -1;
  };
  std::map<std::pair<PatternClass, std::vector<int32_t>>, Named> found;
  for (size_t index = 0; index < fleet.functions().size(); ++index) {
    const FleetFunction& function = fleet.functions()[index];
    if (function.cells.size() < 2) continue;
    const std::vector<char> abnormal = rule(function);
    std::vector<int32_t> ranks;
    double beta = 0;
    for (size_t i = 0; i < abnormal.size(); ++i) {
      const auto of_cell = static_cast<double>(function.cells[i].beta);
      if (abnormal[i] == 0 || of_cell <= kLeastBeta) continue;
      ranks.push_back(fleet.workers()[function.cells[i].worker].rank);
      beta = std::max(beta, of_cell);
    }
    if (ranks.empty()) continue;
    Named& named = found[{TraitsOf(function.group).pattern_class, ranks}];
    if (beta > named.beta) named = {beta, static_cast<int32_t>(index)};
  }
  std::vector<PatternAnswer> answers;
  for (const auto& [key, named] : found) {
    const bool of_all = key.second.size() == fleet.workers().size();
    answers.push_back({key.first, of_all, of_all ? std::vector<int32_t>() : key.second, named.function});
  }
  return answers;
}

}  // namespace

std::vector<PatternAnswer> JudgeByThreeSigma(const PatternFleet& fleet) {
  return JudgeBy(
      [](const FleetFunction& function) {
        double sum = 0;
        double squares = 0;
        const auto count = static_cast<double>(function.cells.size());
        for (const PatternCell& cell : function.cells) {
          sum += static_cast<double>(cell.mean_seconds);
          squares += static_cast<double>(cell.mean_seconds) * static_cast<double>(cell.mean_seconds);
        }
        const double mean = sum / count;
        const double limit = mean + 3 * std::sqrt(std::max(0.0, squares / count - mean * mean));
        std::vector<char> abnormal;
        for (const PatternCell& cell : function.cells) {
          abnormal.push_back(static_cast<double>(cell.mean_seconds) > limit ? 1 : 0);
        }
        return abnormal;
      },
      fleet);
}

// With a core of half of all points there is one cluster, and a point outside of it is noise.
std::vector<PatternAnswer> JudgeByDbscan(const PatternFleet& fleet) {
  return JudgeBy(
      [](const FleetFunction& function) {
        const std::vector<Point> points = PointsOf(function);
        const std::vector<size_t> neighbours = Neighbours(points);
        std::vector<char> abnormal(points.size(), 1);
        for (size_t i = 0; i < points.size(); ++i) {
          if (2 * neighbours[i] < points.size()) continue;
          for (size_t other = 0; other < points.size(); ++other) {
            if (Distance(points[i], points[other]) < kRadius) abnormal[other] = 0;
          }
        }
        return abnormal;
      },
      fleet);
}

std::vector<PatternAnswer> JudgeByShareThatDiffers(const PatternFleet& fleet) {
  return JudgeBy(
      [](const FleetFunction& function) {
        const std::vector<size_t> neighbours = Neighbours(PointsOf(function));
        const auto count = static_cast<double>(neighbours.size());
        std::vector<double> shares;
        for (const size_t near : neighbours) shares.push_back(1 - static_cast<double>(near) / count);
        const double median = Percentile(shares, 0.5);
        std::vector<double> deviations;
        for (const double share : shares) deviations.push_back(std::fabs(share - median));
        const double limit = median + kMads * Percentile(deviations, 0.5);
        std::vector<char> abnormal;
        for (const double share : shares) abnormal.push_back(share > limit ? 1 : 0);
        return abnormal;
      },
      fleet);
}

}  // namespace lockstep
