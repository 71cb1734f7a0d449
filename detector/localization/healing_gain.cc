#include "detector/localization/healing_gain.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "detector/localization/order_statistics.h"
#include "detector/localization/sampled_mean.h"
#include "detector/localization/step_replay.h"

namespace lockstep {
namespace {

constexpr size_t kRunsPerStep = 2;   // preparing it, then as recorded beside all healed
constexpr size_t kRunsPerCause = 1;  // alone healed beside all others healed
constexpr size_t kMaxComparedPeers = 64;
constexpr double kMaxHidden = 0.01;  // of the instances
constexpr double kMaxUnlike = 0.2;   // of a step's length: a replay that is further off tells of another step
constexpr size_t kMinTypicalSteps = 3;
constexpr size_t kMaxReplayedSteps = 64;

// What a healthy rank would need less. Where collectives run beside the work, peers that wait in them seem to work less
// than they do; but before the onset nobody waited, and the rank itself needed what it needs.
double ExcessOf(const Suspect& suspect) {
  if (suspect.before_seconds <= 0) return suspect.excess_seconds;
  return std::clamp(suspect.own_seconds - suspect.before_seconds, 0.0, suspect.excess_seconds);
}

void AddHealing(const SlowCause& cause, Healing* healing) {
  for (const Suspect& suspect : cause.suspects) {
    Healing::OwnTime own{.rank = suspect.rank};
    if (cause.kind == SlowKind::kInput) {
      own.largest_less = static_cast<float>(ExcessOf(suspect));
    } else {
      const double healthy = 1 - ExcessOf(suspect) / std::max(suspect.own_seconds, 1e-9);
      own.scale = static_cast<float>(std::clamp(healthy, 0.0, 1.0));
    }
    healing->own.push_back(own);
  }
}

// What is healed together: a cause among the ranks, slow transfers, or one of either that are the same.
struct Ailment {
  const SlowCause* cause = nullptr;
  std::vector<const SlowTransfers*> transfers;
  int32_t first_step = 0;
  int32_t last_step = 0;
  int32_t earliest_step = 0;  // where records are lost beside it, it may be there all the same
  int32_t latest_step = 0;
  double excess_seconds = 0;

  const Suspect* strongest() const { return cause == nullptr ? nullptr : &cause->suspects.front(); }
  bool MayBeIn(int32_t step) const { return earliest_step <= step && step <= latest_step; }
};

void AddHealing(const Ailment& ailment, int32_t step, Healing* healing) {
  if (!ailment.MayBeIn(step)) return;
  if (ailment.cause != nullptr) AddHealing(*ailment.cause, healing);
  for (const SlowTransfers* transfers : ailment.transfers) {
    for (const SlowChannel& slow : transfers->channels) {
      if (slow.first_step > step) continue;
      healing->channels.push_back(
          {.channel = slow.channel, .scale = static_cast<float>(1 / std::max(1.0, slow.ratio))});
    }
  }
}

class Gains {
 public:
  Gains(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
        const std::vector<SlowTransfers>& transfers, double min_cost)
      : analysis_(analysis), causes_(causes), min_cost_(min_cost), replay_(analysis) {
    for (const SlowCause& cause : causes) {
      const Suspect& strongest = cause.suspects.front();
      ailments_.push_back({.cause = &cause,
                           .first_step = strongest.first_step,
                           .last_step = strongest.last_step,
                           .earliest_step = strongest.earliest_step(),
                           .latest_step = strongest.latest_step(),
                           .excess_seconds = ExcessOf(strongest)});
    }
    for (const SlowTransfers& slow : transfers) Admit(slow);
  }

  HealingGains Run() {
    for (const Ailment& ailment : ailments_) {
      const std::vector<int32_t> steps = StepsByLength(ailment);
      Account& account = accounts_.emplace_back();
      account.eligible = steps.size();
      for (const size_t place : SpreadOrder(steps.size(), kMaxReplayedSteps)) account.steps.push_back(steps[place]);
    }
    for (int32_t step = NextStep(); step >= 0; step = NextStep()) Replay(step);
    std::vector<HealingGain> gains;
    for (size_t i = 0; i < ailments_.size(); ++i) gains.push_back(GainOf(i));
    for (const std::vector<size_t>& event : Events()) TellEvent(event, &gains);
    HealingGains result;
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
    size_t tried = 0;
    SampledMean shares;        // of the step that it costs; of those steps of which the records hang together
    double recorded = 0;       // how long they took
    double alone = 0;          // what healing it alone gives back
    double others_healed = 0;  // how long they take with all others healed
    double last = 0;           // what healing it gives back then
    double path = 0;           // shares of the way back from the end
    double most_hidden = 0;    // share of the meetings, in the worst of the steps
    bool estimated = false;    // not replayed by itself
    bool faithful = false;     // of steps that took as long in the replay as in the records: others only without such

    // With the first faithful replay.
    void Restart() { *this = {.steps = std::move(steps), .eligible = eligible, .tried = tried, .faithful = true}; }
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
    return cause.kind == SlowKind::kCompute && !cause.whole_host &&
           std::abs(rank.first_step - slow.first_step) <= kSameOnsetSteps &&
           std::binary_search(slow.ranks.begin(), slow.ranks.end(), rank.rank);
  }

  // Of the causes that are there in this step. `left_out` rises.
  Healing HealingOfAllBut(const std::vector<size_t>& left_out, int32_t step) const {
    Healing healing;
    for (size_t i = 0; i < ailments_.size(); ++i) {
      if (!std::binary_search(left_out.begin(), left_out.end(), i)) AddHealing(ailments_[i], step, &healing);
    }
    return healing;
  }

  bool Settled(size_t number) const {
    const Account& account = accounts_[number];
    const double affected = AffectedShare(ailments_[number]);
    return account.tried == account.steps.size() ||
           account.shares.Settled(affected > 0 ? min_cost_ / affected : 1, account.eligible);
  }

  // The next step of the ailment that was replayed least, of those that are not settled; -1 = all that can be afforded
  // are done.
  int32_t NextStep() const {
    size_t least = accounts_.size();
    for (size_t i = 0; i < accounts_.size(); ++i) {
      if (!Settled(i) && (least == accounts_.size() || accounts_[i].tried < accounts_[least].tried)) least = i;
    }
    if (least == accounts_.size()) return -1;
    const size_t needed = (kRunsPerStep + (ailments_.size() > 1 ? kRunsPerCause : 0)) * replay_.operations();
    if (accounts_[least].tried > 0 && spent_ + needed > kMaxRepeatedOperations) return -1;
    const std::vector<int32_t>& steps = accounts_[least].steps;
    return *std::find_if(steps.begin(), steps.end(), [&](int32_t step) { return !replayed_.contains(step); });
  }

  // With all ailments that are not settled and have it among their steps.
  void Replay(int32_t step) {
    replayed_.insert(step);
    replay_.Load(step);
    spent_ += kRunsPerStep * replay_.operations();
    const auto [recorded, all_healed] = replay_.RunBoth({}, HealingOfAllBut({}, step));
    const double length = analysis_.steps.step_seconds[static_cast<size_t>(step)];
    const bool faithful = std::abs(recorded - length) <= kMaxUnlike * length;
    const std::vector<StepReplay::Link> path = replay_.CriticalPath();
    for (size_t i = 0; i < ailments_.size(); ++i) {
      Account& account = accounts_[i];
      if (std::find(account.steps.begin(), account.steps.end(), step) == account.steps.end()) continue;
      const bool settled = Settled(i);
      ++account.tried;
      if (settled || recorded <= 0 || (account.faithful && !faithful)) continue;
      if (faithful && !account.faithful) account.Restart();
      if (ailments_[i].cause != nullptr) account.path += PathShare(path, *ailments_[i].cause);
      account.most_hidden = std::max(account.most_hidden, replay_.hidden_share());
      Heal(i, recorded, all_healed, &account);
    }
  }

  void Heal(size_t number, double recorded, double all_healed, Account* account) {
    const size_t needed = kRunsPerCause * replay_.operations();
    double alone = recorded - all_healed, others_healed = recorded, last = 0;
    if (ailments_.size() > 1 && spent_ + needed > kMaxReplayedOperations) {
      account->estimated = true;
      alone = std::min(ailments_[number].excess_seconds, alone);
    } else if (ailments_.size() > 1) {
      spent_ += needed;
      Healing healing;
      AddHealing(ailments_[number], replay_.step(), &healing);
      const auto lengths = replay_.RunBoth(healing, HealingOfAllBut({number}, replay_.step()));
      alone = recorded - lengths.first;
      others_healed = lengths.second;
      last = others_healed - all_healed;
    }
    account->recorded += recorded;
    account->alone += alone;
    account->others_healed += others_healed;
    account->last += last;
    account->shares.Add(std::max(alone / recorded, others_healed > 0 ? last / others_healed : 0));
  }

  HealingGain GainOf(size_t number) const {
    const Ailment& ailment = ailments_[number];
    const Account& account = accounts_[number];
    HealingGain gain;
    if (account.eligible == 0) return gain;
    gain.steps_affected = AffectedShare(ailment);
    if (account.shares.size() == 0) {  // none hangs together
      gain.step_seconds = analysis_.steps.usual_seconds;
      gain.seconds_per_step = ailment.excess_seconds;
      return gain;
    }
    const auto steps = static_cast<double>(account.shares.size());
    const bool hides = account.last * account.recorded > account.alone * account.others_healed;
    gain.seconds_per_step = (hides ? account.last : account.alone) / steps;
    gain.step_seconds = (hides ? account.others_healed : account.recorded) / steps;
    gain.path_share = account.path / steps;
    gain.replayed = !account.estimated;
    // Lost records hide who waited for whom. Then a rank costs at least what it exceeds the next of its peers by, and
    // transfers what they take longer.
    if (account.most_hidden > kMaxHidden) {
      const Suspect* const strongest = ailment.strongest();
      const double least = ailment.excess_seconds - (strongest == nullptr ? 0 : NextExcess(*strongest));
      gain.replayed &= least <= gain.seconds_per_step;
      gain.seconds_per_step = std::max(gain.seconds_per_step, least);
    }
    gain.seconds_per_step = std::max(0.0, gain.seconds_per_step);
    return gain;
  }

  // Causes that are of one event with one another, rising.
  std::vector<std::vector<size_t>> Events() const {
    std::vector<std::vector<size_t>> events;
    std::vector<char> told(causes_.size(), 0);
    for (size_t first = 0; first < causes_.size(); ++first) {
      std::vector<size_t> event;
      for (size_t i = first; i < causes_.size(); ++i) {
        // With slow transfers of its own it is another kind of fault, and healing those is no gain of the event.
        if (told[i] != 0 || !ailments_[i].transfers.empty()) continue;
        if (AreOfOneEvent(causes_[i], causes_[first])) event.push_back(i);
      }
      if (event.size() < kMinEventCauses || event.front() != first) continue;
      for (const size_t i : event) told[i] = 1;
      events.push_back(std::move(event));
    }
    return events;
  }

  // Those of an event that cost too little by themselves count by what healing all of them gives back when everything
  // else is healed: not on the credit of one among them that is dear.
  void TellEvent(const std::vector<size_t>& event, std::vector<HealingGain>* gains) {
    std::vector<size_t> cheap;
    std::copy_if(event.begin(), event.end(), std::back_inserter(cheap),
                 [&](size_t i) { return (*gains)[i].slowdown() < min_cost_; });
    const std::vector<int32_t>& steps = accounts_[event.front()].steps;
    const size_t needed = kRunsPerStep * replay_.operations();
    if (cheap.empty() || steps.empty() || spent_ + needed > kMaxReplayedOperations) return;
    spent_ += needed;
    if (replay_.step() != steps.front()) replay_.Load(steps.front());
    const auto [with_them, all_healed] =
        replay_.RunBoth(HealingOfAllBut(cheap, steps.front()), HealingOfAllBut({}, steps.front()));
    if (with_them <= 0) return;
    for (const size_t i : cheap) {
      (*gains)[i].event_causes = event.size();
      (*gains)[i].event_share = (*gains)[i].steps_affected * std::max(0.0, 1 - all_healed / with_them);
    }
  }

  // The largest excess, over the same stretch, of a peer that no cause is about.
  double NextExcess(const Suspect& suspect) const {
    const std::vector<int32_t>& peers = analysis_.roles.PeersOf(static_cast<size_t>(suspect.rank));
    const size_t stride = std::max<size_t>(1, peers.size() / kMaxComparedPeers);
    double next = 0;
    std::vector<double> values;
    for (size_t i = 0; i < peers.size(); i += stride) {
      const bool accused = std::any_of(causes_.begin(), causes_.end(), [&](const SlowCause& cause) {
        return std::any_of(cause.suspects.begin(), cause.suspects.end(),
                           [&](const Suspect& other) { return other.rank == peers[i]; });
      });
      if (accused) continue;
      values.clear();
      for (int32_t step = suspect.first_step; step <= suspect.last_step; ++step) {
        const float excess =
            analysis_.profile
                .excess[static_cast<size_t>(peers[i]) * analysis_.profile.steps + static_cast<size_t>(step)];
        if (!std::isnan(excess)) values.push_back(static_cast<double>(excess));
      }
      next = std::max(next, MedianInPlace(&values));
    }
    return next;
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
      return &other != &ailment && other.MayBeIn(step);
    }));
  }

  bool Known(const Ailment& ailment, int32_t step) const {
    const auto at = static_cast<size_t>(step);
    const Suspect* const strongest = ailment.strongest();
    if (strongest == nullptr) return analysis_.steps.usual[at] != 0 && analysis_.steps.step_seconds[at] > 0;
    return !std::isnan(analysis_.profile.own[static_cast<size_t>(strongest->rank) * analysis_.profile.steps + at]);
  }

  // Of the usual steps since the onset. Transfers stay slow until the end.
  double AffectedShare(const Ailment& ailment) const {
    if (ailment.cause == nullptr) return 1;
    int32_t since = 0, within = 0;
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
  std::vector<Ailment> ailments_;  // by cause, then transfers that belong to none
  std::vector<size_t> ailment_of_transfers_;
  std::vector<Account> accounts_;
  std::set<int32_t> replayed_;  // steps
  StepReplay replay_;
  size_t spent_ = 0;
};

}  // namespace

HealingGains GainsOf(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
                     const std::vector<SlowTransfers>& transfers, double min_cost) {
  return Gains(analysis, causes, transfers, min_cost).Run();
}

}  // namespace lockstep
