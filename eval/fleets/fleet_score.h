// How well a report fits the truth of an episode of the second simulator: the rules by which others judge recordings.
//
// An accusation is a culprit of a verdict of scope machine or network; in hangs software and unknown count too. Pure
// functions and values; thread-compatible.

#ifndef LOCKSTEP_EVAL_FLEETS_FLEET_SCORE_H_
#define LOCKSTEP_EVAL_FLEETS_FLEET_SCORE_H_

#include <optional>

#include "detector/verdict/job_report.h"
#include "sim/second/truth.h"

namespace lockstep {

struct FleetScore {
  // Slow: the first accused is a culprit, nobody innocent is accused, every fault that costs enough is named (of many
  // slow hosts 70 %). Hang: exactly the culprits and a class of hang. Software: the class. Everything else: nobody.
  bool right = false;
  std::optional<bool> top1;         // the first accused is no innocent
  std::optional<bool> exact;        // the accused are the culprits
  std::optional<bool> class_right;  // each fault has a verdict of an accepted class about an accepted host
  int accused = 0;                  // hosts; both ends of a link count
  int innocents = 0;
  std::optional<double>
      cost_error;        // |reported - true| / true, of the first fault that was named, all verdicts about it
  bool unsound = false;  // healthy though something costs 3 %, or costs that add up to more than was lost

  bool flawless() const { return right && !unsound && class_right.value_or(true); }
};

FleetScore ScoreFleet(const second::Truth& truth, const JobReport& report);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_FLEETS_FLEET_SCORE_H_
