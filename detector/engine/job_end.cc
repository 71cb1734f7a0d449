#include "detector/engine/job_end.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "detector/hang/death_verdict.h"

namespace lockstep {
namespace {

// A hang from before a death explains a job that stands still after it, not one that has gone on without its dead: as
// long as launchers leave those whom they asked to end, and as much again. By judgement, not measured.
constexpr int64_t kExplainsNs = 60 * kNanosPerSecond;

int64_t FirstDeathNs(const Roster& roster, const Deaths& deaths) {
  return roster.ranks()[static_cast<size_t>(deaths.first.front().rank_slot)].ended_ns;
}

JobState StateOf(const Roster& roster, const Deaths& deaths) {
  if (deaths.any()) return deaths.stopped ? JobState::kStopped : JobState::kFailed;
  return std::any_of(roster.ranks().begin(), roster.ranks().end(), EndIsUnknown) ? JobState::kGone : JobState::kEnded;
}

uint64_t HeardOf(const Roster& roster, const EvidenceLog& log) {
  return log.added() + static_cast<uint64_t>(std::count_if(roster.ranks().begin(), roster.ranks().end(),
                                                           [](const RankProcess& rank) { return rank.end.known(); }));
}

}  // namespace

std::vector<Verdict> JobEnd::Settle(const Roster& roster, const EvidenceLog& log, std::vector<Verdict> hangs,
                                    int64_t watermark_ns) {
  const Deaths deaths = OrderDeaths(roster, log);
  is_over_ = false;
  if (!deaths.any()) {
    if (hangs.empty() || held_.empty()) held_since_ns_ = watermark_ns;
    held_ = hangs;
    return hangs;
  }
  const int64_t first_ns = FirstDeathNs(roster, deaths);
  if (held_since_ns_ >= first_ns) held_.clear();
  if (!held_.empty() && watermark_ns - first_ns <= kExplainsNs) return held_;
  SettleDeaths(roster, deaths, watermark_ns, &hangs);
  return hangs;
}

JobEnd::Over& JobEnd::Of(const Roster& roster, const EvidenceLog& log, int64_t watermark_ns) {
  const uint64_t heard = HeardOf(roster, log);
  if (is_over_ && heard == heard_) return over_;
  is_over_ = true;
  heard_ = heard;
  over_ = {};
  over_.is_new = true;
  const Deaths deaths = OrderDeaths(roster, log);
  over_.note = EndNote(roster, deaths);
  over_.state = StateOf(roster, deaths);
  if (over_.state != JobState::kFailed && over_.state != JobState::kGone) return over_;
  if (deaths.any() && held_since_ns_ >= FirstDeathNs(roster, deaths)) held_.clear();
  for (Verdict hang : held_) {
    if (deaths.any()) AddDeath(roster, deaths, &hang);
    over_.verdicts.push_back(std::move(hang));
  }
  if (deaths.any() && held_.empty()) over_.verdicts.push_back(OfDeath(roster, deaths, log, watermark_ns));
  for (const Verdict& verdict : kept_) {
    if (verdict.type() != FindingType::kAbstention && !IsHang(verdict.verdict_class)) over_.verdicts.push_back(verdict);
  }
  return over_;
}

}  // namespace lockstep
