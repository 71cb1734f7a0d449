// Ranks of a look or a recording whose records end before its last step does: of what came later nothing is known.
//
// Pure value.

#ifndef LOCKSTEP_DETECTOR_ENGINE_SHORT_RECORDS_H_
#define LOCKSTEP_DETECTOR_ENGINE_SHORT_RECORDS_H_

#include <cstdint>
#include <string>

namespace lockstep {

// As those of an agent that hung, or that answered before the others did.
struct ShortRecords {
  std::string host;
  int32_t rank = -1;       // -1 = all ranks of the host are short, and this is the longest of them
  int32_t last_step = -1;  // that they hold anything of; -1 = there are none
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_SHORT_RECORDS_H_
