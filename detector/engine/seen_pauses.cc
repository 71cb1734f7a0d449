#include "detector/engine/seen_pauses.h"

#include <algorithm>

namespace lockstep {

void SeenPauses::Take(const LookResult& look, const JobReport& report) {
  const auto pause = std::find_if(report.verdicts.begin(), report.verdicts.end(), [](const Verdict& verdict) {
    return verdict.verdict_class == VerdictClass::kPause && verdict.type() == FindingType::kAccusation;
  });
  if (pause != report.verdicts.end()) {
    newest_ = *pause;
    PlaceInJob(look, &*newest_);
    misses_ = 0;
  } else if (look.judged && newest_.has_value() && ++misses_ >= kMostMisses) {
    newest_.reset();
  }
}

}  // namespace lockstep
