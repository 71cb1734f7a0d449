#include "eval/live/live_run.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "base/check.h"
#include "eval/live/live_job.h"
#include "eval/live/played_episode.h"
#include "eval/scoring/answer_text.h"
#include "eval/suites/ordered_work.h"

namespace lockstep {

LiveOutcome RunLivePlan(const LivePlan& plan, const LiveRun& run, const Clock& clock, ConclusionTimeline* timeline) {
  LiveOutcome outcome;
  outcome.description = DescribeLivePlan(plan);
  const int64_t begun_ns = clock.MonotonicNanos();
  PlayedEpisode played = MakePlayedEpisode(SimulateLivePlan(plan), plan.delivery.recorder, plan.seed);
  outcome.simulate_ns = clock.MonotonicNanos() - begun_ns;
  outcome.gpus = GpusOf(plan);
  outcome.hosts = static_cast<int32_t>(played.seen.evidence.trace.hosts.size());
  outcome.truth = played.truth;

  const std::unique_ptr<LiveEngine> engine = run.engine();
  LiveScorer scorer(outcome.truth, run.min_cost);
  JobReport last;
  const int64_t play_from_ns = run.cpu();
  outcome.play = PlayJob(LiveJobOf(played), plan.delivery, plan.seed + 1, *engine, run.cpu, [&](const LiveLook& look) {
    scorer.Look(look);
    last = ReportOf(look.conclusion, look.summary);
    if (timeline != nullptr) timeline->Add(look.now_ns, look.conclusion, look.summary);
  });
  outcome.play_cpu_ns = run.cpu() - play_from_ns;
  CHECK(outcome.play.refused.ok());
  outcome.score = scorer.Finish();
  outcome.answer = AnswerText(last);
  if (!run.file_engine) return outcome;
  const JobReport file = run.file_engine(TakeRecording(std::move(played)));
  outcome.judged_as_file = true;
  outcome.parity = CompareReports(last, file);
  outcome.file_score = ScoreReport(file, outcome.truth, run.min_cost);
  outcome.file_answer = AnswerText(file);
  return outcome;
}

LiveOutcome RunLiveEpisode(const LiveSuite& suite, uint64_t number, const LiveRun& run, const Clock& clock) {
  LiveRun chosen = run;
  if (suite.file_every == 0 || number % static_cast<uint64_t>(suite.file_every) != 0) chosen.file_engine = nullptr;
  LiveOutcome outcome = RunLivePlan(LivePlanOf(suite, number), chosen, clock, nullptr);
  outcome.number = number;
  return outcome;
}

std::vector<LiveOutcome> RunLiveSuite(const LiveSuite& suite, uint64_t first_number, int32_t episodes, int32_t threads,
                                      const LiveRun& run, const Clock& clock,
                                      const std::function<void(int32_t done)>& on_done) {
  return OrderedWork<LiveOutcome>::Run(
      episodes, suite.one_at_a_time ? 1 : threads,
      [&](size_t place) { return RunLiveEpisode(suite, first_number + place, run, clock); }, on_done);
}

}  // namespace lockstep
