#include "detector/slow/slow_rank_verdict.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "detector/verdict/trace_wording.h"

namespace lockstep {
namespace {

struct KindInfo {
  VerdictClass verdict_class;
  const char* what;  // the excess is "... more"
};

// By SlowKind.
constexpr KindInfo kKinds[] = {
    {VerdictClass::kComputeSlow, "in proportion to its work: the GPU computes slowly"},
    {VerdictClass::kHostSlow, "on the side of the host, which issues work late"},
    {VerdictClass::kStorageStall, "at one place of the step, as when it waits for its input"},
};

// 0.5 at the threshold of a suspect, towards 1 with significance and persistence.
double ConfidenceOf(const Suspect& suspect) {
  const double sure = 1 - std::exp(-suspect.significance / 6);
  return std::clamp(0.5 + 0.5 * sure * suspect.share_of_steps, 0.0, 0.99);
}

}  // namespace

Verdict SlowRankVerdict(const Trace& trace, const SlowCause& cause, const HealingGain& gain) {
  const Suspect& strongest = cause.suspects.front();
  const KindInfo& info = kKinds[static_cast<size_t>(cause.kind)];
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, info.verdict_class);
  verdict.advice = Advice::kCordonAndReplace;
  const double confidence = ConfidenceOf(strongest);
  const std::string host = HostNameOf(trace, strongest.rank);
  const bool host_alone = cause.whole_host && !host.empty();
  if (host_alone) {
    verdict.culprits.push_back({.host = host, .confidence = confidence});
  } else {
    verdict.culprits.push_back(TraceCulprit(trace, strongest.rank, confidence));
  }
  verdict.first_step = strongest.first_step;
  verdict.last_step = strongest.last_step;
  verdict.cost.slowdown_fraction = gain.slowdown();
  verdict.cost.seconds_per_step = gain.steps_affected * gain.seconds_per_step;
  verdict.cost.steps_affected_fraction = gain.steps_affected;
  const std::string subject = host_alone ? absl::StrCat("Host ", host, ": ", cause.suspects.size(), " of its ranks, ")
                                         : TraceRankName(trace, strongest.rank);
  verdict.evidence.push_back(
      {EvidenceKind::kLateness,
       absl::StrFormat("%s%s spends %.4g s of each step on its own work, outside all waiting, while its %d peers spend "
                       "%.4g s: %.4g s more in %.0f%% of steps %d to %d, %.1f standard errors of the noise.",
                       subject, host_alone ? TraceRankName(trace, strongest.rank) + " first," : "",
                       strongest.own_seconds, strongest.peers, cause.peer_seconds, strongest.excess_seconds,
                       100 * strongest.share_of_steps, strongest.first_step, strongest.last_step,
                       strongest.significance)});
  if (cause.beyond_host) {
    verdict.evidence.push_back({EvidenceKind::kLateness,
                                "All ranks of its host wait at one place of the step; that is taken off here, and the "
                                "peers are the other ranks of the host."});
  }
  verdict.evidence.push_back({EvidenceKind::kLateness, absl::StrCat("The excess lies ", info.what, ".")});
  if (cause.starved) {
    verdict.evidence.push_back({EvidenceKind::kLateness,
                                "Its ranks take turns: operations start the moment they are launched, while those of "
                                "other hosts wait in the queue. The host no longer runs ahead of its GPUs."});
  } else if (strongest.in_some_steps()) {
    verdict.evidence.push_back(
        {EvidenceKind::kLateness,
         absl::StrFormat(
             "In its other steps it spends %.4g s. Its peers are rarely that slow: chance does not explain it.",
             strongest.before_seconds)});
  }
  const double share = 100 * gain.seconds_per_step / std::max(gain.step_seconds, 1e-9);
  if (gain.path_share > 0) {
    verdict.evidence.push_back(
        {EvidenceKind::kLateness,
         absl::StrFormat("Walking back from the end of a typical step, from each operation to whoever arrived last, "
                         "%.0f%% of the way is own work of %s.",
                         100 * gain.path_share, host_alone ? "this host" : "this rank")});
  }
  verdict.evidence.push_back(
      {EvidenceKind::kWhatIf,
       absl::StrFormat("%s with the own time of its peers, an affected step would take %.4g s less of %.4g s (%.1f%%).",
                       gain.replayed ? "Replayed" : "Against its own past,", gain.seconds_per_step, gain.step_seconds,
                       share)});
  if (gain.event_causes > 0) {
    verdict.evidence.push_back(
        {EvidenceKind::kWhatIf,
         absl::StrFormat(
             "One of %d that became slow in the same way at the same step. What each costs hides behind the "
             "others: with all that seem cheap healed after all else, steps would be %.1f%% shorter.",
             gain.event_causes, 100 * gain.event_share)});
  }
  return verdict;
}

}  // namespace lockstep
