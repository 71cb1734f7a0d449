#include "detector/slow/counterfactual_gain.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "detector/slow/counterfactual_step.h"
#include "detector/slow/lengthened_steps.h"
#include "detector/slow/step_replay.h"
#include "detector/stats/order_statistics.h"
#include "detector/stats/sampled_mean.h"

namespace lockstep {
namespace {

constexpr size_t kRunsPerStep = 2;                   // preparing it, then as recorded beside all removed
constexpr size_t kRunsPerCause = 1;                  // alone removed beside all others removed: ReplayWithoutOne
constexpr size_t kMostAtOnceOperations = 4'000'000;  // of steps that are replayed at the same time: some 150 bytes each
// Of a step's length: a replay that is further off tells of another step. By judgement, not measured.
constexpr double kMaxUnlike = 0.2;
// The fewest of which a median leaves one out; the most are a budget of time.
constexpr size_t kMinTypicalSteps = 3;
constexpr size_t kMaxReplayedSteps = 64;
// Of an ailment, where they can be afforded: steps differ by a third in what it costs, and eight tell the mean to 12 %.
constexpr size_t kAccurateSteps = 8;

class Gains {
 public:
  Gains(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
        const std::vector<SlowTransfers>& transfers, double min_cost, Executor* executor)
      : analysis_(analysis),
        causes_(causes),
        min_cost_(min_cost),
        executor_(executor),
        operations_per_step_(analysis.trace->operations.size() / std::max<size_t>(1, analysis.profile.steps)) {
    for (const SlowCause& cause : causes) {
      const Suspect& strongest = cause.suspects.front();
      ailments_.push_back({.cause = &cause,
                           .profile = &analysis.profile,
                           .first_step = strongest.first_step,
                           .last_step = strongest.last_step,
                           .earliest_step = strongest.earliest_step(),
                           .latest_step = strongest.latest_step(),
                           .excess_seconds = ExcessOf(strongest)});
    }
    for (const SlowTransfers& slow : transfers) Admit(slow);
    const size_t at_once = kMostAtOnceOperations / std::max<size_t>(1, operations_per_step_);
    for (size_t i = 0; i < std::clamp<size_t>(at_once, 1, LanesOf(executor)); ++i) replays_.emplace_back(analysis);
  }

  CounterfactualGains Run() {
    healthy_seconds_ = SecondsBeforeAll();
    replayable_ = IsReplayable(*analysis_.trace);
    for (const Ailment& ailment : ailments_) {
      const std::vector<int32_t> steps = StepsByLength(ailment);
      Account& account = accounts_.emplace_back();
      account.eligible = steps.size();
      for (const size_t place : SpreadOrder(steps.size(), kMaxReplayedSteps)) account.steps.push_back(steps[place]);
    }
    for (std::vector<int32_t> next = NextSteps(); !next.empty(); next = NextSteps()) {
      std::vector<CounterfactualStep> counterfactual(next.size());
      RunPieces(executor_, next.size(), [&](size_t i) { counterfactual[i] = Replay(next[i], &replays_[i]); });
      // What one step tells may settle what the others were replayed for: then they are as if they had not been.
      for (size_t i = 0; i < next.size() && NextStep(replayed_) == next[i]; ++i) Add(counterfactual[i]);
    }
    std::vector<CounterfactualGain> gains;
    for (size_t i = 0; i < ailments_.size(); ++i) gains.push_back(GainOf(i, gains));
    for (const std::vector<size_t>& event : Events()) TellEvent(event, &gains);
    CounterfactualGains result;
    for (const size_t ailment : ailment_of_transfers_) result.of_transfers.push_back(gains[ailment]);
    gains.resize(causes_.size());
    result.of_ranks = std::move(gains);
    return result;
  }

 private:
  // Sums over the steps in which an ailment was replayed, in seconds.
  struct Account {
    std::vector<int32_t> steps;  // in which it is to be replayed, in this order
    size_t eligible = 0;         // as many would do
    SampledMean shares;          // of the step that it costs; of those steps of which the records hang together
    double recorded = 0;         // how long they took
    double alone = 0;            // what removing it alone gives back
    double others_removed = 0;   // how long they take with all others removed
    double last = 0;             // what removing it gives back then
    double path = 0;             // shares of the way back from the end
    bool estimated = false;      // not replayed by itself
    bool faithful = false;       // of steps that took as long in the replay as in the records: others only without such

    // With the first faithful replay.
    void Restart() { *this = {.steps = std::move(steps), .eligible = eligible, .faithful = true}; }

    bool Has(int32_t step) const { return std::find(steps.begin(), steps.end(), step) != steps.end(); }
    size_t Tried(const std::set<int32_t>& replayed) const {
      return static_cast<size_t>(
          std::count_if(steps.begin(), steps.end(), [&](int32_t step) { return replayed.contains(step); }));
    }
  };

  // With the slow rank to whose NIC they belong, or by themselves.
  void Admit(const SlowTransfers& slow) {
    size_t at = 0;
    while (at < causes_.size() && !AreOne(causes_[at], slow)) ++at;
    if (at == causes_.size()) {
      at = ailments_.size();
      ailments_.push_back({.first_step = slow.first_step,
                           .last_step = analysis_.steps.steps - 1,
                           .earliest_step = slow.first_step,
                           .latest_step = analysis_.steps.steps - 1,
                           .excess_seconds = slow.excess_seconds});
    }
    ailments_[at].transfers.push_back(&slow);
    ailment_of_transfers_.push_back(at);
  }

  static bool AreOne(const SlowCause& cause, const SlowTransfers& slow) {
    const Suspect& rank = cause.suspects.front();
    return cause.kind != SlowKind::kInput && !cause.whole_host &&
           std::abs(rank.first_step - slow.first_step) <= kSameOnsetSteps &&
           std::binary_search(slow.ranks.begin(), slow.ranks.end(), rank.rank);
  }

  bool Settled(size_t number) const {
    const Account& account = accounts_[number];
    const double affected = AffectedShare(ailments_[number]);
    if (account.shares.size() < std::min(account.steps.size(), kAccurateSteps)) return false;
    return account.shares.Settled(affected > 0 ? min_cost_ / affected : 1, account.eligible);
  }

  // When these are replayed: the next step of the ailment that was replayed least, of those that are not settled; -1 =
  // all that can be afforded are done.
  int32_t NextStep(const std::set<int32_t>& replayed) const {
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

  // The next step, and those that will follow if it settles nothing: as many as can be replayed at once, while what
  // they need is far from the limit, so that they are replayed as if one had waited for the other.
  std::vector<int32_t> NextSteps() const {
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

  bool IsFaithful(const CounterfactualStep& counterfactual) const {
    const double length = analysis_.steps.step_seconds[static_cast<size_t>(counterfactual.step)];
    return std::abs(counterfactual.recorded - length) <= kMaxUnlike * length;
  }

  // Whether the step tells something of the ailment that is still to be known.
  bool IsFor(size_t number, const CounterfactualStep& counterfactual) const {
    const Account& account = accounts_[number];
    return counterfactual.recorded > 0 && account.Has(counterfactual.step) && !Settled(number) &&
           (!account.faithful || IsFaithful(counterfactual));
  }

  CounterfactualStep Replay(int32_t step, StepReplay* replay) const {
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

  void Add(const CounterfactualStep& counterfactual) {
    spent_ += kRunsPerStep * counterfactual.operations;
    for (size_t i = 0; i < ailments_.size(); ++i) {
      if (!IsFor(i, counterfactual)) continue;
      Account& account = accounts_[i];
      if (IsFaithful(counterfactual) && !account.faithful) account.Restart();
      if (ailments_[i].cause != nullptr) account.path += PathShare(counterfactual.path, *ailments_[i].cause);
      AddLengths(i, counterfactual, &account);
    }
    latest_operations_ = counterfactual.operations;
    replayed_.insert(counterfactual.step);
  }

  void AddLengths(size_t number, const CounterfactualStep& counterfactual, Account* account) {
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

  // Of a step with one ailment left. A counterfactual takes off what ranks need more than their peers, not what these
  // need more while they wait beside their work: a step takes no longer than one took before anything was slow, and
  // what the ailment costs.
  double WithHealthyRest(double others_removed, double last) const {
    return healthy_seconds_ > 0 ? std::min(others_removed, healthy_seconds_ + last) : others_removed;
  }

  // Of a usual step before any ailment; 0 = too few are known.
  double SecondsBeforeAll() const {
    std::vector<double> lengths;
    for (int32_t step = 0; step < analysis_.steps.steps; ++step) {
      const auto at = static_cast<size_t>(step);
      if (std::any_of(ailments_.begin(), ailments_.end(),
                      [step](const Ailment& ailment) { return ailment.earliest_step <= step; }))
        break;
      if (analysis_.steps.usual[at] != 0 && analysis_.steps.step_seconds[at] > 0) {
        lengths.push_back(analysis_.steps.step_seconds[at]);
      }
    }
    return lengths.size() < kMinPastSteps ? 0 : MedianInPlace(&lengths);
  }

  // `gains` of those before it.
  CounterfactualGain GainOf(size_t number, const std::vector<CounterfactualGain>& gains) const {
    const Ailment& ailment = ailments_[number];
    const Account& account = accounts_[number];
    CounterfactualGain gain;
    if (account.eligible == 0) return gain;
    gain.steps_affected = AffectedShare(ailment);
    if (!replayable_ || account.shares.size() == 0) {  // only the job's own past tells a cost
      gain.step_seconds = UsualSecondsOf(analysis_.steps, ailment);
      gain.seconds_per_step = std::min(ailment.excess_seconds, LeftOfPast(number, gains));
      return gain;
    }
    gain.replayed = !account.estimated;
    const auto steps = static_cast<double>(account.shares.size());
    if (account.others_removed > 0) {
      gain.behind_share = gain.steps_affected * std::max(0.0, account.last / account.others_removed);
    }
    // What hides behind something dearer is paid for there, and a rank that does may be as slow as the one it hides
    // behind; transfers cost what removing them gives back now.
    const bool hides =
        ailment.cause != nullptr && account.last * account.recorded > account.alone * account.others_removed;
    gain.seconds_per_step = (hides ? account.last : account.alone) / steps;
    gain.step_seconds = (hides ? account.others_removed : account.recorded) / steps;
    gain.path_share = account.path / steps;
    // What hides behind others made no step longer yet.
    const std::optional<double> most =
        hides ? std::nullopt : LengthenedBy(analysis_.steps, ailments_, number, min_cost_);
    if (most.has_value()) gain.seconds_per_step = std::min(gain.seconds_per_step, *most);
    gain.seconds_per_step = std::max(0.0, gain.seconds_per_step);
    return gain;
  }

  // Of what steps got longer by at its onset: what the stronger ones that began with it and cannot be replayed either
  // leave.
  double LeftOfPast(size_t number, const std::vector<CounterfactualGain>& gains) const {
    double left = LengthenedBy(analysis_.steps, ailments_, number, min_cost_).value_or(0);
    for (size_t other = 0; other < gains.size(); ++other) {
      const bool with_it = ailments_[other].earliest_step <= ailments_[number].first_step + kSameOnsetSteps &&
                           ailments_[number].earliest_step <= ailments_[other].first_step + kSameOnsetSteps;
      if ((!replayable_ || accounts_[other].shares.size() == 0) && with_it) left -= gains[other].seconds_per_step;
    }
    return std::max(0.0, left);
  }

  // Causes that are of one event with one another, rising.
  std::vector<std::vector<size_t>> Events() const {
    std::vector<std::vector<size_t>> events;
    std::vector<char> told(causes_.size(), 0);
    for (size_t first = 0; first < causes_.size(); ++first) {
      std::vector<size_t> event;
      for (size_t i = first; i < causes_.size(); ++i) {
        // With slow transfers of its own it is another kind of fault, and removing those is no gain of the event.
        if (told[i] != 0 || !ailments_[i].transfers.empty()) continue;
        if (AreOfOneEvent(causes_[i], causes_[first])) event.push_back(i);
      }
      if (event.size() < kMinEventCauses || event.front() != first) continue;
      for (const size_t i : event) told[i] = 1;
      events.push_back(std::move(event));
    }
    return events;
  }

  // Those of an event that cost too little by themselves count by what removing all of them gives back when everything
  // else is removed: not on the credit of one among them that is dear.
  void TellEvent(const std::vector<size_t>& event, std::vector<CounterfactualGain>* gains) {
    std::vector<size_t> cheap;
    std::copy_if(event.begin(), event.end(), std::back_inserter(cheap),
                 [&](size_t i) { return (*gains)[i].slowdown() < min_cost_; });
    const std::vector<int32_t>& steps = accounts_[event.front()].steps;
    const size_t needed = kRunsPerStep * latest_operations_;
    if (cheap.empty() || steps.empty() || spent_ + needed > kMaxReplayedOperations) return;
    spent_ += needed;
    const int32_t step = steps.front();
    StepReplay& replay = replays_.front();
    if (replay.step() != step) replay.Load(step);
    const auto [with_them, all_removed] =
        replay.RunBoth(CounterfactualOfAllBut(ailments_, cheap, step), CounterfactualOfAllBut(ailments_, {}, step));
    latest_operations_ = replay.operations();
    if (with_them <= 0) return;
    for (const size_t i : cheap) {
      (*gains)[i].event_causes = event.size();
      (*gains)[i].event_share = (*gains)[i].steps_affected * std::max(0.0, 1 - all_removed / with_them);
    }
  }

  static double PathShare(const std::vector<StepReplay::Link>& path, const SlowCause& cause) {
    double own = 0, all = 0;
    for (const StepReplay::Link& link : path) {
      const bool of_cause = std::any_of(cause.suspects.begin(), cause.suspects.end(),
                                        [&link](const Suspect& suspect) { return suspect.rank == link.rank; });
      all += static_cast<double>(link.own_seconds + link.transfer_seconds);
      if (of_cause) own += static_cast<double>(link.own_seconds);
    }
    return all > 0 ? own / all : 0;
  }

  // Where other causes are there for a part of the time only, without them: what is recorded beats what is replayed.
  std::vector<int32_t> StepsByLength(const Ailment& ailment) const {
    std::map<size_t, std::vector<std::pair<double, int32_t>>> by_others;
    for (int32_t step = ailment.first_step; step <= ailment.last_step; ++step) {
      if (!Known(ailment, step)) continue;
      by_others[OthersIn(ailment, step)].emplace_back(analysis_.steps.step_seconds[static_cast<size_t>(step)], step);
    }
    std::vector<std::pair<double, int32_t>> lengths;
    for (const auto& [others, steps] : by_others) {
      if (lengths.size() >= kMinTypicalSteps) break;
      lengths.insert(lengths.end(), steps.begin(), steps.end());
    }
    std::sort(lengths.begin(), lengths.end());
    std::vector<int32_t> sorted;
    for (const auto& [length, step] : lengths) sorted.push_back(step);
    return sorted;
  }

  size_t OthersIn(const Ailment& ailment, int32_t step) const {
    return static_cast<size_t>(std::count_if(ailments_.begin(), ailments_.end(), [&](const Ailment& other) {
      return &other != &ailment && other.IsIn(step);
    }));
  }

  bool Known(const Ailment& ailment, int32_t step) const {
    const auto at = static_cast<size_t>(step);
    const Suspect* const strongest = ailment.strongest();
    if (strongest == nullptr) return TransfersMatter(ailment, step) && ailment.transfers.front()->IsIn(step);
    if (!ailment.IsIn(step)) return false;
    if (strongest->in_some_steps()) return analysis_.steps.usual[at] != 0;
    return !std::isnan(analysis_.profile.own[static_cast<size_t>(strongest->rank) * analysis_.profile.steps + at]);
  }

  // What comes and goes makes steps unusual.
  bool TransfersMatter(const Ailment& ailment, int32_t step) const {
    const auto at = static_cast<size_t>(step);
    const SlowTransfers& slow = *ailment.transfers.front();
    return analysis_.steps.step_seconds[at] > 0 &&
           (analysis_.steps.usual[at] != 0 || (!slow.in_step.empty() && slow.IsIn(step)));
  }

  // Of the usual steps since the onset.
  double AffectedShare(const Ailment& ailment) const {
    int32_t since = 0, within = 0;
    for (int32_t step = ailment.first_step; ailment.cause == nullptr && step < analysis_.steps.steps; ++step) {
      if (!TransfersMatter(ailment, step)) continue;
      ++since;
      within += ailment.transfers.front()->IsIn(step) ? 1 : 0;
    }
    if (ailment.cause == nullptr) return since == 0 ? 0 : static_cast<double>(within) / since;
    for (int32_t step = ailment.first_step; step < analysis_.steps.steps; ++step) {
      if (analysis_.steps.usual[static_cast<size_t>(step)] == 0) continue;
      ++since;
      within += step <= ailment.latest_step;
    }
    return since == 0 ? 0 : ShareOfSteps(*ailment.cause) * within / since;
  }

  // Of the middle one of its ranks: lost records may hide one of a host in a step in which the others are seen.
  static double ShareOfSteps(const SlowCause& cause) {
    std::vector<double> shares;
    for (const Suspect& suspect : cause.suspects) shares.push_back(suspect.share_of_steps);
    return MedianInPlace(&shares);
  }

  const TraceAnalysis& analysis_;
  const std::vector<SlowCause>& causes_;
  const double min_cost_;
  Executor* const executor_;
  const size_t operations_per_step_;
  std::vector<Ailment> ailments_;  // by cause, then transfers that belong to none
  std::vector<size_t> ailment_of_transfers_;
  double healthy_seconds_ = 0;
  bool replayable_ = true;
  std::vector<Account> accounts_;
  std::set<int32_t> replayed_;       // steps
  std::vector<StepReplay> replays_;  // as many as run at once
  size_t latest_operations_ = 0;     // of the step that was replayed last
  size_t spent_ = 0;
};

}  // namespace

CounterfactualGains GainsOf(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
                            const std::vector<SlowTransfers>& transfers, double min_cost, Executor* executor) {
  return Gains(analysis, causes, transfers, min_cost, executor).Run();
}

}  // namespace lockstep
