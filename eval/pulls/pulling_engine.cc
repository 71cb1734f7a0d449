#include "eval/pulls/pulling_engine.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "detector/engine/standing_findings.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "sim/capture/trace_agents.h"

namespace lockstep {
namespace {

constexpr int64_t kBeginNs = 100 * kNanosPerSecond;
constexpr int64_t kPauseNs = 10 * kNanosPerSecond;  // between the rounds
constexpr double kSteps = 16;                       // that a round looks at
constexpr double kEarlierShare = 0.9;               // of the recording that was there in the round before the last
constexpr int kMostParts = 4;                       // of a round, and then some

}  // namespace

JobReport PullingEngine::Diagnose(const JobEvidence& evidence, double step_seconds) {
  counts_ = {};
  const TraceAgents agents(evidence.trace);
  const Roster roster = agents.MakeRoster(kBeginNs);
  const auto window_ns = static_cast<int64_t>(kSteps * step_seconds * kNanosPerSecond);
  Investigation investigation(options_);
  StandingFindings findings;
  int64_t now_ns = kBeginNs;
  for (int round = 0; round < kRounds; ++round) {
    const double share = round + 1 == kRounds ? 1 : kEarlierShare;
    now_ns += kPauseNs;
    std::vector<PullRequest> requests = investigation.Begin(roster, now_ns, window_ns);
    for (int part = 0; part < kMostParts && !requests.empty(); ++part) {
      counts_.reached.clear();
      for (const PullRequest& request : requests) {
        counts_.reached.push_back(request.host);
        HostReport report;
        report.host = request.host;
        report.answers.push_back(agents.Answer(request, share, &counts_.bytes));
        counts_.left_out += report.answers.front().left_out;
        investigation.Observe(report);
      }
      counts_.requests += requests.size();
      now_ns += kNanosPerSecond;
      requests = investigation.Advance(roster, now_ns);
    }
    const std::optional<LookedAt> look = investigation.Take();
    if (!look.has_value() || look->judgement.why_not_judged.has_value()) continue;
    findings.Take({.verdicts = CausesOfLook(look->judgement.report, options_.min_cost),
                   .steps = look->judgement.report.steps,
                   .step_seconds = step_seconds,
                   .watermark_ns = now_ns,
                   .newest_step = round + 1});
  }
  counts_.rounds = investigation.rounds();
  JobReport report;
  report.job = evidence.job;
  report.ranks = static_cast<int32_t>(evidence.trace.ranks.size());
  report.hosts = static_cast<int32_t>(evidence.trace.hosts.size());
  report.verdicts = findings.Told();
  const bool accuses = std::any_of(report.verdicts.begin(), report.verdicts.end(), AccusesNode);
  report.state = accuses ? JobState::kSlow : JobState::kHealthy;
  return report;
}

}  // namespace lockstep
