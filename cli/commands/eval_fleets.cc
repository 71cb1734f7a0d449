#include "cli/commands/eval_fleets.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/check.h"
#include "base/thread_executor.h"
#include "cli/commands/evaluation.h"
#include "cli/commands/sim_second.h"
#include "cli/render/fleet_text.h"
#include "cli/render/report_text.h"
#include "cli/render/timeline_text.h"
#include "detector/engine/diagnosis.h"
#include "detector/model/job_evidence.h"
#include "eval/fleets/fleet_run.h"
#include "eval/fleets/fleet_summary.h"
#include "eval/live/conclusion_timeline.h"
#include "eval/live/live_judge.h"
#include "sim/second/planting.h"
#include "sim/second/truth.h"

namespace lockstep {
namespace {

constexpr uint32_t kEpisodes = 310;  // ten of each kind
constexpr uint32_t kQuickEpisodes = 31;

JobReport JudgeFile(const JobEvidence& evidence) { return Diagnose(evidence, {}); }

// REQUIRES: evidence with operations, as worlds have.
JobReport JudgeTold(JobEvidence evidence, const second::Truth& truth, ConclusionTimeline* timeline) {
  absl::StatusOr<JobReport> told = JudgeLive(AsAgentsSee(std::move(evidence), truth), {}, timeline);
  CHECK(told.ok());
  return *std::move(told);
}

ExitCode ShowEpisode(const EvalArguments& arguments, const second::EpisodeKind* kind, CommandContext& context) {
  JobReport report;
  ConclusionTimeline timeline;
  const auto judge = [&](JobEvidence evidence, const second::Truth& truth) {
    return report = arguments.live ? JudgeTold(std::move(evidence), truth, &timeline) : JudgeFile(evidence);
  };
  const uint64_t number = FirstNumber(arguments) + arguments.episode;
  const FleetOutcome outcome = RunFleetEpisode(number, kind != nullptr ? *kind : KindOfNumber(number), judge);
  context.out << second::TruthText(outcome.truth);
  if (arguments.live) context.out << TimelineText(timeline);
  context.out << ReportText(report) << FleetLine(outcome) << "\n";
  return ExitCode::kOk;
}

}  // namespace

absl::StatusOr<ExitCode> EvaluateFleets(const EvalArguments& arguments, CommandContext& context) {
  const second::EpisodeKind* const kind = second::FindKind(arguments.suite);
  if (kind == nullptr && !arguments.suite.empty()) return NoSuchKind(arguments.suite);
  if (arguments.episode != EvalArguments::kNoEpisode) return ShowEpisode(arguments, kind, context);
  const uint32_t episodes = arguments.episodes > 0 ? arguments.episodes : arguments.quick ? kQuickEpisodes : kEpisodes;
  std::vector<FleetOutcome> outcomes;
  WithProgress("fleets", static_cast<int32_t>(episodes), context, [&](const std::function<void(int32_t)>& progress) {
    ThreadExecutor executor(arguments.threads);
    const FleetJudge judge = [&](JobEvidence evidence, const second::Truth& truth) {
      return arguments.live ? JudgeTold(std::move(evidence), truth, nullptr) : JudgeFile(evidence);
    };
    outcomes = RunFleets(FirstNumber(arguments), static_cast<int32_t>(episodes), kind, judge, executor, progress);
  });
  const FleetSummary summary = SummarizeFleets(outcomes);
  const Evaluation evaluation = {
      .measures = FleetMeasures(summary),
      .suites = {FleetJson(summary)},
      .suite_texts = {FleetText(summary, context.width)},
  };
  Print(evaluation, arguments.seeds, context);
  return ExitCode::kOk;
}

}  // namespace lockstep
