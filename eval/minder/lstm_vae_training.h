// Fits an LSTM-VAE to windows: the evidence lower bound of Kingma and Welling (2014), backpropagation by hand in
// double, Adam (Kingma and Ba 2015).
//
// Loss of a window: mean squared error of its reconstruction + divergence_weight * KL(code || standard normal). With
// Gaussian observation noise of variance s that is the bound up to a factor for divergence_weight = 2 s / samples; the
// published error of 1e-4 on samples in [0, 1] asks for a weight of that order or below. The paper does not give it.
//
// The order of windows, the starting values and the noise of the codes come from the seed: same windows and options,
// same bytes. All arithmetic is in double and without fused operations; from one machine to another only the C
// library's logarithm and cosine, which the noise needs, may round otherwise. Cost: see docs/counters.md. Pure;
// thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_LSTM_VAE_TRAINING_H_
#define LOCKSTEP_EVAL_MINDER_LSTM_VAE_TRAINING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "eval/minder/lstm_vae.h"

namespace lockstep {

struct LstmVaeTrainingOptions {
  int epochs = 15;
  int batch = 16;               // windows per step of the optimiser
  double learning_rate = 0.01;  // falls along a cosine to a hundredth of this
  double divergence_weight = 1e-5;
  uint64_t seed = 1;
};

// Means over the windows.
struct LstmVaeLoss {
  double squared_error = 0;  // per sample
  double divergence = 0;     // in nats, per window
};

struct LstmVaeFit {
  LstmVae model;
  LstmVaeLoss loss;  // of the last epoch; the squared error is that of noisy codes, see MeanSquaredError
};

// `windows` are one after the other, each kMinderWindow rows of `features` finite values. Without windows the model is
// its starting values.
LstmVaeFit TrainLstmVae(int features, absl::Span<const float> windows, const LstmVaeTrainingOptions& options);

// Loss of `windows` and its gradient, which is added to `gradient`. `noise` has kMinderLatent standard normal values
// per window. Exposed to be checked against finite differences.
LstmVaeLoss AddLstmVaeGradient(int features, absl::Span<const double> parameters, absl::Span<const float> windows,
                               absl::Span<const double> noise, double divergence_weight, absl::Span<double> gradient);

// Of reconstructions from the means of the codes, as detection makes them.
double MeanSquaredError(const LstmVae& model, absl::Span<const float> windows);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_LSTM_VAE_TRAINING_H_
