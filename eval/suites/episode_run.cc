#include "eval/suites/episode_run.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "eval/baselines/baseline.h"
#include "eval/baselines/joined_trace.h"
#include "eval/pulls/pulling_engine.h"
#include "eval/scoring/answer_text.h"
#include "eval/scoring/confidence_interval.h"
#include "eval/suites/trace_cut.h"

namespace lockstep {
namespace {

// When the records are looked at after the onset of a hang.
constexpr double kHangLooksSeconds[] = {1, 2, 3, 4, 5, 6, 8, 10};
constexpr int64_t kReadAfterNanos = 60 * kNanosPerSecond;

int64_t LatestTime(const Trace& trace) {
  int64_t latest_ns = kNoTime;
  for (const TraceOperation& operation : trace.operations) {
    latest_ns = std::max({latest_ns, operation.enqueue_ns, operation.start_ns, operation.end_ns});
  }
  return latest_ns;
}

int64_t EarliestTime(const Trace& trace) {
  int64_t earliest_ns = std::numeric_limits<int64_t>::max();
  for (const TraceOperation& operation : trace.operations) earliest_ns = std::min(earliest_ns, operation.enqueue_ns);
  return earliest_ns;
}

JobEvidence WithTrace(const JobEvidence& evidence, Trace trace) {
  JobEvidence part;
  part.job = evidence.job;
  part.events = evidence.events;
  part.trace = std::move(trace);
  return part;
}

// Who was accused wrongly at any look counts.
void AddWrongAccusations(const EpisodeScore& from, EpisodeScore* to) {
  to->accused_wrongly.insert(to->accused_wrongly.end(), from.accused_wrongly.begin(), from.accused_wrongly.end());
  std::sort(to->accused_wrongly.begin(), to->accused_wrongly.end());
  to->accused_wrongly.erase(std::unique(to->accused_wrongly.begin(), to->accused_wrongly.end()),
                            to->accused_wrongly.end());
}

void LookAtPrefixes(const EpisodePlan& plan, const Episode& episode, const Engine& engine, const RunOptions& options,
                    EpisodeOutcome* outcome) {
  const int64_t steps = plan.job.schedule.steps;
  const int64_t onset = plan.faults.front().onset_step;
  for (int64_t taken = 1; taken <= kMostStepsToVerdict && onset + taken <= steps; ++taken) {
    const JobReport report =
        engine(WithTrace(episode.evidence, FirstSteps(episode.evidence.trace, onset + taken, steps)));
    const EpisodeScore score = ScoreReport(report, episode.truth, options.min_cost);
    AddWrongAccusations(score, &outcome->score);
    if (!score.causes.front().top1) continue;
    outcome->steps_to_verdict = taken;
    return;
  }
}

// Nobody looks at a machine that cannot be reached.
std::vector<std::string> SilentHosts(const Truth& truth) {
  std::vector<std::string> hosts;
  for (const TrueCause& cause : truth.causes) {
    if (cause.kind != FaultKind::kMachineUnreachable) continue;
    for (const Culprit& culprit : cause.culprits) hosts.push_back(culprit.host);
  }
  return hosts;
}

void LookAfterTheHang(const Episode& episode, const Engine& engine, const RunOptions& options,
                      EpisodeOutcome* outcome) {
  const std::vector<std::string> silent_hosts = SilentHosts(episode.truth);
  for (const double seconds : kHangLooksSeconds) {
    const int64_t look_ns =
        episode.truth.hang_ns + static_cast<int64_t>(seconds * static_cast<double>(kNanosPerSecond));
    const JobReport report =
        engine(WithTrace(episode.evidence, SeenByAgents(episode.evidence.trace, look_ns, silent_hosts)));
    const EpisodeScore score = ScoreReport(report, episode.truth, options.min_cost);
    AddWrongAccusations(score, &outcome->score);
    if (!score.causes.front().exact_set) {
      outcome->hang_seconds = -1;
    } else if (outcome->hang_seconds < 0) {
      outcome->hang_seconds = seconds;
    }
  }
}

// As a recorder is read a minute after the job stopped for good, and says when (diagnose.md, taken_ns).
JobEvidence ReadLater(const Episode& episode) {
  const int64_t read_ns = episode.truth.hang_ns + kReadAfterNanos;
  return WithTrace(episode.evidence, SeenByAgents(episode.evidence.trace, read_ns, SilentHosts(episode.truth)));
}

// The suite of hangs asks at moments of its own, and of the file that says nothing of any.
JobReport DiagnoseWhole(const Episode& episode, Procedure procedure, const Engine& engine) {
  const bool read_later = procedure == Procedure::kWhole && episode.truth.hang_ns != 0;
  return engine(read_later ? ReadLater(episode) : episode.evidence);
}

// What the collector makes of it with what it pulls; how long a step takes it knows from the reports of the agents.
JobReport DiagnoseByPulls(const Episode& episode, EpisodeOutcome* outcome) {
  PullingEngine engine{InvestigationOptions()};
  const std::vector<int64_t>& step_ns = episode.truth.step_ns;
  const double step_seconds = Percentile({step_ns.begin(), step_ns.end()}, 0.5) / kNanosPerSecond;
  JobReport report = engine.Diagnose(episode.evidence, step_seconds);
  outcome->pulled_bytes = engine.counts().bytes;
  return report;
}

}  // namespace

Episode SimulatePlan(const EpisodePlan& plan) {
  Episode episode = Simulate(plan.job, plan.faults, plan.seed);
  if (plan.cut_share < 1) {
    Trace& trace = episode.evidence.trace;
    const int64_t first_ns = EarliestTime(trace), last_ns = LatestTime(trace);
    const int64_t cut_ns = first_ns + static_cast<int64_t>(plan.cut_share * static_cast<double>(last_ns - first_ns));
    trace = plan.seen_by_agents ? SeenByAgents(trace, cut_ns, {}) : UntilTime(trace, cut_ns);
  }
  return episode;
}

EpisodeOutcome RunPlan(const EpisodePlan& plan, const Suite& suite, const Engine& engine, const RunOptions& options,
                       const Clock& clock) {
  EpisodeOutcome outcome;
  outcome.description = Describe(plan);
  outcome.gpus = plan.job.parallelism.gpus();
  const int64_t start_ns = clock.MonotonicNanos();
  const Episode episode = SimulatePlan(plan);
  const int64_t simulated_ns = clock.MonotonicNanos();
  const JobReport report = suite.procedure == Procedure::kPulls ? DiagnoseByPulls(episode, &outcome)
                                                                : DiagnoseWhole(episode, suite.procedure, engine);
  outcome.diagnose_ns = clock.MonotonicNanos() - simulated_ns;
  outcome.simulate_ns = simulated_ns - start_ns;
  outcome.negative = episode.truth.is_negative;
  outcome.true_state = episode.truth.state;
  outcome.records = episode.evidence.trace.operations.size();
  outcome.answer = AnswerText(report);
  outcome.score = ScoreReport(report, episode.truth, options.min_cost);
  if (suite.procedure == Procedure::kPrefixes) LookAtPrefixes(plan, episode, engine, options, &outcome);
  if (suite.procedure == Procedure::kHangCuts) LookAfterTheHang(episode, engine, options, &outcome);
  if (options.baselines) {
    const JoinedTrace joined(episode.evidence.trace);
    for (const Baseline& baseline : AllBaselines()) {
      outcome.baselines.push_back(ScoreRanking(baseline.rank(joined), episode.evidence.trace, episode.truth));
    }
  }
  return outcome;
}

EpisodeOutcome RunEpisode(const Suite& suite, uint64_t number, const Engine& engine, const RunOptions& options,
                          const Clock& clock) {
  RunOptions these = options;
  if (suite.baseline_every == 0 || number % static_cast<uint64_t>(suite.baseline_every) != 0) these.baselines = false;
  EpisodeOutcome outcome = RunPlan(PlanOf(suite, number), suite, engine, these, clock);
  outcome.number = number;
  return outcome;
}

}  // namespace lockstep
