#include "detector/engine/close_look.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/shares.h"
#include "detector/engine/process_use.h"
#include "detector/engine/short_records.h"
#include "detector/network/transfer_verdict.h"
#include "detector/verdict/cost_limit.h"
#include "detector/verdict/job_state.h"
#include "detector/verdict/many_named.h"
#include "detector/verdict/wording.h"

namespace lockstep {
namespace {

// By judgement, not measured.
constexpr double kIrregularSpread = 3.0;  // longest usual step / median step

std::vector<FollowedCalls> CallsOf(const std::vector<StepCount>& counts) {
  std::vector<FollowedCalls> calls;
  for (const StepCount& count : counts) {
    FollowedCalls call = {
        .rank = count.rank, .operations_per_step = count.operations_per_step, .counted_to = count.newest_sequence};
    if (absl::SimpleAtoi(count.communicator, &call.communicator)) calls.push_back(call);
  }
  return calls;
}

// Whether the records of every rank hold the main part of the steps.
bool SawMostOfAll(const LookResult& look) {
  return std::none_of(look.short_records.begin(), look.short_records.end(), [&look](const ShortRecords& records) {
    return static_cast<double>(records.last_step + 1) < kMainPart * static_cast<double>(look.steps);
  });
}

}  // namespace

void CloseLook::ObserveCommunicator(int32_t rank, int32_t rank_slot, const Roster::Place& place,
                                    const CommunicatorView& view, int64_t host_ns, int64_t received_ns) {
  window_.Observe(place.communicator_slot, rank, view, host_ns, received_ns);
  watch_.Observe(rank_slot, place, view.transfers, received_ns);
  moves_ = moves_ || view.finished > 0;
  pace_.Observe(rank, view, received_ns);
}

void CloseLook::Observe(const HostReport& report) {
  investigation_.Observe(report);
  watch_.Observe(report);
}

bool CloseLook::accuses() const { return std::any_of(told_.begin(), told_.end(), AccusesNode); }

bool CloseLook::irregular() const { return pace_.LongestUsualSeconds() > kIrregularSpread * pace_.MedianSeconds(); }

double CloseLook::LongestUsualSeconds() const {
  const double of_steps = pace_.LongestUsualSeconds();
  return of_steps > 0 ? of_steps : window_.rarest_seconds();
}

bool CloseLook::in_doubt() const { return accuses() && !sentinel_.slower(); }

void CloseLook::TakePace(int64_t watermark_ns) {
  const bool doubted = in_doubt();
  bool changed = false;
  for (const double seconds : pace_.TakeNew()) changed = sentinel_.Observe(seconds) || changed;
  sentinel_.Advance(watermark_ns, findings_.explains() || accuses());
  if (changed || in_doubt() != doubted) schedule_.NoteEvent(watermark_ns, pace_.RecentSeconds());
}

void CloseLook::TakeLook(const Roster& roster, LookedAt look, int64_t watermark_ns) {
  Judgement& judgement = look.judgement;
  const bool believed_before = window_.believes_steps(pace_.RecentSeconds());
  const double found_seconds = judgement.report.step_seconds_median;
  const bool believed = window_.Take(found_seconds, pace_.RecentSeconds());
  if (believed && pace_.Follow(CallsOf(judgement.step_counts), judgement.report.steps, found_seconds, watermark_ns)) {
    sentinel_.Clear();
    findings_.Renumber(pace_.steps());
  }
  const double step_seconds = std::max(pace_.RecentSeconds(), found_seconds);
  why_not_judged_ = std::move(judgement.why_not_judged);
  if (!why_not_judged_.has_value() && !believed) why_not_judged_ = StepLengthUnknown{};
  blind_looks_ = why_not_judged_.has_value() ? blind_looks_ + 1 : 0;
  blind_ns_ = watermark_ns - schedule_.begun_ns();
  NoteLeftOut(std::move(judgement.left_out));
  const bool guarded = blind_looks_ == 0 && sentinel_.usual_seconds() > 0 && !in_doubt();
  schedule_.NoteLook(watermark_ns, guarded, step_seconds, look.bytes, roster.hosts().size());
  if (!believed_before && believed) schedule_.NoteEvent(watermark_ns, step_seconds);
  if (!believed) return;
  judged_once_ = judged_once_ || blind_looks_ == 0;
  work_ = std::move(judgement.work);
  duties_.Take(judgement.duty_of_host, roster);
  const std::set<std::string> told = findings_.ToldCauses();
  std::vector<Verdict> causes = CausesOfLook(judgement.report, CostLimit(min_cost_, told));
  for (Verdict& cause : causes) {
    const auto steps = static_cast<double>(judgement.report.steps - std::max<int64_t>(cause.first_step, 0));
    AddProcessUse(roster, work_, step_seconds, steps * step_seconds, &cause);
  }
  const LookResult result = {.judged = blind_looks_ == 0,
                             .steps_are_sure = window_.is_sure_of(found_seconds),
                             .verdicts = std::move(causes),
                             .short_records = std::move(judgement.short_records),
                             .steps = judgement.report.steps,
                             .step_seconds = found_seconds,
                             .watermark_ns = watermark_ns,
                             .newest_step = pace_.steps(),
                             .still_slower = sentinel_.slower(),
                             .level_since_step = pace_.steps() - sentinel_.steps_since_change()};
  pauses_.Take(result, judgement.report);
  const bool another_must_follow = findings_.Take(result);
  if (another_must_follow) schedule_.NoteEvent(watermark_ns, step_seconds);
  const bool accounts_for_all = ledger_.ledger.empty() || findings_.AccountsForTold(result);
  if (!judgement.report.ledger.empty() && accounts_for_all) {
    ledger_ = {std::move(judgement.report.ledger), std::move(judgement.report.remedies), watermark_ns};
  }
  const bool saw_all = SawMostOfAll(result) && static_cast<int32_t>(roster.ranks().size()) >= roster.world_size();
  const bool is_late = watermark_ns - std::max(schedule_.begun_ns(), resumed_ns_) >= kBlindNs;
  has_settled_ = has_settled_ ||
                 (result.judged && !another_must_follow && (saw_all || is_late) && schedule_.look_ns() >= resumed_ns_);
}

void CloseLook::Resume(int64_t watermark_ns) {
  has_settled_ = false;
  resumed_ns_ = watermark_ns;
  investigation_.Abandon();
  if (schedule_.begun()) schedule_.NoteEvent(watermark_ns, pace_.RecentSeconds());
}

int64_t CloseLook::StepsToSee() const {
  const int64_t of_sentinel =
      sentinel_.slower() ? sentinel_.steps_since_change() + 2 * StandingFindings::kPastSteps : 0;
  return std::max(of_sentinel, findings_.StepsToSee(pace_.steps()));
}

WatchNeed CloseLook::NeedOfWatch() const {
  WatchNeed need;
  const std::vector<Verdict> found = findings_.Candidates();
  const bool leaves_network = std::none_of(found.begin(), found.end(), [](const Verdict& verdict) {
    return verdict.scope == VerdictScope::kMachine || verdict.scope == VerdictScope::kSoftware;
  });
  need.wanted = leaves_network && judged() && (sentinel_.slower() || irregular());
  if (!need.wanted) return need;
  const std::string why = sentinel_.slower() ? absl::StrCat("Steps take ", Duration(sentinel_.level_seconds()),
                                                            ", usually ", Duration(sentinel_.usual_seconds()))
                                             : "Step times vary";
  const bool points_there = std::any_of(found.begin(), found.end(),
                                        [](const Verdict& verdict) { return verdict.scope == VerdictScope::kNetwork; });
  need.reason = absl::StrCat(
      why, points_there ? ", and operations point to the network." : ", and no rank's own time explains it.");
  std::set<std::string> hosts;
  for (const Verdict& verdict : found) {
    if (verdict.scope != VerdictScope::kNetwork) continue;
    for (const Culprit& culprit : verdict.culprits) hosts.insert({culprit.host, culprit.peer_host});
  }
  hosts.erase("");
  need.hosts.assign(hosts.begin(), hosts.end());
  return need;
}

std::vector<Verdict> CloseLook::remarks() const {
  const std::optional<Verdict>& pause = pauses_.newest();
  if (!pause.has_value()) return {};
  const std::string key = CauseKey(*pause);
  const bool is_finding =
      std::any_of(told_.begin(), told_.end(), [&key](const Verdict& verdict) { return CauseKey(verdict) == key; });
  return is_finding ? std::vector<Verdict>() : std::vector<Verdict>{*pause};
}

void CloseLook::Tell(const Roster& roster, int64_t watermark_ns) {
  told_ = findings_.Told();
  const double step_seconds = pace_.RecentSeconds();
  if (!sentinel_.slower() && !irregular()) watch_.Forget();
  if (!watch_.result().has_value()) return;
  const StepImpact impact = {.step_seconds = step_seconds, .lost_seconds = sentinel_.lost_seconds()};
  std::vector<Verdict> of_transfers = TransferVerdicts(roster, *watch_.result(), impact);
  for (Verdict& verdict : of_transfers) verdict.last_seen_ns = watermark_ns;
  MergeTransferVerdicts(*watch_.result(), std::move(of_transfers), min_cost_, &told_);
  NameNobodyOfMany({.hosts = roster.hosts().size(), .ranks = roster.ranks().size()}, &told_);
  // What looks could not explain, transfers do.
  if (accuses()) std::erase_if(told_, IsSlowWithoutCause);
}

// One agent that answers a look too late makes nobody unknown, and a look that cannot judge nobody known.
void CloseLook::NoteLeftOut(std::optional<Reason> left_out) {
  if (blind_looks_ > 0) return;
  partial_looks_ = left_out.has_value() ? partial_looks_ + 1 : 0;
  left_out_ = partial_looks_ >= kMostBlindLooks ? std::move(left_out) : std::nullopt;
}

Wishes CloseLook::Advance(const Roster& roster, int64_t watermark_ns, bool standing_still) {
  Wishes wishes;
  if (!moves_) return wishes;
  schedule_.Begin(watermark_ns);
  if (stood_still_ && !standing_still) schedule_.NoteEvent(watermark_ns, pace_.RecentSeconds());
  stood_still_ = standing_still;
  TakePace(watermark_ns);
  wishes.pulls = investigation_.Advance(roster, watermark_ns);
  if (std::optional<LookedAt> look = investigation_.Take()) {
    TakeLook(roster, *std::move(look), watermark_ns);
  }
  if (!standing_still && !investigation_.open() && schedule_.Due(watermark_ns)) {
    schedule_.NoteBegin(watermark_ns);
    const int64_t window_ns = window_.Choose(roster, pace_.RecentSeconds(), StepsToSee());
    wishes.pulls = investigation_.Begin(roster, watermark_ns, window_ns, findings_.ToldCauses());
  }
  wishes.watches = watch_.Advance(roster, watermark_ns, standing_still ? WatchNeed() : NeedOfWatch());
  Tell(roster, watermark_ns);
  return wishes;
}

void CloseLook::Clear() {
  pace_.Clear();
  window_.Clear();
  sentinel_.Clear();
  schedule_.Clear();
  investigation_.Clear();
  findings_.Clear();
  pauses_.Clear();
  watch_.Clear();
  told_.clear();
  work_.clear();
  duties_.Clear();
  ledger_ = {};
  why_not_judged_.reset();
  left_out_.reset();
  partial_looks_ = 0;
  judged_once_ = has_settled_ = stood_still_ = moves_ = false;
  blind_looks_ = 0;
  blind_ns_ = 0;
}

}  // namespace lockstep
