#include "cli/commands/eval_metamorphic.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cli/commands/evaluation.h"
#include "cli/inputs/input_files.h"
#include "cli/render/metamorphic_text.h"
#include "cli/render/text_table.h"
#include "detector/engine/diagnosis.h"
#include "detector/model/job_evidence.h"
#include "detector/model/trace.h"
#include "detector/verdict/job_report.h"
#include "eval/metamorphic/metamorphic_json.h"
#include "eval/metamorphic/metamorphic_run.h"
#include "eval/metamorphic/relation.h"
#include "eval/metamorphic/simulated_source.h"
#include "eval/suites/suite.h"
#include "formats/ops_csv_writer.h"

namespace lockstep {
namespace {

constexpr uint32_t kEpisodesPerSuite = 4;  // each is judged some twenty times

// The judge that is tested. Keeps what it is asked about where somebody wants to look closer: 0.csv is the recording as
// it is, whatever follows has been transformed.
class KeepingJudge {
 public:
  // Empty = keeps nothing.
  explicit KeepingJudge(std::string directory) : directory_(std::move(directory)) {}

  JobReport operator()(const JobEvidence& recording, double min_cost) {
    if (!directory_.empty()) Keep(recording.trace);
    return Diagnose(recording, {.min_cost = min_cost});
  }

  // The first file that could not be written.
  absl::Status status() {
    MutexLock lock(mutex_);
    return status_;
  }

 private:
  void Keep(const Trace& trace) {
    MutexLock lock(mutex_);
    status_.Update(WriteOpsCsvFile(trace, absl::StrCat(directory_, "/", kept_++, ".csv")));
  }

  const std::string directory_;
  Mutex mutex_;
  int kept_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

RecordingSource FileSource(const std::string& path) {
  RecordingSource source;
  source.name = source.arguments = path;
  source.read = [path]() -> absl::StatusOr<std::vector<JobEvidence>> {
    InputFiles files = ReadInputFiles({path}, std::nullopt, [](const ReadProgress&) {});
    std::vector<JobEvidence> recordings;
    for (JobInput& job : files.jobs) recordings.push_back(std::move(job.evidence));
    if (!recordings.empty()) return recordings;
    return absl::DataLossError(files.unreadable.empty() ? "neither records nor samples" : files.unreadable[0].error);
  };
  return source;
}

absl::StatusOr<std::vector<RecordingSource>> SourcesOf(const EvalArguments& arguments) {
  std::vector<RecordingSource> sources;
  for (const std::string& path : arguments.paths) sources.push_back(FileSource(path));
  if (!sources.empty()) return sources;
  ASSIGN_OR_RETURN(const std::vector<Suite> suites, ChosenSuites(MetamorphicSuites(), arguments));
  for (const Suite& suite : suites) {
    if (arguments.episode != EvalArguments::kNoEpisode) {
      sources.push_back(SimulatedSource(suite, arguments.episode));
      continue;
    }
    const uint32_t few = arguments.quick ? 1 : kEpisodesPerSuite;
    const uint64_t first = FirstNumber(arguments);
    for (uint64_t i = 0; i < (arguments.episodes > 0 ? arguments.episodes : few); ++i) {
      sources.push_back(SimulatedSource(suite, first + i));
    }
  }
  return sources;
}

absl::StatusOr<MetamorphicPlan> PlanOf(const EvalArguments& arguments) {
  MetamorphicPlan plan;
  for (const Relation& relation : AllRelations()) {
    if (arguments.relation.empty() || arguments.relation == relation.name) plan.relations.push_back(&relation);
  }
  if (plan.relations.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no relation '", arguments.relation, "'; there are ",
        absl::StrJoin(AllRelations(), ", ",
                      [](std::string* out, const Relation& relation) { absl::StrAppend(out, relation.name); })));
  }
  plan.trials = arguments.trials;
  if (arguments.trial != EvalArguments::kNoEpisode) {
    plan.first_trial = arguments.trial;
    plan.trials = 1;
  }
  return plan;
}

}  // namespace

absl::StatusOr<ExitCode> EvaluateMetamorphic(const EvalArguments& arguments, CommandContext& context) {
  ASSIGN_OR_RETURN(const std::vector<RecordingSource> sources, SourcesOf(arguments));
  ASSIGN_OR_RETURN(const MetamorphicPlan plan, PlanOf(arguments));
  KeepingJudge judge(arguments.keep);
  std::vector<SourceOutcome> outcomes;
  const auto count = static_cast<int32_t>(sources.size());
  WithProgress("recordings", count, context, [&](const std::function<void(int32_t)>& progress) {
    outcomes = RunSources(sources, plan, std::ref(judge), static_cast<int32_t>(arguments.threads), progress);
  });
  RETURN_IF_ERROR(judge.status());
  Evaluation evaluation;
  evaluation.measures = {MetamorphicMeasure(outcomes)};
  evaluation.suite_texts = {MetamorphicText(outcomes, context.width)};
  ExitCode exit_code = ExitCode::kOk;
  for (const SourceOutcome& outcome : outcomes) {
    evaluation.suites.push_back(MetamorphicJson(outcome));
    if (outcome.unreadable.empty()) continue;
    context.err << "lockstep: " << Printable(outcome.source) << ": " << Printable(outcome.unreadable) << "\n";
    exit_code = ExitCode::kInputUnreadable;
  }
  Print(evaluation, arguments.seeds, context);
  return exit_code;
}

}  // namespace lockstep
