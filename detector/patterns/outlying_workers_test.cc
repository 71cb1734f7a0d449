// Who of equal workers stands out: against the rule written down plainly, and by its limits.

#include "detector/patterns/outlying_workers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "detector/stats/robust.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<float> Noisy(size_t workers, double beta, double noise, Random& random) {
  std::vector<float> values;
  for (size_t i = 0; i < workers; ++i) values.push_back(static_cast<float>(beta * std::exp(noise * random.Gaussian())));
  return values;
}

OutlyingWorkers Find(const std::vector<float>& beta, double tests = 1000) {
  return FindOutlyingWorkers(beta, std::vector<float>(beta.size(), 0), {.tests = tests});
}

TEST(OutlyingWorkersTest, OneOrAFewAreNamed) {
  Random random(1);
  std::vector<float> beta = Noisy(64, 0.1, 0.02, random);
  EXPECT_THAT(Find(beta).places, IsEmpty());
  beta[7] = 0.3F;
  EXPECT_THAT(Find(beta).places, ElementsAre(7));
  EXPECT_NEAR(Find(beta).usual_beta, 0.1, 0.01);
  EXPECT_NEAR(Find(beta).beta, 0.3, 1e-6);
  EXPECT_GT(Find(beta).distance, Find(beta).threshold);
  beta[63] = 0.25F;
  EXPECT_THAT(Find(beta).places, ElementsAre(7, 63));
}

TEST(OutlyingWorkersTest, LittleCostsNothing) {
  Random random(2);
  std::vector<float> beta = Noisy(64, 0.1, 0.0001, random);
  beta[3] = 0.125F;  // far outside of the noise, and no 3 % of the window
  EXPECT_THAT(Find(beta).places, IsEmpty());
}

TEST(OutlyingWorkersTest, TwoKindsAreNoOutliers) {
  Random random(3);
  std::vector<float> beta = Noisy(64, 0.1, 0.01, random);
  for (size_t i = 0; i < 24; ++i) beta[i] = 0.4F;
  EXPECT_THAT(Find(beta).places, IsEmpty());
}

TEST(OutlyingWorkersTest, OfTwoTheOneThatTakesLonger) {
  EXPECT_THAT(Find({0.01F, 0.3F}).places, ElementsAre(1));
  EXPECT_THAT(Find({0.01F, 0.05F}).places, IsEmpty()) << "twice the excess is asked of so few";
  EXPECT_THAT(Find({0.3F}).places, IsEmpty());
}

TEST(OutlyingWorkersTest, ChanceAccusesNobodyHoweverManyTakePart) {
  size_t accused = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const size_t workers = 2 + random.Below(seed % 10 == 0 ? 3000 : 100);
    const std::vector<float> beta = Noisy(workers, 0.02 + 0.2 * random.Unit(), 0.2 * random.Unit(), random);
    accused += Find(beta, 20 * static_cast<double>(workers)).places.empty() ? 0 : 1;
  }
  EXPECT_LE(accused, 3u);
}

TEST(OutlyingWorkersTest, BesideASmallBetaWhatMeansNothingIsNoFactor) {
  EXPECT_THAT(Find({0.009F, 0.004F, 0.178F, 0.006F}).places, ElementsAre(2)) << "half a percent, give or take the half";
  EXPECT_THAT(Find({0.09F, 0.04F, 0.3F, 0.06F}).places, IsEmpty()) << "the same factors where they mean something";
}

TEST(OutlyingWorkersTest, ChanceAccusesNobodyWithLittleWorkEither) {
  size_t accused = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<float> beta = Noisy(3 + random.Below(100), 0.03 * random.Unit(), 0.3 * random.Unit(), random);
    for (float& value : beta) value = std::fabs(value + static_cast<float>(0.003 * random.Gaussian()));
    accused += Find(beta, 20 * static_cast<double>(beta.size())).places.empty() ? 0 : 1;
  }
  EXPECT_LE(accused, 3u);
}

// The distance of each value from the median in units of the scaled median deviation, with sorted copies.
TEST(OutlyingWorkersTest, DistancesAgreeWithTheReference) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    std::vector<float> values;
    for (uint64_t n = 1 + random.Below(60); n > 0; --n) {
      values.push_back(random.Below(8) == 0 ? NAN : static_cast<float>(random.Gaussian()));
    }
    std::vector<double> known;
    for (const float value : values) {
      if (!std::isnan(value)) known.push_back(static_cast<double>(value));
    }
    const auto median_of = [](std::vector<double> sorted) {
      std::sort(sorted.begin(), sorted.end());
      return sorted.empty() ? 0.0 : (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
    };
    const double median = median_of(known);
    for (double& value : known) value = std::fabs(value - median);
    const double scatter = std::max(0.1, 1.4826 * median_of(known));
    const std::vector<float> distances = ScaledDistances(values, 0.1F);
    for (size_t i = 0; i < values.size(); ++i) {
      const double expected =
          std::isnan(values[i]) ? 0 : std::min(20.0, std::fabs(static_cast<double>(values[i]) - median) / scatter);
      EXPECT_NEAR(static_cast<double>(distances[i]), expected, 1e-4) << seed;
    }
  }
}

TEST(OutlyingWorkersTest, TheNamedAreClearlyApartFromTheRest) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    std::vector<float> beta = Noisy(10 + random.Below(90), 0.1, 0.05, random);
    for (uint64_t n = random.Below(4); n > 0; --n)
      beta[random.Below(beta.size())] *= static_cast<float>(1 + 4 * random.Unit());
    const OutlyingWorkers outlying = Find(beta);
    EXPECT_THAT(outlying.places, SizeIs(testing::Le(std::max<size_t>(1, beta.size() * 34 / 100))));
    if (outlying.places.empty()) continue;
    float least = 1e9F;
    float most = 0;
    for (uint32_t worker = 0; worker < beta.size(); ++worker) {
      const bool named = std::binary_search(outlying.places.begin(), outlying.places.end(), worker);
      if (named) least = std::min(least, beta[worker]);
      if (!named) most = std::max(most, beta[worker]);
    }
    EXPECT_GT(static_cast<double>(least) - outlying.usual_beta,
              1.49 * std::max(0.0, static_cast<double>(most) - outlying.usual_beta))
        << seed;
    EXPECT_GE(static_cast<double>(least) - outlying.usual_beta, 0.03) << seed;
  }
}

}  // namespace
}  // namespace lockstep
