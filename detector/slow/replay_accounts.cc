#include "detector/slow/replay_accounts.h"

#include <algorithm>
#include <cmath>

#include "detector/slow/slow_cause.h"

namespace lockstep {
namespace {

// Preparing it, then as recorded beside all removed.
constexpr size_t kRunsPerStep = 2;
// Alone removed beside all others removed: ReplayWithoutOne.
constexpr size_t kRunsPerCause = 1;
// Budget of memory: of steps that are replayed at the same time, some 150 bytes each.
constexpr size_t kMostAtOnceOperations = 4'000'000;
// Of a step's length: a replay that is further off tells of another step. By judgement, not measured.
constexpr double kMaxUnlike = 0.2;
// Budget of time.
constexpr size_t kMaxReplayedSteps = 64;
// Of an ailment, where they can be afforded: steps differ by a third in what it costs, and eight tell the mean to 12 %.
constexpr size_t kAccurateSteps = 8;

double PathShare(const std::vector<StepReplay::Link>& path, const SlowCause& cause) {
  double own = 0, all = 0;
  for (const StepReplay::Link& link : path) {
    const bool of_cause = std::any_of(cause.suspects.begin(), cause.suspects.end(),
                                      [&link](const Suspect& suspect) { return suspect.rank == link.rank; });
    all += static_cast<double>(link.own_seconds + link.transfer_seconds);
    if (of_cause) own += static_cast<double>(link.own_seconds);
  }
  return all > 0 ? own / all : 0;
}

}  // namespace

ReplayAccounts::ReplayAccounts(const TraceAnalysis& analysis, const std::vector<Ailment>& ailments,
                               const AilmentSteps& steps, double min_cost, Executor* executor)
    : analysis_(analysis),
      ailments_(ailments),
      steps_(steps),
      min_cost_(min_cost),
      healthy_seconds_(steps.SecondsBeforeAll()),
      executor_(executor),
      operations_per_step_(analysis.trace->operations.size() / std::max<size_t>(1, analysis.profile.steps)) {
  const size_t at_once = kMostAtOnceOperations / std::max<size_t>(1, operations_per_step_);
  for (size_t i = 0; i < std::clamp<size_t>(at_once, 1, LanesOf(executor)); ++i) replays_.emplace_back(analysis);
  for (const Ailment& ailment : ailments) {
    const std::vector<int32_t> all = steps.ByLength(ailment);
    ReplayAccount& account = accounts_.emplace_back();
    account.eligible = all.size();
    for (const size_t place : SpreadOrder(all.size(), kMaxReplayedSteps)) account.steps.push_back(all[place]);
  }
}

void ReplayAccounts::Run() {
  for (std::vector<int32_t> next = NextSteps(); !next.empty(); next = NextSteps()) {
    std::vector<CounterfactualStep> counterfactual(next.size());
    RunPieces(executor_, next.size(), [&](size_t i) { counterfactual[i] = Replay(next[i], &replays_[i]); });
    // What one step tells may settle what the others were replayed for: then they are as if they had not been.
    for (size_t i = 0; i < next.size() && NextStep(replayed_) == next[i]; ++i) Add(counterfactual[i]);
  }
}

double ReplayAccounts::ShareOfAll(const std::vector<size_t>& together, int32_t step) {
  const size_t needed = kRunsPerStep * latest_operations_;
  if (spent_ + needed > kMaxReplayedOperations) return -1;
  spent_ += needed;
  StepReplay& replay = replays_.front();
  if (replay.step() != step) replay.Load(step);
  const auto [with_them, all_removed] =
      replay.RunBoth(CounterfactualOfAllBut(ailments_, together, step), CounterfactualOfAllBut(ailments_, {}, step));
  latest_operations_ = replay.operations();
  return with_them <= 0 ? -1 : std::max(0.0, 1 - all_removed / with_them);
}

bool ReplayAccounts::Settled(size_t number) const {
  const ReplayAccount& account = accounts_[number];
  const double affected = steps_.AffectedShare(ailments_[number]);
  if (account.shares.size() < std::min(account.steps.size(), kAccurateSteps)) return false;
  return account.shares.Settled(affected > 0 ? min_cost_ / affected : 1, account.eligible);
}

int32_t ReplayAccounts::NextStep(const std::set<int32_t>& replayed) const {
  size_t next = accounts_.size(), least = 0;
  for (size_t i = 0; i < accounts_.size(); ++i) {
    const size_t tried = accounts_[i].Tried(replayed);
    if (tried == accounts_[i].steps.size() || Settled(i)) continue;
    if (next < accounts_.size() && tried >= least) continue;
    next = i;
    least = tried;
  }
  if (next == accounts_.size()) return -1;
  const size_t needed = (kRunsPerStep + (ailments_.size() > 1 ? kRunsPerCause : 0)) * latest_operations_;
  if (least > 0 && spent_ + needed > kMaxRepeatedOperations) return -1;
  const std::vector<int32_t>& steps = accounts_[next].steps;
  return *std::find_if(steps.begin(), steps.end(), [&](int32_t step) { return !replayed.contains(step); });
}

std::vector<int32_t> ReplayAccounts::NextSteps() const {
  const size_t needed = (kRunsPerStep + kRunsPerCause * ailments_.size()) * replays_.size() * operations_per_step_;
  const size_t most = spent_ + 2 * needed > kMaxReplayedOperations ? 1 : replays_.size();
  std::vector<int32_t> next;
  std::set<int32_t> replayed = replayed_;
  for (int32_t step = NextStep(replayed); step >= 0 && next.size() < most; step = NextStep(replayed)) {
    next.push_back(step);
    replayed.insert(step);
  }
  return next;
}

double ReplayAccounts::Surplus(const CounterfactualStep& counterfactual) const {
  return counterfactual.recorded / analysis_.steps.step_seconds[static_cast<size_t>(counterfactual.step)] - 1;
}

bool ReplayAccounts::IsFaithful(const CounterfactualStep& counterfactual) const {
  return std::abs(Surplus(counterfactual)) <= kMaxUnlike;
}

bool ReplayAccounts::IsFor(size_t number, const CounterfactualStep& counterfactual) const {
  const ReplayAccount& account = accounts_[number];
  return counterfactual.recorded > 0 && account.Has(counterfactual.step) && !Settled(number) &&
         Surplus(counterfactual) <= kMaxUnlike && (!account.faithful || IsFaithful(counterfactual));
}

CounterfactualStep ReplayAccounts::Replay(int32_t step, StepReplay* replay) const {
  CounterfactualStep counterfactual = ReplayCounterfactuals(ailments_, step, replay);
  size_t spent = spent_ + kRunsPerStep * counterfactual.operations;
  for (size_t i = 0; i < ailments_.size() && ailments_.size() > 1; ++i) {
    if (!IsFor(i, counterfactual)) continue;
    spent += kRunsPerCause * counterfactual.operations;
    if (spent > kMaxReplayedOperations) break;
    counterfactual.of_ailment[i] = ReplayWithoutOne(ailments_, i, replay);
  }
  return counterfactual;
}

void ReplayAccounts::Add(const CounterfactualStep& counterfactual) {
  spent_ += kRunsPerStep * counterfactual.operations;
  for (size_t i = 0; i < ailments_.size(); ++i) {
    if (!IsFor(i, counterfactual)) continue;
    ReplayAccount& account = accounts_[i];
    if (IsFaithful(counterfactual) && !account.faithful) account.Restart();
    if (ailments_[i].cause != nullptr) account.path += PathShare(counterfactual.path, *ailments_[i].cause);
    AddLengths(i, counterfactual, &account);
  }
  latest_operations_ = counterfactual.operations;
  replayed_.insert(counterfactual.step);
}

void ReplayAccounts::AddLengths(size_t number, const CounterfactualStep& counterfactual, ReplayAccount* account) {
  const size_t needed = kRunsPerCause * counterfactual.operations;
  double alone = counterfactual.recorded - counterfactual.all_removed, others_removed = counterfactual.recorded,
         last = 0;
  if (ailments_.size() > 1 && spent_ + needed > kMaxReplayedOperations) {
    account->estimated = true;
    alone = std::min(ailments_[number].excess_seconds, alone);
  } else if (ailments_.size() > 1) {
    spent_ += needed;
    alone = counterfactual.recorded - counterfactual.of_ailment[number].alone;
    last = counterfactual.of_ailment[number].others - counterfactual.all_removed;
    others_removed = WithHealthyRest(counterfactual.of_ailment[number].others, last);
  }
  account->recorded += counterfactual.recorded;
  account->alone += alone;
  account->others_removed += others_removed;
  account->last += last;
  account->shares.Add(std::max(alone / counterfactual.recorded, others_removed > 0 ? last / others_removed : 0));
}

double ReplayAccounts::WithHealthyRest(double others_removed, double last) const {
  return healthy_seconds_ > 0 ? std::min(others_removed, healthy_seconds_ + last) : others_removed;
}

}  // namespace lockstep
