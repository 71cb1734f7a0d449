#include "eval/minder/lstm_vae_denoiser.h"

#include "base/check.h"
#include "eval/minder/lstm_vae_kernel.h"

namespace lockstep {
namespace {

LstmVaeKernel KernelFor(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return __builtin_cpu_supports("avx512f") ? Avx512LstmVaeKernel() : nullptr;
  if (set == InstructionSet::kAvx2) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Avx2LstmVaeKernel() : nullptr;
  }
#endif
  return set == InstructionSet::kBaseline ? BaselineLstmVaeKernel() : nullptr;
}

void Halve(std::vector<float>& parameters, int first, int columns) {
  constexpr int kCandidate = 2;  // the only gate that is not logistic
  for (int row = 0; row < kMinderGateRows; ++row) {
    if (row / kMinderHidden == kCandidate) continue;
    for (int column = 0; column < columns; ++column) parameters[first + row * columns + column] *= 0.5F;
  }
}

}  // namespace

std::vector<InstructionSet> AvailableInstructionSets() {
  std::vector<InstructionSet> available;
  for (const InstructionSet set : {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (KernelFor(set) != nullptr) available.push_back(set);
  }
  return available;
}

LstmVaeDenoiser::LstmVaeDenoiser(const LstmVae& model, InstructionSet set)
    : features_(model.features), set_(set), parameters_(model.parameters) {
  CHECK(features_ >= 1 && features_ <= kMaxMinderFeatures);
  const LstmVaeLayout layout(features_);
  CHECK(parameters_.size() == static_cast<size_t>(layout.size));
  CHECK(KernelFor(set_) != nullptr);
  Halve(parameters_, layout.encoder_input, features_);
  Halve(parameters_, layout.encoder_recurrent, kMinderHidden);
  Halve(parameters_, layout.encoder_bias, 1);
  Halve(parameters_, layout.decoder_input, kMinderLatent);
  Halve(parameters_, layout.decoder_recurrent, kMinderHidden);
  Halve(parameters_, layout.decoder_bias, 1);
}

void LstmVaeDenoiser::Run(absl::Span<const float* const> samples, size_t count,
                          absl::Span<float* const> denoised) const {
  const size_t rows = static_cast<size_t>(kMinderWindow) * static_cast<size_t>(features_);
  CHECK(samples.size() == rows && denoised.size() == rows);
  KernelFor(set_)(features_, parameters_.data(), samples.data(), count, denoised.data());
}

}  // namespace lockstep
