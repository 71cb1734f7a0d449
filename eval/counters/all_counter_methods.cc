#include "eval/counters/all_counter_methods.h"

#include <utility>

#include "detector/counters/counter_history.h"
#include "detector/counters/peer_detector.h"
#include "detector/model/metric_table.h"
#include "eval/counters/minder_methods.h"
#include "eval/counters/three_sigma.h"

namespace lockstep {

std::vector<CounterMethod> AllCounterMethods() {
  const auto accuse = [](const MetricTable& table) { return AccuseMachines(table, PeerOptions()); };
  std::vector<CounterMethod> methods = {
      {"lockstep", "the default detector of this project: machines that stand out while the job is degraded", accuse}};
  for (CounterMethod& method : MinderMethods()) methods.push_back(std::move(method));
  methods.push_back(
      {"3-sigma", "textbook; 8 s smoothing, 60 s persistence and 1 % resolution are ours", DetectByThreeSigma});
  return methods;
}

}  // namespace lockstep
