// What profiles of some ranks say of their job, when nothing but them is looked at. Pure.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_PROFILE_DIAGNOSIS_H_
#define LOCKSTEP_DETECTOR_PATTERNS_PROFILE_DIAGNOSIS_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "detector/patterns/rank_patterns.h"
#include "detector/verdict/job_report.h"

namespace lockstep {

struct ProfiledRank {
  RankPatterns patterns;  // with rank and host
  int32_t pid = 0;
  int32_t duty = -1;  // ranks of equal duty do the same work; -1 = not known, and profiles have to tell
};

// The state is slow where software is accused, else unknown with the reason. Second profiles of a rank are left out.
JobReport DiagnoseProfiles(const std::string& job, absl::Span<const ProfiledRank> ranks);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_PROFILE_DIAGNOSIS_H_
