#include "detector/engine/standing_findings.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/shares.h"
#include "detector/verdict/job_reasons.h"
#include "detector/verdict/job_state.h"

namespace lockstep {
namespace {

// A cause that ended earlier than this before the end of a look is over. The last steps of a window are the least
// known: some hosts have reported them and some have not.
constexpr int64_t kOpenSteps = 2;
// What shows in some of the steps may be quiet for as many as it was in all of its stretch, up to a minor part of that
// (base/shares.h).
constexpr int64_t kOpenShare = 4;
// Of the time; checkpoints and evaluations of most jobs cost less.
constexpr double kCostlyPauses = kFew;

// Two of them may be chance.
constexpr uint64_t kRecurringPauses = 3;

bool AreCostlyPauses(const Verdict& verdict) {
  if (verdict.evidence.empty() || verdict.cost.slowdown_fraction < kCostlyPauses) return false;
  const auto* const pause = verdict.evidence.front().reason.As<CommonPause>();
  return pause != nullptr && pause->more + 1 >= kRecurringPauses;
}

// What only the whole course of a job can tell: whatever changes while a window is long is a drift in it, and a pause
// now and then is nothing to be told.
bool IsOfTheCourse(const Verdict& verdict) {
  if (verdict.verdict_class == VerdictClass::kPause) return !AreCostlyPauses(verdict);
  return verdict.verdict_class == VerdictClass::kDrift;
}

// How many steps of the look are known of one of the culprits: the best known one counts.
int64_t EndOfRecords(const LookResult& look, const Verdict& verdict) {
  int64_t end = verdict.culprits.empty() ? look.steps : 0;
  for (const Culprit& culprit : verdict.culprits) {
    const auto own =
        std::find_if(look.short_records.begin(), look.short_records.end(), [&](const ShortRecords& records) {
          return records.rank == culprit.rank && (records.rank >= 0 || records.host == culprit.host);
        });
    end = std::max<int64_t>(end, own == look.short_records.end() ? look.steps : own->last_step + 1);
  }
  return end;
}

// Pauses come back: one that is over is no reason to believe that there will be no other.
bool ReachesTheEnd(const LookResult& look, const Verdict& verdict) {
  const int64_t steps = EndOfRecords(look, verdict);
  if (verdict.last_step < 0 || steps <= 0 || verdict.verdict_class == VerdictClass::kPause) return true;
  const int64_t first = std::max<int64_t>(verdict.first_step, 0);
  const int64_t stretch = verdict.last_step - first + 1;
  const double affected = verdict.cost.steps_affected_fraction * static_cast<double>(steps - first);
  const auto quiet_within = static_cast<int64_t>(std::ceil(static_cast<double>(stretch) - affected));
  return steps - 1 - verdict.last_step <= std::max(kOpenSteps, std::min(stretch / kOpenShare, quiet_within));
}

std::set<std::string> KeysOf(const std::vector<Verdict>& verdicts) {
  std::set<std::string> keys;
  for (const Verdict& verdict : verdicts) keys.insert(CauseKey(verdict));
  return keys;
}

}  // namespace

void PlaceInJob(const LookResult& look, Verdict* verdict) {
  const int64_t since = look.steps - std::max<int64_t>(verdict->first_step, 0);
  const int64_t until = verdict->last_step < 0 ? 0 : std::max<int64_t>(look.steps - 1 - verdict->last_step, 0);
  verdict->first_step = std::max<int64_t>(look.newest_step - since, 0);
  verdict->last_step = std::max<int64_t>(look.newest_step - until, 0);
  const auto since_ns = static_cast<int64_t>(static_cast<double>(since) * look.step_seconds * kNanosPerSecond);
  verdict->first_seen_ns = look.watermark_ns - since_ns;
  verdict->last_seen_ns = look.watermark_ns;
  for (Evidence& evidence : verdict->evidence) evidence.reason = evidence.reason.WithStepsMoved(look.first_step());
}

std::vector<Verdict> CausesOfLook(const JobReport& report, const CostLimit& limit) {
  std::vector<Verdict> causes;
  for (const Verdict& verdict : report.verdicts) {
    const bool costly = AccusesNode(verdict) || verdict.cost.slowdown_fraction >= limit.Of(verdict);
    const bool told = (verdict.type() == FindingType::kAccusation && costly) || IsSlowWithoutCause(verdict);
    if (told && !IsHang(verdict.verdict_class) && !IsOfTheCourse(verdict)) causes.push_back(verdict);
  }
  return causes;
}

bool StandingFindings::Knows(const LookResult& look, const Finding& finding) {
  const bool unchanged = look.level_since_step >= 0 && look.level_since_step + kPastSteps <= finding.settled_at_step;
  return !unchanged || look.first_step() + kPastSteps <= finding.verdict.first_step;
}

StandingFindings::OtherCauses StandingFindings::OthersThan(const std::string& key, const LookResult& look) {
  OtherCauses others;
  for (const Verdict& verdict : look.verdicts) {
    if (CauseKey(verdict) == key) {
      others.saw_this = true;
    } else if (!IsSlowWithoutCause(verdict)) {
      others.found = true;
    }
  }
  return others;
}

std::map<std::string, Verdict> StandingFindings::BelievedOf(const LookResult& look) const {
  const bool knows_less = std::any_of(findings_.begin(), findings_.end(), [&look](const auto& entry) {
    return entry.second.told && AccusesNode(entry.second.verdict) && !Knows(look, entry.second);
  });
  const std::set<std::string> seen = KeysOf(look.verdicts);
  const bool misses_accused = std::any_of(findings_.begin(), findings_.end(), [&seen](const auto& entry) {
    return entry.second.told && AccusesNode(entry.second.verdict) && !seen.contains(entry.first);
  });
  std::map<std::string, Verdict> found;
  for (const Verdict& verdict : look.verdicts) {
    if (!ReachesTheEnd(look, verdict)) continue;
    const bool without_past = AccusesNode(verdict) && verdict.first_step < kPastSteps;
    const std::string key = CauseKey(verdict);
    const auto known = findings_.find(key);
    if (knows_less && without_past && known == findings_.end()) continue;
    // Whom the look did not see explains it, for all that is known. What was told stays.
    const bool told = known != findings_.end() && known->second.told;
    if (misses_accused && IsSlowWithoutCause(verdict) && !told) continue;
    Verdict placed = verdict;
    PlaceInJob(look, &placed);
    found.emplace(key, std::move(placed));
  }
  return found;
}

void StandingFindings::Confirm(const LookResult& look, Verdict again, Finding* finding) const {
  finding->misses = 0;
  finding->newest_step = look.newest_step;
  const bool knows = Knows(look, *finding);
  if (again.first_step - look.first_step() >= kPastSteps) finding->settled_at_step = look.newest_step;
  if (!knows) {
    finding->verdict.last_step = again.last_step;
    finding->verdict.last_seen_ns = again.last_seen_ns;
    return;
  }
  again.first_seen_ns = std::min(again.first_seen_ns, finding->verdict.first_seen_ns);
  again.first_step = std::min(again.first_step, finding->verdict.first_step);
  finding->verdict = std::move(again);
}

bool StandingFindings::Agree(const LookResult& look, const Finding& finding) {
  const int64_t new_steps = look.newest_step - finding.found_at_step;
  if (AccusesNode(finding.verdict)) return new_steps >= 1;
  const bool lasts = IsSlowWithoutCause(finding.verdict);
  const bool has_past = !lasts && finding.settled_at_step >= 0 && finding.verdict.scope == VerdictScope::kJob;
  return new_steps >= (has_past ? kPastSteps : kPatientSteps) &&
         look.watermark_ns - finding.found_at_ns >= (lasts ? kLastingNs : kUnhurriedNs);
}

bool StandingFindings::IsUnseen(const LookResult& look, const Finding& finding) {
  const int64_t end = EndOfRecords(look, finding.verdict);
  const bool nothing_new = end < look.steps && look.first_step() + end < finding.newest_step + kPastSteps;
  return nothing_new && look.watermark_ns - finding.verdict.last_seen_ns < kUnseenNs;
}

bool StandingFindings::Miss(const LookResult& look, const std::string& key, Finding* finding) {
  const OtherCauses others = OthersThan(key, look);
  const bool knows = others.saw_this || Knows(look, *finding);
  if (finding->told && !knows && !others.found) return false;
  ++finding->misses;
  if (!finding->told) return !finding->agreed || !AccusesNode(finding->verdict);
  if (look.newest_step - finding->newest_step < kPastSteps) return false;
  const bool holds_on = !knows || (look.still_slower && !others.found);
  return finding->misses >= (holds_on ? kMostMisses : kMisses);
}

bool StandingFindings::Take(const LookResult& look) {
  bool look_soon = false;
  if (look.judged || judged_ns_ == 0) judged_ns_ = look.watermark_ns;
  const bool sees_all = look.judged || look.watermark_ns - judged_ns_ >= kUnhurriedNs;
  std::map<std::string, Verdict> found = BelievedOf(look);
  for (auto entry = findings_.begin(); entry != findings_.end();) {
    Finding& finding = entry->second;
    const auto again = found.find(entry->first);
    const bool missed = again == found.end();
    const bool may_miss = look.judged && !IsUnseen(look, finding);
    const int misses = finding.misses;
    const bool over = missed && may_miss && Miss(look, entry->first, &finding);
    if (!missed) Confirm(look, std::move(again->second), &finding);
    finding.agreed = finding.agreed || (!missed && sees_all && Agree(look, finding));
    finding.told = finding.told || (finding.agreed && look.steps_are_sure);
    const bool hurries = !finding.told && AccusesNode(finding.verdict);
    look_soon = look_soon || (missed ? misses == 0 && finding.misses > 0 : hurries);
    entry = over ? findings_.erase(entry) : std::next(entry);
  }
  for (auto& [key, verdict] : found) {
    if (findings_.contains(key)) continue;
    if (findings_.size() >= kMaxFindings) {
      ++refused_;
      continue;
    }
    const bool has_past = verdict.first_step - look.first_step() >= kPastSteps;
    findings_.emplace(key, Finding{.verdict = std::move(verdict),
                                   .found_at_step = look.newest_step,
                                   .found_at_ns = look.watermark_ns,
                                   .newest_step = look.newest_step,
                                   .settled_at_step = has_past ? look.newest_step : -1});
    look_soon = true;
  }
  explains_ = std::any_of(findings_.begin(), findings_.end(),
                          [](const auto& entry) { return entry.second.told && entry.second.verdict.cost.any(); });
  return look_soon;
}

std::vector<Verdict> StandingFindings::Told() const {
  std::vector<Verdict> told;
  for (const auto& [key, finding] : findings_) {
    if (finding.told) told.push_back(finding.verdict);
  }
  return told;
}

std::set<std::string> StandingFindings::ToldCauses() const {
  std::set<std::string> causes;
  for (const auto& [key, finding] : findings_) {
    if (finding.told) causes.insert(key);
  }
  return causes;
}

bool StandingFindings::AccountsForTold(const LookResult& look) const {
  const std::set<std::string> seen = KeysOf(look.verdicts);
  return std::all_of(findings_.begin(), findings_.end(), [&](const auto& entry) {
    return !entry.second.told || seen.contains(entry.first) || Knows(look, entry.second);
  });
}

std::vector<Verdict> StandingFindings::Candidates() const {
  std::vector<Verdict> candidates;
  for (const auto& [key, finding] : findings_) {
    if (finding.misses == 0) candidates.push_back(finding.verdict);
  }
  return candidates;
}

int64_t StandingFindings::StepsToSee(int64_t newest_step) const {
  int64_t steps = 0;
  for (const auto& [key, finding] : findings_) {
    const bool has_past = finding.settled_at_step >= 0 && !finding.told && finding.misses == 0;
    if (has_past) steps = std::max(steps, newest_step - finding.verdict.first_step + 2 * kPastSteps);
  }
  return steps;
}

JobState StandingFindings::state() const {
  std::vector<Verdict> sure = Told();
  for (const auto& [key, finding] : findings_) {
    const bool again = finding.newest_step >= finding.found_at_step + kPastSteps;
    if (!finding.told && again && !AccusesNode(finding.verdict)) sure.push_back(finding.verdict);
  }
  return StateWith(sure, JobState::kHealthy);
}

bool StandingFindings::accuses() const {
  return std::any_of(findings_.begin(), findings_.end(),
                     [](const auto& entry) { return entry.second.told && AccusesNode(entry.second.verdict); });
}

void StandingFindings::Renumber(int64_t newest_step) {
  std::erase_if(findings_, [](const auto& entry) { return !entry.second.told; });
  for (auto& [key, finding] : findings_) {
    finding.settled_at_step = -1;
    finding.found_at_step = finding.newest_step = finding.verdict.first_step = finding.verdict.last_step = newest_step;
  }
}

}  // namespace lockstep
