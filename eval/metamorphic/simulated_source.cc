#include "eval/metamorphic/simulated_source.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "detector/model/job_evidence.h"
#include "eval/suites/episode_run.h"
#include "sim/episode.h"

namespace lockstep {

std::vector<Suite> MetamorphicSuites() {
  std::vector<Suite> suites;
  for (const Suite& suite : AllSuites()) {
    if (!suite.one_at_a_time) suites.push_back(suite);
  }
  return suites;
}

RecordingSource SimulatedSource(const Suite& suite, uint64_t number) {
  RecordingSource source;
  source.name = absl::StrCat(suite.name, " ", number);
  source.arguments = absl::StrCat("--suite ", suite.name, " --episode ", number);
  source.read = [suite, number]() -> absl::StatusOr<std::vector<JobEvidence>> {
    std::vector<JobEvidence> recordings;
    recordings.push_back(std::move(SimulatePlan(PlanOf(suite, number)).evidence));
    return recordings;
  };
  return source;
}

}  // namespace lockstep
