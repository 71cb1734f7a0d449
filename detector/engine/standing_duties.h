// Which machines of a running job have equal duties, by what its looks say one after the other.
//
// What machines have in common is learnt anew where their peers change, and counters see nothing meanwhile. So a look
// counts only where it saw all machines, and others take the place of duties that stand only when two looks in a row
// say them. Pure; not thread-safe. Memory: two numbers per host.

#ifndef LOCKSTEP_DETECTOR_ENGINE_STANDING_DUTIES_H_
#define LOCKSTEP_DETECTOR_ENGINE_STANDING_DUTIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "detector/model/roster.h"

namespace lockstep {

class StandingDuties {
 public:
  // What one look says; empty = it does not tell. Ignored unless it knows each host of `roster` that has a rank.
  void Take(const std::map<std::string, int32_t>& duty_of_host, const Roster& roster);
  void Clear();

  // By host of the roster, numbered from 0 in their order, -1 = without a rank; empty = not known.
  const std::vector<int32_t>& of_host() const { return of_host_; }

 private:
  std::vector<int32_t> of_host_;
  std::vector<int32_t> newest_;  // of the newest look that told
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_STANDING_DUTIES_H_
