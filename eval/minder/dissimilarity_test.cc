// Sums of distances, Mahalanobis distances and normal scores against what the definitions say.

#include <cmath>
#include <cstdint>
#include <eigen3/Eigen/Core>

#include "base/random.h"
#include "eval/minder/distance_sum.h"
#include "eval/minder/normal_score.h"
#include "eval/minder/summary_distance.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

Eigen::MatrixXf RandomPoints(int machines, int coordinates, uint64_t seed) {
  Random random(seed);
  Eigen::MatrixXf points(machines, coordinates);
  for (int column = 0; column < coordinates; ++column) {
    // A few equal values, as counters have them.
    for (int row = 0; row < machines; ++row) points(row, column) = static_cast<float>(random.Below(50)) / 50.0F;
  }
  return points;
}

double Distance(const Eigen::MatrixXd& points, int a, int b, DistanceKind kind) {
  const Eigen::VectorXd difference = points.row(a) - points.row(b);
  if (kind == DistanceKind::kEuclid) return difference.norm();
  if (kind == DistanceKind::kManhattan) return difference.lpNorm<1>();
  return difference.lpNorm<Eigen::Infinity>();
}

Eigen::ArrayXd ReferenceSums(const Eigen::MatrixXf& points, DistanceKind kind) {
  const Eigen::MatrixXd exact = points.cast<double>();
  Eigen::ArrayXd sums = Eigen::ArrayXd::Zero(points.rows());
  for (int a = 0; a < points.rows(); ++a) {
    for (int b = 0; b < points.rows(); ++b) sums[a] += Distance(exact, a, b, kind);
  }
  return sums;
}

TEST(DistanceSumTest, EqualsAllPairs) {
  for (const DistanceKind kind : {DistanceKind::kEuclid, DistanceKind::kManhattan, DistanceKind::kChebyshev}) {
    for (const int machines : {1, 2, 3, 17, 120}) {
      const Eigen::MatrixXf points = RandomPoints(machines, 8, static_cast<uint64_t>(machines));
      const Eigen::ArrayXd expected = ReferenceSums(points, kind);
      const Eigen::ArrayXd sums = DistanceSums(points, kind);
      ASSERT_EQ(sums.size(), machines);
      EXPECT_LT((sums - expected).abs().maxCoeff(), 1e-4 * (1 + expected.maxCoeff())) << machines;
    }
  }
  EXPECT_EQ(DistanceSums(Eigen::MatrixXf(0, 8), DistanceKind::kEuclid).size(), 0);
}

TEST(DistanceSumTest, SampledSumsStayWithinTheStatedError) {
  constexpr int kMachines = 300;
  const Eigen::MatrixXf points = RandomPoints(kMachines, 8, 5);
  for (const DistanceKind kind : {DistanceKind::kEuclid, DistanceKind::kChebyshev}) {
    const Eigen::ArrayXd expected = ReferenceSums(points, kind);
    const Eigen::ArrayXd sums = DistanceSums(points, kind);
    // The distances of a point of the unit cube vary by less than a third of their mean.
    const double standard_error = std::sqrt(1.0 / kReferenceMachines - 1.0 / kMachines) / 3;
    EXPECT_LT(((sums - expected) / expected).abs().maxCoeff(), 5 * standard_error);
    EXPECT_GT(((sums - expected) / expected).abs().maxCoeff(), 0);
  }
  const Eigen::ArrayXd exact = ReferenceSums(points, DistanceKind::kManhattan);
  EXPECT_LT((DistanceSums(points, DistanceKind::kManhattan) - exact).abs().maxCoeff(), 1e-3);
}

TEST(NormalScoreTest, CountsStandardDeviations) {
  Eigen::ArrayXd values(4);
  values << 1, 1, 1, 5;
  const Eigen::ArrayXd scores = NormalScores(values);
  EXPECT_NEAR(scores[3], std::sqrt(3.0), 1e-12);  // the most that four machines can have
  EXPECT_NEAR(scores.sum(), 0, 1e-12);
  EXPECT_TRUE((NormalScores(Eigen::ArrayXd::Constant(5, 0.3)) == 0).all());
  values[0] = std::nan("");
  EXPECT_TRUE((NormalScores(values) == 0).all());
}

TEST(NormalScoreTest, CandidateNeedsThreeMachinesAndAScore) {
  Eigen::ArrayXd ten = Eigen::ArrayXd::LinSpaced(10, 1.0, 1.1);
  EXPECT_EQ(FindCandidate(ten, {}).machine, kNoMachine);
  ten[4] = 9;
  EXPECT_EQ(FindCandidate(ten, {}).machine, 4);
  Eigen::ArrayXd four(4);
  four << 1, 9, 1.1, 1;
  EXPECT_EQ(FindCandidate(four, {}).machine, 1) << "the threshold adapts to what four machines can reach";
  EXPECT_EQ(FindCandidate(four, {.deviations = 3, .share_of_most = 1}).machine, kNoMachine);
  EXPECT_EQ(FindCandidate(four.head(2), {}).machine, kNoMachine);
  EXPECT_EQ(FindCandidate(Eigen::ArrayXd(), {}).machine, kNoMachine);
}

TEST(SummaryDistanceTest, FindsAMachineThatTrembles) {
  Random random(3);
  Eigen::MatrixXf windows(20, 8);
  for (int machine = 0; machine < 20; ++machine) {
    const double deviation = machine == 7 ? 0.2 : 0.01;
    for (int sample = 0; sample < 8; ++sample) {
      windows(machine, sample) = static_cast<float>(0.5 + deviation * random.Gaussian());
    }
  }
  Eigen::Index farthest = 0;
  SummaryDistances(windows).maxCoeff(&farthest);
  EXPECT_EQ(farthest, 7);
}

TEST(SummaryDistanceTest, NearlyIgnoresTheScaleOfTheWindows) {
  Eigen::MatrixXf windows(30, 8);
  Random random(4);
  for (int machine = 0; machine < 30; ++machine) {
    for (int sample = 0; sample < 8; ++sample) windows(machine, sample) = static_cast<float>(random.Unit());
  }
  const Eigen::ArrayXd distances = SummaryDistances(windows);
  const Eigen::ArrayXd scaled = SummaryDistances(windows * 8);
  EXPECT_LT((distances - scaled).abs().maxCoeff(), 1e-6);
  EXPECT_GT(distances.minCoeff(), 0);
}

TEST(SummaryDistanceTest, EqualMachinesAreNotApart) {
  EXPECT_TRUE((SummaryDistances(Eigen::MatrixXf::Constant(6, 8, 0.25F)) == 0).all());
  EXPECT_EQ(SummaryDistances(Eigen::MatrixXf(0, 8)).size(), 0);
}

}  // namespace
}  // namespace lockstep
