// Ranks of a look or a recording whose records, or times that tell waiting from working (coverage.h), end before its
// last step does: of what came later nothing is known.
//
// Pure. Cost O(ranks x steps without records).

#ifndef LOCKSTEP_DETECTOR_ENGINE_SHORT_RECORDS_H_
#define LOCKSTEP_DETECTOR_ENGINE_SHORT_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/steps/trace_analysis.h"

namespace lockstep {

// As those of an agent that hung, or that answered before the others did, or of a recorder that takes less.
struct ShortRecords {
  std::string host;
  int32_t rank = -1;       // -1 = all ranks of the host are short, and this is the longest of them
  int32_t last_step = -1;  // that they hold anything of; -1 = there are none
};

// By rank, and then hosts.
std::vector<ShortRecords> ShortRecordsOf(const TraceAnalysis& analysis);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_SHORT_RECORDS_H_
