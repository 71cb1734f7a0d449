#include "eval/report/measure.h"

#include <utility>

namespace lockstep {

Measure Judged(const Goal& goal, Measure measured, std::string best_baseline) {
  measured.name = std::string(goal.name);
  measured.published = std::string(goal.published);
  measured.target = std::string(goal.target);
  measured.best_baseline = std::move(best_baseline);
  measured.met = goal.IsMetBy(measured.value);
  return measured;
}

}  // namespace lockstep
