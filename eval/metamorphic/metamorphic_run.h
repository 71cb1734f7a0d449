// Relations tried on recordings: what was tried, and what contradicts itself.
//
// Pure but for the sources, which may read files. RunSources calls sources and judge from several threads.

#ifndef LOCKSTEP_EVAL_METAMORPHIC_METAMORPHIC_RUN_H_
#define LOCKSTEP_EVAL_METAMORPHIC_METAMORPHIC_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "detector/model/job_evidence.h"
#include "eval/metamorphic/relation.h"
#include "eval/metamorphic/subject.h"

namespace lockstep {

// Where recordings come from: a path, or an episode of a suite. May hold several jobs.
struct RecordingSource {
  std::string name;
  std::string arguments;  // of `lockstep eval metamorphic`, to try it again
  std::function<absl::StatusOr<std::vector<JobEvidence>>()> read;
};

struct MetamorphicPlan {
  std::vector<const Relation*> relations;
  uint64_t first_trial = 0;
  uint32_t trials = 1;  // of each relation that is random; of the others one
};

struct RelationCount {
  int64_t trials = 0;  // transformed recordings
  int64_t contradictions = 0;
  int64_t not_applicable = 0;
  std::map<std::string, int64_t> why_not;  // how often for which reason
};

struct Contradiction {
  std::string relation;
  uint64_t trial = 0;
  std::string job;
  std::string what;
  std::string answer;     // about the recording as it is
  std::string arguments;  // to try it again
};

struct SourceOutcome {
  std::string source;
  std::string unreadable;  // why; then nothing else is known
  std::vector<std::string> answers;
  std::map<std::string, RelationCount> by_relation;
  std::vector<Contradiction> contradictions;
};

SourceOutcome RunSource(const RecordingSource& source, const MetamorphicPlan& plan, const FileJudge& judge);

// In the order of the sources, whichever thread was first.
std::vector<SourceOutcome> RunSources(const std::vector<RecordingSource>& sources, const MetamorphicPlan& plan,
                                      const FileJudge& judge, int32_t threads,
                                      const std::function<void(int32_t done)>& on_done);

// By relation, over all sources.
std::map<std::string, RelationCount> Totals(const std::vector<SourceOutcome>& outcomes);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_METAMORPHIC_RUN_H_
