#include "eval/pulls/pulling_engine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "detector/input.h"
#include "detector/roster.h"
#include "sim/capture/trace_agents.h"

namespace lockstep {
namespace {

constexpr int64_t kBeginNs = 100 * kNanosPerSecond;
constexpr double kEarlierShare = 0.9;  // of the recording that was there in the round before the last
constexpr int kMostParts = 4;          // of a round, and then some

}  // namespace

JobReport PullingEngine::Diagnose(const JobEvidence& evidence, double step_seconds) {
  counts_ = {};
  const TraceAgents agents(evidence.trace);
  const Roster roster = agents.MakeRoster(kBeginNs);
  Investigation investigation(options_);
  int64_t now_ns = kBeginNs;
  for (int round = 0; round < kRounds; ++round) {
    const double share = round + 1 == kRounds ? 1 : kEarlierShare;
    now_ns += options_.pause_ns;
    std::vector<PullRequest> requests = investigation.Advance(roster, now_ns, true, step_seconds);
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
      requests = investigation.Advance(roster, now_ns, true, step_seconds);
    }
  }
  counts_.rounds = investigation.rounds();
  JobReport report;
  report.job = evidence.job;
  report.ranks = static_cast<int32_t>(evidence.trace.ranks.size());
  report.hosts = static_cast<int32_t>(evidence.trace.hosts.size());
  report.verdicts = investigation.verdicts();
  const bool accuses = std::any_of(report.verdicts.begin(), report.verdicts.end(), [](const Verdict& verdict) {
    return verdict.scope == VerdictScope::kMachine || verdict.scope == VerdictScope::kNetwork;
  });
  report.state = accuses ? JobState::kSlow : JobState::kHealthy;
  return report;
}

}  // namespace lockstep
