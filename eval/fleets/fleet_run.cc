#include "eval/fleets/fleet_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"
#include "sim/second/episode.h"
#include "sim/second/fault.h"
#include "sim/second/recording.h"

namespace lockstep {
namespace {

constexpr size_t kShownVerdicts = 6;

std::string AnswerOf(const JobReport& report) {
  std::string answer = Name(report.state);
  for (size_t i = 0; i < std::min(kShownVerdicts, report.verdicts.size()); ++i) {
    const Verdict& verdict = report.verdicts[i];
    absl::StrAppend(&answer, " ", Name(verdict.scope), "/", Name(verdict.verdict_class));
    if (!verdict.culprits.empty()) absl::StrAppend(&answer, "[", verdict.culprits.size(), "]");
  }
  return answer;
}

}  // namespace

JobEvidence AsAgentsSee(JobEvidence evidence, const second::Truth& truth) {
  for (const second::TrueFault& fault : truth.faults) {
    if (fault.fault.kind != second::FaultKind::kProcessDead) continue;
    for (TraceRank& rank : evidence.trace.ranks) {
      const bool died = std::find(fault.ranks.begin(), fault.ranks.end(), rank.rank) != fault.ranks.end();
      if (died) rank.process_state = ProcessState::kGone;
    }
  }
  return evidence;
}

const second::EpisodeKind& KindOfNumber(uint64_t number) {
  const std::vector<second::EpisodeKind>& kinds = second::EpisodeKinds();
  return kinds[number % kinds.size()];
}

FleetOutcome RunFleetEpisode(uint64_t number, const second::EpisodeKind& kind, const FleetJudge& judge) {
  const second::SecondEpisode episode = second::MakeSecondEpisode(number, kind);
  const JobReport report = judge(second::EvidenceOf(episode.recording), episode.truth);
  FleetOutcome outcome{.number = number, .kind = std::string(kind.name), .truth = episode.truth, .score = {}};
  outcome.score = ScoreFleet(episode.truth, report);
  outcome.state = report.state;
  outcome.answer = AnswerOf(report);
  outcome.truth.host_names.clear();
  return outcome;
}

std::vector<FleetOutcome> RunFleets(uint64_t first, int32_t count, const second::EpisodeKind* only,
                                    const FleetJudge& judge, Executor& executor,
                                    const std::function<void(int32_t)>& progress) {
  std::vector<FleetOutcome> outcomes(static_cast<size_t>(count));
  const size_t batch = executor.lanes() * 2;
  for (size_t begin = 0; begin < outcomes.size(); begin += batch) {
    const size_t end = std::min(outcomes.size(), begin + batch);
    executor.Run(end - begin, [&](size_t piece) {
      const uint64_t number = first + begin + piece;
      outcomes[begin + piece] = RunFleetEpisode(number, only != nullptr ? *only : KindOfNumber(number), judge);
    });
    progress(static_cast<int32_t>(end));
  }
  return outcomes;
}

}  // namespace lockstep
