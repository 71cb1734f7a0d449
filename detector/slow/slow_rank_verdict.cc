#include "detector/slow/slow_rank_verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "detector/verdict/reason.h"
#include "detector/verdict/trace_names.h"

namespace lockstep {
namespace {

// By SlowKind.
constexpr VerdictClass kClasses[] = {VerdictClass::kComputeSlow, VerdictClass::kHostSlow, VerdictClass::kStorageStall};

// 0.5 at the threshold of a suspect, towards 1 with significance and persistence.
double ConfidenceOf(const Suspect& suspect) {
  const double sure = 1 - std::exp(-suspect.significance / 6);
  return std::clamp(0.5 + 0.5 * sure * suspect.share_of_steps, 0.0, 0.99);
}

}  // namespace

Verdict SlowRankVerdict(const Trace& trace, const SlowCause& cause, const CounterfactualGain& gain) {
  const Suspect& strongest = cause.suspects.front();
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, kClasses[static_cast<size_t>(cause.kind)]);
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
  const auto say = [&verdict](EvidenceKind kind, Reason reason) {
    verdict.evidence.push_back({kind, std::move(reason)});
  };
  if (cause.alone) {
    say(EvidenceKind::kLateness, GrewAlone{.rank = NameOf(trace, strongest.rank),
                                           .host_ranks = host_alone ? cause.suspects.size() : 0,
                                           .before_seconds = strongest.before_seconds,
                                           .own_seconds = strongest.own_seconds,
                                           .first_step = strongest.first_step,
                                           .share_of_steps = strongest.share_of_steps,
                                           .significance = strongest.significance});
  } else {
    say(EvidenceKind::kLateness, OwnTimeExcess{.rank = NameOf(trace, strongest.rank),
                                               .host_ranks = host_alone ? cause.suspects.size() : 0,
                                               .own_seconds = strongest.own_seconds,
                                               .peers = strongest.peers,
                                               .peer_seconds = cause.peer_seconds,
                                               .excess_seconds = strongest.excess_seconds,
                                               .share_of_steps = strongest.share_of_steps,
                                               .first_step = strongest.first_step,
                                               .last_step = strongest.last_step,
                                               .significance = strongest.significance});
    say(EvidenceKind::kLateness, ExcessPlace{.kind = cause.kind});
  }
  if (strongest.needed_seconds > 0) {
    say(EvidenceKind::kLateness,
        HiddenPeerWork{.needed_seconds = strongest.needed_seconds, .own_seconds = strongest.own_seconds});
  }
  if (cause.beyond_host) say(EvidenceKind::kLateness, HostWaitLeftOut{});
  if (cause.starved) {
    say(EvidenceKind::kLateness, LateLaunches{});
  } else if (strongest.in_some_steps() && !strongest.against_past) {
    say(EvidenceKind::kLateness, OtherSteps{.seconds = strongest.before_seconds});
  }
  if (gain.path_share > 0) {
    say(EvidenceKind::kLateness, CriticalPathShare{.share = gain.path_share, .of_host = host_alone});
  }
  say(EvidenceKind::kWhatIf,
      CounterfactualOwnTime{
          .replayed = gain.replayed, .seconds = gain.seconds_per_step, .step_seconds = gain.step_seconds});
  if (gain.event_causes > 0) {
    say(EvidenceKind::kWhatIf, SameEvent{.causes = gain.event_causes, .share = gain.event_share});
  }
  return verdict;
}

}  // namespace lockstep
