#include "detector/engine/silent_job.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "base/clock.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/hang_reasons.h"

namespace lockstep {
namespace {

// So many times host_silent_ns, behind the moment from which the job is missed: at the default half a minute in all. A
// budget: an agent that is upgraded is away for the 2 s of its unit and for a pause between two tries to connect.
constexpr int64_t kPatience = 3;

// By host slot: ranks of which nothing says that they ended.
std::vector<int32_t> LivingRanks(const Roster& roster) {
  std::vector<int32_t> living(roster.hosts().size(), 0);
  for (const RankProcess& rank : roster.ranks()) {
    if (!rank.finalized && !rank.disabled && !rank.dead()) ++living[static_cast<size_t>(rank.host_slot)];
  }
  return living;
}

}  // namespace

std::vector<Verdict> SilentJob::Judge(const Roster& roster, const EvidenceLog& log, const Context& context) {
  // Who did not look for a while may have been as deaf as the job was mute.
  const bool looked_away = context.watermark_ns - std::exchange(looked_ns_, context.watermark_ns) > kHeardWithinNs;
  if (!context.fleet.goes_on()) {
    goes_on_since_ns_ = 0;
    return {};
  }
  if (goes_on_since_ns_ == 0 || looked_away) goes_on_since_ns_ = context.watermark_ns;
  if (context.watermark_ns - goes_on_since_ns_ < kPatience * context.host_silent_ns) return {};

  std::vector<Verdict> verdicts;
  const std::vector<int32_t> living = LivingRanks(roster);
  for (size_t slot = 0; slot < living.size(); ++slot) {
    if (living[slot] == 0) continue;
    const Host& host = roster.hosts()[slot];
    Verdict verdict = Verdict::Observation(VerdictClass::kMachineUnreachable);
    verdict.culprits.push_back({.host = host.name, .confidence = kDoubtfulConfidence});
    verdict.cost = {.slowdown_fraction = 1, .seconds_per_step = 0, .steps_affected_fraction = 1};
    verdict.first_step = verdict.last_step = context.step;
    verdict.first_seen_ns = host.received_ns;
    verdict.last_seen_ns = context.watermark_ns;
    const double silent_seconds = static_cast<double>(context.watermark_ns - host.received_ns) / kNanosPerSecond;
    verdict.evidence.push_back({EvidenceKind::kProgress, JobSilence{.host = host.name,
                                                                    .ranks = living[slot],
                                                                    .silent_seconds = silent_seconds,
                                                                    .others_reporting = context.fleet.reporting}});
    for (Evidence& said : log.About(host.name, context.watermark_ns)) verdict.evidence.push_back(std::move(said));
    verdicts.push_back(std::move(verdict));
  }
  std::sort(verdicts.begin(), verdicts.end(),
            [](const Verdict& a, const Verdict& b) { return CauseKey(a) < CauseKey(b); });
  return verdicts;
}

}  // namespace lockstep
