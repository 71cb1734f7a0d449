// The model with which Minder denoises counters: a variational autoencoder of two small LSTMs.
//
// Shapes (Minder, arXiv 2411.01791, section 4.2: one layer, hidden size 4, latent size 8, windows of 8 samples): the
// encoder reads the window sample by sample; from its last hidden state come mean and logarithm of the variance of the
// latent code; the decoder reads the code at every step, and a linear layer turns each of its hidden states into a
// sample. One model per metric has one feature; the variant INT has one feature per metric. Gates follow Hochreiter and
// Schmidhuber (1997) with the forget gate of Gers et al. (2000).
//
// The parameters are one array, so that the optimiser, the file format and gradient checks need not know the parts.
// Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_LSTM_VAE_H_
#define LOCKSTEP_EVAL_MINDER_LSTM_VAE_H_

#include <vector>

namespace lockstep {

inline constexpr int kMinderWindow = 8;  // samples
inline constexpr int kMinderHidden = 4;
inline constexpr int kMinderLatent = 8;
inline constexpr int kMinderGates = 4;                                // input, forget, candidate, output: in this order
inline constexpr int kMinderGateRows = kMinderGates * kMinderHidden;  // row = gate * kMinderHidden + unit
inline constexpr int kMaxMinderFeatures = 32;

// Where each matrix begins in the array of parameters; matrices are row by row.
struct LstmVaeLayout {
  explicit constexpr LstmVaeLayout(int features)
      : features(features),
        encoder_input(0),
        encoder_recurrent(encoder_input + kMinderGateRows * features),
        encoder_bias(encoder_recurrent + kMinderGateRows * kMinderHidden),
        mean_weight(encoder_bias + kMinderGateRows),
        mean_bias(mean_weight + kMinderLatent * kMinderHidden),
        log_variance_weight(mean_bias + kMinderLatent),
        log_variance_bias(log_variance_weight + kMinderLatent * kMinderHidden),
        decoder_input(log_variance_bias + kMinderLatent),
        decoder_recurrent(decoder_input + kMinderGateRows * kMinderLatent),
        decoder_bias(decoder_recurrent + kMinderGateRows * kMinderHidden),
        output_weight(decoder_bias + kMinderGateRows),
        output_bias(output_weight + features * kMinderHidden),
        size(output_bias + features) {}

  int features;
  int encoder_input;        // [gate row][feature]
  int encoder_recurrent;    // [gate row][hidden]
  int encoder_bias;         // [gate row]
  int mean_weight;          // [latent][hidden]
  int mean_bias;            // [latent]
  int log_variance_weight;  // [latent][hidden]
  int log_variance_bias;    // [latent]
  int decoder_input;        // [gate row][latent]
  int decoder_recurrent;    // [gate row][hidden]
  int decoder_bias;         // [gate row]
  int output_weight;        // [feature][hidden]
  int output_bias;          // [feature]
  int size;                 // of the array
};

// `parameters` has LstmVaeLayout(features).size finite values; samples are expected within about [0, 1].
struct LstmVae {
  int features = 1;
  std::vector<float> parameters;
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_LSTM_VAE_H_
