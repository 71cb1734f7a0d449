// Other names for the same job: hosts, communicators, the job itself, and the numbers of its ranks.
//
// Whatever is concluded from a renamed recording must be the same conclusion under the new names. Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_METAMORPHIC_RENAMING_H_
#define LOCKSTEP_EVAL_METAMORPHIC_RENAMING_H_

#include <cstdint>
#include <map>
#include <string>

#include "base/random.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/job_report.h"

namespace lockstep {

// From the old to the new. Hosts that no file named follow the numbers of their ranks.
struct Renaming {
  std::map<std::string, std::string> names;  // hosts, communicators and the job
  std::map<int32_t, int32_t> ranks;          // empty = they keep their numbers
};

// New names that sort as the old ones do; ranks keep their numbers.
Renaming RenamingInOrder(const JobEvidence& recording);

// New names in a random order, and the ranks' numbers, those of missing ranks included, dealt out anew.
Renaming RandomRenaming(const JobEvidence& recording, Random& random);

JobEvidence Renamed(const JobEvidence& recording, const Renaming& renaming);

// The report about the renamed recording in the words of the old one. Ranks that a text lists are sorted anew; of
// those that it cuts short only the number is left.
JobReport NamedBack(JobReport report, const Renaming& renaming);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_RENAMING_H_
