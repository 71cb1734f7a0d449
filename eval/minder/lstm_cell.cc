#include "eval/minder/lstm_cell.h"

namespace lockstep {
namespace {

constexpr int kInput = 0;
constexpr int kForget = 1;
constexpr int kCandidate = 2;
constexpr int kOutput = 3;

int Row(int gate, int unit) { return gate * kMinderHidden + unit; }

TrainingLanes Logistic(const TrainingLanes& x) { return 1 / (1 + (-x).exp()); }
TrainingLanes Tanh(const TrainingLanes& x) { return 2 / (1 + (-2 * x).exp()) - 1; }

}  // namespace

LstmStep LstmStep::Zero() {
  LstmStep step;
  for (TrainingLanes& lanes : step.gate) lanes.setZero();
  for (TrainingLanes& lanes : step.cell) lanes.setZero();
  for (TrainingLanes& lanes : step.tanh_cell) lanes.setZero();
  for (TrainingLanes& lanes : step.hidden) lanes.setZero();
  return step;
}

LstmStateGradient LstmStateGradient::Zero() {
  LstmStateGradient state;
  for (TrainingLanes& lanes : state.hidden) lanes.setZero();
  for (TrainingLanes& lanes : state.cell) lanes.setZero();
  return state;
}

LstmStep LstmForward(const LstmMatrices<const double>& weights, const TrainingLanes* input, const LstmStep& before) {
  LstmStep step;
  for (int row = 0; row < kMinderGateRows; ++row) {
    TrainingLanes sum = TrainingLanes::Constant(weights.bias[row]);
    for (int i = 0; i < weights.inputs; ++i) sum += weights.input[row * weights.inputs + i] * input[i];
    for (int k = 0; k < kMinderHidden; ++k) sum += weights.recurrent[row * kMinderHidden + k] * before.hidden[k];
    step.gate[row] = row / kMinderHidden == kCandidate ? Tanh(sum) : Logistic(sum);
  }
  for (int unit = 0; unit < kMinderHidden; ++unit) {
    step.cell[unit] = step.gate[Row(kForget, unit)] * before.cell[unit] +
                      step.gate[Row(kInput, unit)] * step.gate[Row(kCandidate, unit)];
    step.tanh_cell[unit] = Tanh(step.cell[unit]);
    step.hidden[unit] = step.gate[Row(kOutput, unit)] * step.tanh_cell[unit];
  }
  return step;
}

void LstmBackward(const LstmMatrices<const double>& weights, const TrainingLanes* input, const LstmStep& before,
                  const LstmStep& step, LstmStateGradient& state, const LstmMatrices<TrainingLanes>& weight_gradient,
                  TrainingLanes* input_gradient) {
  std::array<TrainingLanes, kMinderGateRows> sum;  // derivative by what goes into each nonlinearity
  for (int unit = 0; unit < kMinderHidden; ++unit) {
    const TrainingLanes& in = step.gate[Row(kInput, unit)];
    const TrainingLanes& forget = step.gate[Row(kForget, unit)];
    const TrainingLanes& candidate = step.gate[Row(kCandidate, unit)];
    const TrainingLanes& out = step.gate[Row(kOutput, unit)];
    const TrainingLanes& tanh_cell = step.tanh_cell[unit];
    const TrainingLanes cell = state.cell[unit] + state.hidden[unit] * out * (1 - tanh_cell.square());
    sum[Row(kOutput, unit)] = state.hidden[unit] * tanh_cell * out * (1 - out);
    sum[Row(kInput, unit)] = cell * candidate * in * (1 - in);
    sum[Row(kForget, unit)] = cell * before.cell[unit] * forget * (1 - forget);
    sum[Row(kCandidate, unit)] = cell * in * (1 - candidate.square());
    state.cell[unit] = cell * forget;
    state.hidden[unit].setZero();
  }
  for (int row = 0; row < kMinderGateRows; ++row) {
    weight_gradient.bias[row] += sum[row];
    for (int k = 0; k < kMinderHidden; ++k) {
      weight_gradient.recurrent[row * kMinderHidden + k] += sum[row] * before.hidden[k];
      state.hidden[k] += weights.recurrent[row * kMinderHidden + k] * sum[row];
    }
    for (int i = 0; i < weights.inputs; ++i) {
      weight_gradient.input[row * weights.inputs + i] += sum[row] * input[i];
      if (input_gradient != nullptr) input_gradient[i] += weights.input[row * weights.inputs + i] * sum[row];
    }
  }
}

}  // namespace lockstep
