// One step of an LSTM for eight windows at once, forwards and backwards, in double: for training only.
//
// Pure; thread-compatible.

#ifndef LOCKSTEP_EVAL_MINDER_LSTM_CELL_H_
#define LOCKSTEP_EVAL_MINDER_LSTM_CELL_H_

#include <array>
#include <eigen3/Eigen/Core>

#include "eval/minder/lstm_vae.h"

namespace lockstep {

inline constexpr int kTrainingLanes = 8;

// One value per window.
using TrainingLanes = Eigen::Array<double, kTrainingLanes, 1>;

// Borrowed matrices in the shapes of LstmVaeLayout; Value is const double for weights, TrainingLanes for gradients.
template <typename Value>
struct LstmMatrices {
  Value* input;
  Value* recurrent;
  Value* bias;
  int inputs;  // columns of `input`
};

// What a step computed, kept for the way back.
struct LstmStep {
  std::array<TrainingLanes, kMinderGateRows> gate;  // after the nonlinearity
  std::array<TrainingLanes, kMinderHidden> cell;
  std::array<TrainingLanes, kMinderHidden> tanh_cell;
  std::array<TrainingLanes, kMinderHidden> hidden;

  static LstmStep Zero();
};

// Derivatives of the loss; of the state after a step before the call of LstmBackward, of the state before it
// afterwards.
struct LstmStateGradient {
  std::array<TrainingLanes, kMinderHidden> hidden;
  std::array<TrainingLanes, kMinderHidden> cell;

  static LstmStateGradient Zero();
};

LstmStep LstmForward(const LstmMatrices<const double>& weights, const TrainingLanes* input, const LstmStep& before);

// Adds to `weight_gradient` and, unless null, to `input_gradient`.
void LstmBackward(const LstmMatrices<const double>& weights, const TrainingLanes* input, const LstmStep& before,
                  const LstmStep& step, LstmStateGradient& state, const LstmMatrices<TrainingLanes>& weight_gradient,
                  TrainingLanes* input_gradient);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_LSTM_CELL_H_
