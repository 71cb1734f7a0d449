// What may be done about a finding, and what it would give back: a row of `lockstep whatif`.
//
// Lockstep carries out none of it. Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_VERDICT_REMEDY_H_
#define LOCKSTEP_DETECTOR_VERDICT_REMEDY_H_

#include <string>
#include <vector>

#include "detector/verdict/verdict.h"

namespace lockstep {

// Seconds per usual step, the mean over all of them.
struct Remedy {
  std::string finding;  // as in the ledger
  Advice advice = Advice::kNone;
  std::vector<Culprit> culprits;  // most likely first
  double alone_seconds = 0;       // it gives back when nothing else is done
  double together_seconds = 0;    // it and all before it in the list give back
  bool replayed = false;          // false: no replay can tell, and both take what the ledger says for it
};

// "take node-3 out", "mend the link node-1 - node-2". Names as they were reported.
std::string ActionText(const Remedy& remedy);

// Names of hosts among the culprits, each once, most likely first.
std::vector<std::string> HostsOf(const Remedy& remedy);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_REMEDY_H_
