#include "eval/minder/testing/lstm_vae_reference.h"

#include <cmath>

#include "base/random.h"

namespace lockstep {
namespace {

struct State {
  std::vector<double> hidden = std::vector<double>(kMinderHidden, 0);
  std::vector<double> cell = std::vector<double>(kMinderHidden, 0);
};

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// `matrix` rows of weights.size() / rows columns, times `vector`.
double RowTimes(const double* matrix, int row, const std::vector<double>& vector) {
  double sum = 0;
  for (size_t i = 0; i < vector.size(); ++i) sum += matrix[row * vector.size() + i] * vector[i];
  return sum;
}

void Step(const double* input, const double* recurrent, const double* bias, const std::vector<double>& x,
          State& state) {
  const State before = state;
  for (int unit = 0; unit < kMinderHidden; ++unit) {
    double sum[kMinderGates];
    for (int gate = 0; gate < kMinderGates; ++gate) {
      const int row = gate * kMinderHidden + unit;
      sum[gate] = bias[row] + RowTimes(input, row, x) + RowTimes(recurrent, row, before.hidden);
    }
    state.cell[unit] = Logistic(sum[1]) * before.cell[unit] + Logistic(sum[0]) * std::tanh(sum[2]);
    state.hidden[unit] = Logistic(sum[3]) * std::tanh(state.cell[unit]);
  }
}

struct Code {
  std::vector<double> mean;
  std::vector<double> log_variance;
};

Code Encode(const LstmVaeLayout& layout, const double* p, const std::vector<double>& window) {
  State state;
  for (int step = 0; step < kMinderWindow; ++step) {
    const auto first = window.begin() + step * layout.features;
    Step(p + layout.encoder_input, p + layout.encoder_recurrent, p + layout.encoder_bias,
         std::vector<double>(first, first + layout.features), state);
  }
  Code code;
  for (int i = 0; i < kMinderLatent; ++i) {
    code.mean.push_back(p[layout.mean_bias + i] + RowTimes(p + layout.mean_weight, i, state.hidden));
    code.log_variance.push_back(p[layout.log_variance_bias + i] +
                                RowTimes(p + layout.log_variance_weight, i, state.hidden));
  }
  return code;
}

}  // namespace

LstmVae RandomLstmVae(int features, double most, uint64_t seed) {
  Random random(seed);
  LstmVae model;
  model.features = features;
  for (int i = 0; i < LstmVaeLayout(features).size; ++i) {
    model.parameters.push_back(static_cast<float>(most * (2 * random.Unit() - 1)));
  }
  return model;
}

std::vector<double> ReferenceReconstruction(int features, const std::vector<double>& parameters,
                                            const std::vector<double>& window, const std::vector<double>& noise) {
  const LstmVaeLayout layout(features);
  const double* p = parameters.data();
  const Code code = Encode(layout, p, window);
  std::vector<double> latent = code.mean;
  for (size_t i = 0; i < noise.size(); ++i) latent[i] += std::exp(0.5 * code.log_variance[i]) * noise[i];
  std::vector<double> reconstruction;
  State state;
  for (int step = 0; step < kMinderWindow; ++step) {
    Step(p + layout.decoder_input, p + layout.decoder_recurrent, p + layout.decoder_bias, latent, state);
    for (int feature = 0; feature < features; ++feature) {
      reconstruction.push_back(p[layout.output_bias + feature] +
                               RowTimes(p + layout.output_weight, feature, state.hidden));
    }
  }
  return reconstruction;
}

double ReferenceLoss(int features, const std::vector<double>& parameters, const std::vector<double>& window,
                     const std::vector<double>& noise, double divergence_weight) {
  const std::vector<double> reconstruction = ReferenceReconstruction(features, parameters, window, noise);
  double loss = 0;
  for (size_t i = 0; i < window.size(); ++i) {
    loss += (reconstruction[i] - window[i]) * (reconstruction[i] - window[i]) / static_cast<double>(window.size());
  }
  const Code code = Encode(LstmVaeLayout(features), parameters.data(), window);
  for (int i = 0; i < kMinderLatent; ++i) {
    loss += divergence_weight * 0.5 *
            (code.mean[i] * code.mean[i] + std::exp(code.log_variance[i]) - 1 - code.log_variance[i]);
  }
  return loss;
}

}  // namespace lockstep
