// Runs windows through an LSTM-VAE, as many side by side as the processor has lanes.
//
// One compile unit per instruction set; which one runs is decided at run time by what the processor has: AVX-512 (16
// windows at once), AVX2 with FMA (8), otherwise the baseline of x86-64 (4). tanh and the logistic function are one
// rational function, off by at most 2e-5, and a denoised sample is off by at most kDenoiseTolerance from arithmetic in
// double. Instruction sets differ from each other by rounding alone.
//
// The kernels are written with the compiler's vector extension and include neither Eigen nor the standard library: a
// template of theirs compiled with AVX could be picked by the linker for the whole program and stop it on an older
// processor. Immutable; thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_LSTM_VAE_DENOISER_H_
#define LOCKSTEP_EVAL_MINDER_LSTM_VAE_DENOISER_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "eval/minder/lstm_vae.h"

namespace lockstep {

inline constexpr double kDenoiseTolerance = 1e-3;  // for parameters up to 4 in magnitude; typically below 1e-4

enum class InstructionSet { kBaseline, kAvx2, kAvx512 };

// Sets that both this build and this processor have, the fastest last. Never empty.
std::vector<InstructionSet> AvailableInstructionSets();

class LstmVaeDenoiser {
 public:
  explicit LstmVaeDenoiser(const LstmVae& model) : LstmVaeDenoiser(model, AvailableInstructionSets().back()) {}
  LstmVaeDenoiser(const LstmVae& model, InstructionSet set);

  // Reconstructs `count` windows from the mean of their codes. Row `step * features + feature` of `samples` points to
  // that sample of all windows, and so for `denoised`. Rows of `samples` may overlap each other (the windows of
  // neighbouring ticks do), rows of `denoised` may not. A window with a value that is not finite spoils itself alone.
  void Run(absl::Span<const float* const> samples, size_t count, absl::Span<float* const> denoised) const;

  int features() const { return features_; }

 private:
  int features_;
  InstructionSet set_;
  std::vector<float> parameters_;  // as the kernels want them
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_LSTM_VAE_DENOISER_H_
