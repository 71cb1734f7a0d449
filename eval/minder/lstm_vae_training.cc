#include "eval/minder/lstm_vae_training.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/shuffle.h"
#include "eval/minder/lstm_cell.h"
#include "eval/minder/lstm_vae_denoiser.h"

namespace lockstep {
namespace {

constexpr double kPi = 3.14159265358979323846;

template <typename Value>
LstmMatrices<Value> Encoder(const LstmVaeLayout& layout, Value* values) {
  return {values + layout.encoder_input, values + layout.encoder_recurrent, values + layout.encoder_bias,
          layout.features};
}

template <typename Value>
LstmMatrices<Value> Decoder(const LstmVaeLayout& layout, Value* values) {
  return {values + layout.decoder_input, values + layout.decoder_recurrent, values + layout.decoder_bias,
          kMinderLatent};
}

using LatentLanes = std::array<TrainingLanes, kMinderLatent>;

// The pass of up to kTrainingLanes windows through the network and back. `weight` is what each window counts: 0 for
// lanes without one.
class Pass {
 public:
  Pass(const LstmVaeLayout& layout, const double* parameters, const TrainingLanes& weight)
      : layout_(layout), parameters_(parameters), weight_(weight) {}

  // `window` has one pointer per lane, `noise` as well.
  LstmVaeLoss Forward(const std::array<const float*, kTrainingLanes>& windows,
                      const std::array<const double*, kTrainingLanes>& noise, double divergence_weight) {
    samples_.resize(static_cast<size_t>(kMinderWindow * layout_.features));
    residual_.resize(samples_.size());
    for (size_t i = 0; i < samples_.size(); ++i) {
      for (int lane = 0; lane < kTrainingLanes; ++lane) samples_[i][lane] = windows[lane][i];
    }
    divergence_weight_ = divergence_weight;
    Encode(noise);
    Decode();
    LstmVaeLoss loss;
    for (const TrainingLanes& residual : residual_) {
      loss.squared_error += (weight_ * residual.square()).sum() / static_cast<double>(residual_.size());
    }
    for (int i = 0; i < kMinderLatent; ++i) {
      const TrainingLanes variance = deviation_[i].square();
      const TrainingLanes divergence = 0.5 * (mean_[i].square() + variance - 1 - log_variance_[i]);
      loss.divergence += (weight_ * divergence).sum();
    }
    return loss;
  }

  void Backward(const std::array<const double*, kTrainingLanes>& noise, TrainingLanes* gradient) const {
    LatentLanes code_gradient;
    for (TrainingLanes& lanes : code_gradient) lanes.setZero();
    BackThroughDecoder(gradient, code_gradient);
    LstmStateGradient state = LstmStateGradient::Zero();
    BackThroughCode(noise, code_gradient, gradient, state);
    const auto weights = Encoder(layout_, parameters_);
    const auto matrices = Encoder(layout_, gradient);
    for (int step = kMinderWindow; step >= 1; --step) {
      LstmBackward(weights, Sample(step - 1), encoder_[step - 1], encoder_[step], state, matrices, nullptr);
    }
  }

 private:
  const TrainingLanes* Sample(int step) const { return samples_.data() + step * layout_.features; }

  void Encode(const std::array<const double*, kTrainingLanes>& noise) {
    encoder_[0] = LstmStep::Zero();
    const auto weights = Encoder(layout_, parameters_);
    for (int step = 0; step < kMinderWindow; ++step) {
      encoder_[step + 1] = LstmForward(weights, Sample(step), encoder_[step]);
    }
    const auto& hidden = encoder_[kMinderWindow].hidden;
    for (int i = 0; i < kMinderLatent; ++i) {
      mean_[i].setConstant(parameters_[layout_.mean_bias + i]);
      log_variance_[i].setConstant(parameters_[layout_.log_variance_bias + i]);
      for (int k = 0; k < kMinderHidden; ++k) {
        mean_[i] += parameters_[layout_.mean_weight + i * kMinderHidden + k] * hidden[k];
        log_variance_[i] += parameters_[layout_.log_variance_weight + i * kMinderHidden + k] * hidden[k];
      }
      deviation_[i] = (0.5 * log_variance_[i]).exp();
      for (int lane = 0; lane < kTrainingLanes; ++lane) {
        code_[i][lane] = mean_[i][lane] + deviation_[i][lane] * noise[lane][i];
      }
    }
  }

  void Decode() {
    decoder_[0] = LstmStep::Zero();
    const auto weights = Decoder(layout_, parameters_);
    for (int step = 0; step < kMinderWindow; ++step) {
      decoder_[step + 1] = LstmForward(weights, code_.data(), decoder_[step]);
      for (int feature = 0; feature < layout_.features; ++feature) {
        TrainingLanes value = TrainingLanes::Constant(parameters_[layout_.output_bias + feature]);
        for (int k = 0; k < kMinderHidden; ++k) {
          value += parameters_[layout_.output_weight + feature * kMinderHidden + k] * decoder_[step + 1].hidden[k];
        }
        const int row = step * layout_.features + feature;
        residual_[row] = value - samples_[row];
      }
    }
  }

  void BackThroughDecoder(TrainingLanes* gradient, LatentLanes& code_gradient) const {
    const auto weights = Decoder(layout_, parameters_);
    const auto matrices = Decoder(layout_, gradient);
    LstmStateGradient state = LstmStateGradient::Zero();
    for (int step = kMinderWindow; step >= 1; --step) {
      for (int feature = 0; feature < layout_.features; ++feature) {
        const TrainingLanes d_value = weight_ * residual_[(step - 1) * layout_.features + feature] *
                                      (2.0 / static_cast<double>(residual_.size()));
        gradient[layout_.output_bias + feature] += d_value;
        for (int k = 0; k < kMinderHidden; ++k) {
          const int at = layout_.output_weight + feature * kMinderHidden + k;
          gradient[at] += d_value * decoder_[step].hidden[k];
          state.hidden[k] += parameters_[at] * d_value;
        }
      }
      LstmBackward(weights, code_.data(), decoder_[step - 1], decoder_[step], state, matrices, code_gradient.data());
    }
  }

  void BackThroughCode(const std::array<const double*, kTrainingLanes>& noise, const LatentLanes& code_gradient,
                       TrainingLanes* gradient, LstmStateGradient& state) const {
    const auto& hidden = encoder_[kMinderWindow].hidden;
    for (int i = 0; i < kMinderLatent; ++i) {
      TrainingLanes drawn;
      for (int lane = 0; lane < kTrainingLanes; ++lane) drawn[lane] = noise[lane][i];
      const TrainingLanes d_mean = code_gradient[i] + divergence_weight_ * weight_ * mean_[i];
      const TrainingLanes d_log_variance = code_gradient[i] * drawn * 0.5 * deviation_[i] +
                                           divergence_weight_ * weight_ * 0.5 * (deviation_[i].square() - 1);
      gradient[layout_.mean_bias + i] += d_mean;
      gradient[layout_.log_variance_bias + i] += d_log_variance;
      for (int k = 0; k < kMinderHidden; ++k) {
        const int mean_at = layout_.mean_weight + i * kMinderHidden + k;
        const int log_variance_at = layout_.log_variance_weight + i * kMinderHidden + k;
        gradient[mean_at] += d_mean * hidden[k];
        gradient[log_variance_at] += d_log_variance * hidden[k];
        state.hidden[k] += parameters_[mean_at] * d_mean + parameters_[log_variance_at] * d_log_variance;
      }
    }
  }

  const LstmVaeLayout& layout_;
  const double* parameters_;
  const TrainingLanes weight_;
  double divergence_weight_ = 0;
  std::vector<TrainingLanes> samples_;
  std::vector<TrainingLanes> residual_;
  std::array<LstmStep, kMinderWindow + 1> encoder_;  // [0] is the state before the window
  std::array<LstmStep, kMinderWindow + 1> decoder_;
  LatentLanes mean_;
  LatentLanes log_variance_;
  LatentLanes deviation_;
  LatentLanes code_;
};

// Adam with the moments of its paper.
class Adam {
 public:
  explicit Adam(size_t size) : mean_(size, 0), square_(size, 0) {}

  void Step(absl::Span<const double> gradient, double rate, absl::Span<double> parameters) {
    constexpr double kMeanDecay = 0.9;
    constexpr double kSquareDecay = 0.999;
    constexpr double kEpsilon = 1e-8;
    mean_power_ *= kMeanDecay;
    square_power_ *= kSquareDecay;
    for (size_t i = 0; i < parameters.size(); ++i) {
      mean_[i] = kMeanDecay * mean_[i] + (1 - kMeanDecay) * gradient[i];
      square_[i] = kSquareDecay * square_[i] + (1 - kSquareDecay) * gradient[i] * gradient[i];
      const double scale = std::sqrt(square_[i] / (1 - square_power_)) + kEpsilon;
      parameters[i] -= rate * mean_[i] / (1 - mean_power_) / scale;
    }
  }

 private:
  std::vector<double> mean_;
  std::vector<double> square_;
  double mean_power_ = 1;
  double square_power_ = 1;
};

// Uniform within +-1/sqrt(columns), as is customary for LSTMs; forget gates begin open.
std::vector<double> StartingParameters(const LstmVaeLayout& layout, Random& random) {
  std::vector<double> parameters(static_cast<size_t>(layout.size));
  const double bound = 1 / std::sqrt(static_cast<double>(kMinderHidden));
  for (double& parameter : parameters) parameter = bound * (2 * random.Unit() - 1);
  for (int unit = 0; unit < kMinderHidden; ++unit) {
    parameters[layout.encoder_bias + kMinderHidden + unit] = 1;
    parameters[layout.decoder_bias + kMinderHidden + unit] = 1;
  }
  // Codes begin almost without noise, so that the decoder listens to them.
  for (int i = 0; i < kMinderLatent; ++i) parameters[layout.log_variance_bias + i] = -6;
  return parameters;
}

LstmVae ToModel(int features, absl::Span<const double> parameters) {
  LstmVae model;
  model.features = features;
  for (const double parameter : parameters) model.parameters.push_back(static_cast<float>(parameter));
  return model;
}

}  // namespace

LstmVaeLoss AddLstmVaeGradient(int features, absl::Span<const double> parameters, absl::Span<const float> windows,
                               absl::Span<const double> noise, double divergence_weight, absl::Span<double> gradient) {
  const LstmVaeLayout layout(features);
  const size_t length = static_cast<size_t>(kMinderWindow * features);
  const size_t count = windows.size() / length;
  CHECK(windows.size() == count * length && noise.size() == count * kMinderLatent);
  CHECK(parameters.size() == static_cast<size_t>(layout.size) && gradient.size() == parameters.size());
  std::vector<TrainingLanes> lanes_gradient(gradient.size(), TrainingLanes::Zero());
  LstmVaeLoss loss;
  for (size_t first = 0; first < count; first += kTrainingLanes) {
    TrainingLanes weight = TrainingLanes::Zero();
    std::array<const float*, kTrainingLanes> window_of;
    std::array<const double*, kTrainingLanes> noise_of;
    for (size_t lane = 0; lane < kTrainingLanes; ++lane) {
      const size_t index = std::min(first + lane, count - 1);
      window_of[lane] = windows.data() + index * length;
      noise_of[lane] = noise.data() + index * kMinderLatent;
      if (first + lane < count) weight[static_cast<Eigen::Index>(lane)] = 1.0 / static_cast<double>(count);
    }
    Pass pass(layout, parameters.data(), weight);
    const LstmVaeLoss part = pass.Forward(window_of, noise_of, divergence_weight);
    pass.Backward(noise_of, lanes_gradient.data());
    loss.squared_error += part.squared_error;
    loss.divergence += part.divergence;
  }
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] += lanes_gradient[i].sum();
  return loss;
}

LstmVaeFit TrainLstmVae(int features, absl::Span<const float> windows, const LstmVaeTrainingOptions& options) {
  CHECK(features >= 1 && features <= kMaxMinderFeatures && options.batch >= 1);
  const LstmVaeLayout layout(features);
  const size_t length = static_cast<size_t>(kMinderWindow * features);
  const size_t count = windows.size() / length;
  Random random(options.seed);
  std::vector<double> parameters = StartingParameters(layout, random);
  LstmVaeFit fit;
  Adam adam(parameters.size());
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = i;
  for (int epoch = 0; epoch < options.epochs && count > 0; ++epoch) {
    Shuffle(random, &order);
    fit.loss = {};
    const double cosine = 0.5 * (1 + std::cos(kPi * epoch / options.epochs));
    const double rate = options.learning_rate * (0.01 + 0.99 * cosine);
    for (size_t first = 0; first < count; first += static_cast<size_t>(options.batch)) {
      const size_t size = std::min(static_cast<size_t>(options.batch), count - first);
      std::vector<float> batch;
      for (size_t i = 0; i < size; ++i) {
        const absl::Span<const float> window = windows.subspan(order[first + i] * length, length);
        batch.insert(batch.end(), window.begin(), window.end());
      }
      std::vector<double> noise(size * kMinderLatent);
      for (double& value : noise) value = random.Gaussian();
      std::vector<double> gradient(parameters.size(), 0);
      const LstmVaeLoss loss =
          AddLstmVaeGradient(features, parameters, batch, noise, options.divergence_weight, absl::MakeSpan(gradient));
      adam.Step(gradient, rate, absl::MakeSpan(parameters));
      fit.loss.squared_error += loss.squared_error * static_cast<double>(size) / static_cast<double>(count);
      fit.loss.divergence += loss.divergence * static_cast<double>(size) / static_cast<double>(count);
    }
  }
  fit.model = ToModel(features, parameters);
  return fit;
}

double MeanSquaredError(const LstmVae& model, absl::Span<const float> windows) {
  const size_t rows = static_cast<size_t>(kMinderWindow * model.features);
  const size_t count = windows.size() / rows;
  if (count == 0) return 0;
  std::vector<float> samples(windows.size());
  std::vector<float> denoised(windows.size());
  std::vector<const float*> sample_rows(rows);
  std::vector<float*> denoised_rows(rows);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < count; ++i) samples[row * count + i] = windows[i * rows + row];
    sample_rows[row] = samples.data() + row * count;
    denoised_rows[row] = denoised.data() + row * count;
  }
  // Not the fastest: what is written into a model must not depend on the processor.
  LstmVaeDenoiser(model, InstructionSet::kBaseline).Run(sample_rows, count, denoised_rows);
  double sum = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double error = static_cast<double>(samples[i]) - static_cast<double>(denoised[i]);
    sum += error * error;
  }
  return sum / static_cast<double>(samples.size());
}

}  // namespace lockstep
