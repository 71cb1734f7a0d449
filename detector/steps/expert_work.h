// Work between two AllToAlls: how much of it is owed to the rank, and how much to the routing of tokens.
//
// Between dispatch and combine a rank works on the tokens that its experts were given: an amount that nobody else has.
// Where tensor groups or others take part in the layers, the rest of the layer is told apart by their operations. Where
// none do, the attention of a layer lies between two AllToAlls as well, combine and dispatch, and nothing in the
// records says which is which. But a slow rank is slow everywhere, and one with favoured experts only in the experts'
// work: so the factor by which a rank is slower than its peers nearly everywhere is its own.
//
// Holds buffers between calls; not thread-safe. Cost O(n log n) for the n pieces of work of a class and step.

#ifndef LOCKSTEP_DETECTOR_STEPS_EXPERT_WORK_H_
#define LOCKSTEP_DETECTOR_STEPS_EXPERT_WORK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/trace.h"
#include "detector/steps/own_time.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// The operation whose own interval is the routed work right before AllToAll `i`: itself, or one that began together
// with it. kNoOperation = something else comes before.
uint32_t HolderOfRoutedWork(const Trace& trace, const OwnTimes& times, uint32_t i);

class ExpertWork {
 public:
  ExpertWork(const Trace& trace, const StepTable& steps, const OwnTimes& times)
      : trace_(trace), steps_(steps), times_(times) {}

  // Of the work of `peers` between AllToAlls in a step, the seconds that are comparable: what the peers need at the
  // same places, times the factor that is the rank's own. By position in `peers`; 0 where nothing is known.
  const std::vector<double>& Comparable(const std::vector<int32_t>& peers, int32_t step);

 private:
  struct Piece {
    uint32_t place;  // of the AllToAll among those of the step
    uint32_t peer;   // position in peers
    double seconds;
  };
  struct Factor {
    double factor;
    double weight;  // seconds that peers need
  };

  void Collect(const std::vector<int32_t>& peers, int32_t step);
  void Compare();

  const Trace& trace_;
  const StepTable& steps_;
  const OwnTimes& times_;
  std::vector<Piece> pieces_;
  std::vector<std::vector<Factor>> factors_;  // by peer
  std::vector<double> seconds_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_EXPERT_WORK_H_
