// The forward pass of an LSTM-VAE for kLanes windows at once: what each instruction set compiles for itself.
//
// Everything here is a template on the number of lanes, which differs between the compile units, so that no two of them
// define the same function. Parameters are those of LstmVaeLayout except that the rows of the input, forget and output
// gates are halved: logistic(x) = (1 + tanh(x / 2)) / 2, and the halving is done once instead of per sample.
// Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_LSTM_VAE_KERNEL_H_
#define LOCKSTEP_EVAL_MINDER_LSTM_VAE_KERNEL_H_

#include "eval/minder/lstm_vae.h"

namespace lockstep {

// `samples` and `denoised` have kMinderWindow * features rows of `count` floats.
using LstmVaeKernel = void (*)(int features, const float* parameters, const float* const* samples, unsigned long count,
                               float* const* denoised);

template <int kLanes>
class LaneKernel {
 public:
  static void Run(int features, const float* parameters, const float* const* samples, unsigned long count,
                  float* const* denoised) {
    const LstmVaeLayout layout(features);
    unsigned long first = 0;
    for (; first + kLanes <= count; first += kLanes) {
      Block(layout, parameters, samples, first, kLanes, denoised);
    }
    if (first < count) Block(layout, parameters, samples, first, count - first, denoised);
  }

 private:
  typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));

  struct State {
    Lanes hidden[kMinderHidden];
    Lanes cell[kMinderHidden];
  };

  static Lanes Load(const float* from, unsigned long lanes) {
    Lanes value = {};
    __builtin_memcpy(&value, from, lanes * sizeof(float));
    return value;
  }

  static void Store(const Lanes& value, float* to, unsigned long lanes) {
    __builtin_memcpy(to, &value, lanes * sizeof(float));
  }

  // x P(x^2) / Q(x^2), fitted by us (reweighted least squares towards the smallest greatest error) on [-kMost, kMost],
  // beyond which tanh is held. Not a number stays one.
  static Lanes Tanh(Lanes x) {
    constexpr float kMost = 6;
    x = x > kMost ? Lanes{} + kMost : x;
    x = x < -kMost ? Lanes{} - kMost : x;
    const Lanes square = x * x;
    const Lanes top = (1.4955707e-3F * square + 1.1447314e-1F) * square + 9.9997118e-1F;
    const Lanes bottom = ((5.5186784e-5F * square + 1.7487537e-2F) * square + 4.4771458e-1F) * square + 1.0F;
    return x * top / bottom;
  }

  static Lanes Logistic(Lanes half) { return 0.5F * Tanh(half) + 0.5F; }

  // `gates[row]` holds what the step's input adds to each row, bias included.
  static void Step(const float* recurrent, const Lanes* gates, State& state) {
    Lanes next[kMinderHidden];
    for (int unit = 0; unit < kMinderHidden; ++unit) {
      Lanes sum[kMinderGates];
      for (int gate = 0; gate < kMinderGates; ++gate) {
        const int row = gate * kMinderHidden + unit;
        sum[gate] = gates[row];
        for (int k = 0; k < kMinderHidden; ++k) sum[gate] += recurrent[row * kMinderHidden + k] * state.hidden[k];
      }
      state.cell[unit] = Logistic(sum[1]) * state.cell[unit] + Logistic(sum[0]) * Tanh(sum[2]);
      next[unit] = Logistic(sum[3]) * Tanh(state.cell[unit]);
    }
    for (int unit = 0; unit < kMinderHidden; ++unit) state.hidden[unit] = next[unit];
  }

  static void Encode(const LstmVaeLayout& layout, const float* parameters, const float* const* samples,
                     unsigned long first, unsigned long lanes, Lanes* code) {
    State state = {};
    for (int step = 0; step < kMinderWindow; ++step) {
      Lanes gates[kMinderGateRows];
      for (int row = 0; row < kMinderGateRows; ++row) gates[row] = Lanes{} + parameters[layout.encoder_bias + row];
      for (int feature = 0; feature < layout.features; ++feature) {
        const Lanes sample = Load(samples[step * layout.features + feature] + first, lanes);
        const float* weight = parameters + layout.encoder_input + feature;
        for (int row = 0; row < kMinderGateRows; ++row) gates[row] += weight[row * layout.features] * sample;
      }
      Step(parameters + layout.encoder_recurrent, gates, state);
    }
    for (int i = 0; i < kMinderLatent; ++i) {
      code[i] = Lanes{} + parameters[layout.mean_bias + i];
      const float* weight = parameters + layout.mean_weight + i * kMinderHidden;
      for (int k = 0; k < kMinderHidden; ++k) code[i] += weight[k] * state.hidden[k];
    }
  }

  static void Block(const LstmVaeLayout& layout, const float* parameters, const float* const* samples,
                    unsigned long first, unsigned long lanes, float* const* denoised) {
    Lanes code[kMinderLatent];
    Encode(layout, parameters, samples, first, lanes, code);
    Lanes gates[kMinderGateRows];
    for (int row = 0; row < kMinderGateRows; ++row) {
      gates[row] = Lanes{} + parameters[layout.decoder_bias + row];
      const float* weight = parameters + layout.decoder_input + row * kMinderLatent;
      for (int i = 0; i < kMinderLatent; ++i) gates[row] += weight[i] * code[i];
    }
    State state = {};
    for (int step = 0; step < kMinderWindow; ++step) {
      Step(parameters + layout.decoder_recurrent, gates, state);
      for (int feature = 0; feature < layout.features; ++feature) {
        Lanes sample = Lanes{} + parameters[layout.output_bias + feature];
        const float* weight = parameters + layout.output_weight + feature * kMinderHidden;
        for (int k = 0; k < kMinderHidden; ++k) sample += weight[k] * state.hidden[k];
        Store(sample, denoised[step * layout.features + feature] + first, lanes);
      }
    }
  }
};

// Null where the build is not for a processor of that kind.
LstmVaeKernel BaselineLstmVaeKernel();
LstmVaeKernel Avx2LstmVaeKernel();
LstmVaeKernel Avx512LstmVaeKernel();

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_LSTM_VAE_KERNEL_H_
