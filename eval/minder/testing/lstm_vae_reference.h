// The LSTM-VAE written out slowly, in double and one window at a time, with the C library's tanh: what the fast kernels
// and the training are compared with. Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_TESTING_LSTM_VAE_REFERENCE_H_
#define LOCKSTEP_EVAL_MINDER_TESTING_LSTM_VAE_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "eval/minder/lstm_vae.h"

namespace lockstep {

// Parameters uniform within [-most, most].
LstmVae RandomLstmVae(int features, double most, uint64_t seed);

// The reconstruction of `window`, [step][feature], from the mean of its code plus `noise` standard deviations (empty =
// none).
std::vector<double> ReferenceReconstruction(int features, const std::vector<double>& parameters,
                                            const std::vector<double>& window, const std::vector<double>& noise);

// Mean squared error plus weighted divergence.
double ReferenceLoss(int features, const std::vector<double>& parameters, const std::vector<double>& window,
                     const std::vector<double>& noise, double divergence_weight);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_TESTING_LSTM_VAE_REFERENCE_H_
