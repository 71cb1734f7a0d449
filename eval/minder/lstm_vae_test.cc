// The fast network against a slow one: kernels of every instruction set, the loss, and its gradient.

#include "eval/minder/lstm_vae.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.h"
#include "eval/minder/lstm_vae_denoiser.h"
#include "eval/minder/lstm_vae_training.h"
#include "eval/minder/testing/lstm_vae_reference.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

std::vector<float> RandomWindows(int features, int count, uint64_t seed) {
  Random random(seed);
  std::vector<float> windows;
  for (int i = 0; i < count * kMinderWindow * features; ++i) windows.push_back(static_cast<float>(random.Unit()));
  return windows;
}

std::vector<double> InDouble(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// What the kernels of `set` make of windows given one after the other, in the same order.
std::vector<float> Denoise(const LstmVae& model, InstructionSet set, const std::vector<float>& windows) {
  const size_t rows = static_cast<size_t>(kMinderWindow * model.features);
  const size_t count = windows.size() / rows;
  std::vector<std::vector<float>> samples(rows, std::vector<float>(count));
  std::vector<std::vector<float>> denoised(rows, std::vector<float>(count));
  std::vector<const float*> sample_rows;
  std::vector<float*> denoised_rows;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < count; ++i) samples[row][i] = windows[i * rows + row];
    sample_rows.push_back(samples[row].data());
    denoised_rows.push_back(denoised[row].data());
  }
  LstmVaeDenoiser(model, set).Run(sample_rows, count, denoised_rows);
  std::vector<float> result(windows.size());
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < count; ++i) result[i * rows + row] = denoised[row][i];
  }
  return result;
}

double GreatestError(const LstmVae& model, InstructionSet set, const std::vector<float>& windows) {
  const std::vector<float> denoised = Denoise(model, set, windows);
  const size_t length = static_cast<size_t>(kMinderWindow * model.features);
  double greatest = 0;
  for (size_t first = 0; first < windows.size(); first += length) {
    const std::vector<double> window(windows.begin() + first, windows.begin() + first + length);
    const std::vector<double> expected =
        ReferenceReconstruction(model.features, InDouble(model.parameters), window, {});
    for (size_t i = 0; i < length; ++i) {
      greatest = std::fmax(greatest, std::fabs(expected[i] - static_cast<double>(denoised[first + i])));
    }
  }
  return greatest;
}

TEST(LstmVaeDenoiserTest, AgreesWithTheReferenceOnEveryInstructionSet) {
  for (const InstructionSet set : AvailableInstructionSets()) {
    for (const int features : {1, 3, 9}) {
      // Counts around the number of lanes: full blocks, and what is left over.
      for (const int count : {1, 3, 4, 7, 8, 15, 16, 17, 50}) {
        const uint64_t seed = static_cast<uint64_t>(count);
        const LstmVae model = RandomLstmVae(features, 1.0, seed);
        EXPECT_LT(GreatestError(model, set, RandomWindows(features, count, seed)), 2e-4)
            << "set " << static_cast<int>(set) << ", " << features << " features, " << count << " windows";
      }
      EXPECT_LT(GreatestError(RandomLstmVae(features, 4.0, 9), set, RandomWindows(features, 100, 9)),
                kDenoiseTolerance);
    }
  }
}

TEST(LstmVaeDenoiserTest, BaselineIsAlwaysThere) {
  EXPECT_EQ(AvailableInstructionSets().front(), InstructionSet::kBaseline);
}

TEST(LstmVaeDenoiserTest, ASpoiltWindowSpoilsNoOther) {
  const LstmVae model = RandomLstmVae(1, 1.0, 4);
  std::vector<float> windows = RandomWindows(1, 20, 4);
  for (const InstructionSet set : AvailableInstructionSets()) {
    const std::vector<float> clean = Denoise(model, set, windows);
    std::vector<float> spoilt = windows;
    spoilt[5 * kMinderWindow + 2] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> result = Denoise(model, set, spoilt);
    for (size_t i = 0; i < result.size(); ++i) {
      if (i / kMinderWindow == 5) {
        EXPECT_TRUE(std::isnan(result[i]));
      } else {
        EXPECT_EQ(result[i], clean[i]);
      }
    }
  }
}

struct GradientCase {
  int features;
  int windows;
};

class LstmVaeGradientTest : public testing::TestWithParam<GradientCase> {};

TEST_P(LstmVaeGradientTest, EqualsFiniteDifferences) {
  const auto [features, count] = GetParam();
  constexpr double kDivergenceWeight = 0.03;
  const std::vector<double> parameters = InDouble(RandomLstmVae(features, 1.0, 17).parameters);
  const std::vector<float> windows = RandomWindows(features, count, 18);
  Random random(19);
  std::vector<double> noise(static_cast<size_t>(count * kMinderLatent));
  for (double& value : noise) value = random.Gaussian();

  const auto reference_loss = [&, features = features, count = count](const std::vector<double>& at) {
    double sum = 0;
    const int length = kMinderWindow * features;
    for (int i = 0; i < count; ++i) {
      const std::vector<double> window(windows.begin() + i * length, windows.begin() + (i + 1) * length);
      const std::vector<double> own(noise.begin() + i * kMinderLatent, noise.begin() + (i + 1) * kMinderLatent);
      sum += ReferenceLoss(features, at, window, own, kDivergenceWeight) / count;
    }
    return sum;
  };

  std::vector<double> gradient(parameters.size(), 0);
  const LstmVaeLoss loss =
      AddLstmVaeGradient(features, parameters, windows, noise, kDivergenceWeight, absl::MakeSpan(gradient));
  EXPECT_NEAR(loss.squared_error + kDivergenceWeight * loss.divergence, reference_loss(parameters), 1e-12);
  for (size_t i = 0; i < parameters.size(); ++i) {
    constexpr double kStep = 1e-5;
    std::vector<double> moved = parameters;
    moved[i] += kStep;
    const double above = reference_loss(moved);
    moved[i] -= 2 * kStep;
    const double difference = (above - reference_loss(moved)) / (2 * kStep);
    EXPECT_NEAR(gradient[i], difference, 1e-8 + 1e-6 * std::fabs(difference)) << "parameter " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LstmVaeGradientTest,
                         testing::Values(GradientCase{1, 1}, GradientCase{1, 9}, GradientCase{3, 2}));

// Levels with jitter, as a gauge has them.
std::vector<float> SmoothWindows(int count, uint64_t seed) {
  Random random(seed);
  std::vector<float> windows;
  for (int i = 0; i < count; ++i) {
    const double level = 0.2 + 0.6 * random.Unit();
    for (int step = 0; step < kMinderWindow; ++step) {
      windows.push_back(static_cast<float>(level + 0.005 * random.Gaussian()));
    }
  }
  return windows;
}

TEST(LstmVaeTrainingTest, LearnsToReconstructWhatItNeverSaw) {
  const LstmVaeTrainingOptions options{.epochs = 25, .batch = 8, .seed = 3};
  const LstmVaeFit fit = TrainLstmVae(1, SmoothWindows(512, 1), options);
  // 0.03 is the variance of the levels: what a model that always says the mean would get.
  EXPECT_LT(MeanSquaredError(fit.model, SmoothWindows(500, 2)), 1e-3);
  EXPECT_GT(MeanSquaredError(TrainLstmVae(1, {}, options).model, SmoothWindows(500, 2)), 1e-2);
}

TEST(LstmVaeTrainingTest, SameSeedSameBytes) {
  const std::vector<float> windows = SmoothWindows(200, 5);
  const LstmVaeTrainingOptions options{.epochs = 2, .seed = 8};
  const LstmVae first = TrainLstmVae(1, windows, options).model;
  EXPECT_EQ(first.parameters, TrainLstmVae(1, windows, options).model.parameters);
  LstmVaeTrainingOptions other = options;
  other.seed = 9;
  EXPECT_NE(first.parameters, TrainLstmVae(1, windows, other).model.parameters);
}

}  // namespace
}  // namespace lockstep
