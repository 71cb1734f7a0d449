#include "eval/counters/counter_method.h"

#include "eval/counters/three_sigma.h"

namespace lockstep {

std::vector<CounterMethod> AllCounterMethods() {
  return {{"3-sigma", "textbook; 8 s smoothing and 60 s persistence are ours", DetectByThreeSigma}};
}

}  // namespace lockstep
