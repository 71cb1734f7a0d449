#include "detector/localization/healing_gain.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "detector/localization/order_statistics.h"
#include "detector/localization/step_replay.h"

namespace lockstep {
namespace {

constexpr size_t kRunsPerStep = 3;  // building it, as recorded, all healed
constexpr size_t kRunsPerCause = 2;
constexpr size_t kMaxComparedPeers = 64;
constexpr double kMaxHidden = 0.01;  // of the instances
constexpr int32_t kSameOnsetSteps = 1;
constexpr size_t kMinTypicalSteps = 3;

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
  double excess_seconds = 0;

  const Suspect* strongest() const { return cause == nullptr ? nullptr : &cause->suspects.front(); }
};

void AddHealing(const Ailment& ailment, int32_t step, Healing* healing) {
  if (step < ailment.first_step || step > ailment.last_step) return;
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
        const std::vector<SlowTransfers>& transfers)
      : analysis_(analysis), causes_(causes) {
    for (const SlowCause& cause : causes) {
      const Suspect& strongest = cause.suspects.front();
      ailments_.push_back({.cause = &cause,
                           .first_step = strongest.first_step,
                           .last_step = strongest.last_step,
                           .excess_seconds = ExcessOf(strongest)});
    }
    for (const SlowTransfers& slow : transfers) Admit(slow);
  }

  HealingGains Run() {
    std::vector<HealingGain> gains(ailments_.size());
    for (size_t i = 0; i < ailments_.size(); ++i) {
      const std::vector<int32_t> steps = TypicalSteps(ailments_[i]);
      if (steps.empty()) continue;
      gains[i] = MiddleOf(i, steps);
      gains[i].steps_affected = AffectedShare(ailments_[i]);
    }
    std::vector<char> told(causes_.size(), 0);
    for (size_t i = 0; i < causes_.size(); ++i) {
      if (told[i] == 0) TellEvent(i, &told, &gains);
    }
    HealingGains result;
    for (const size_t ailment : ailment_of_transfers_) result.of_transfers.push_back(gains[ailment]);
    gains.resize(causes_.size());
    result.of_ranks = std::move(gains);
    return result;
  }

 private:
  struct Prepared {
    std::unique_ptr<StepReplay> replay;
    double recorded = 0;
    double all_healed = 0;
    std::vector<StepReplay::Link> path;
  };

  // With the slow rank to whose NIC they belong, or by themselves.
  void Admit(const SlowTransfers& slow) {
    size_t at = 0;
    while (at < causes_.size() && !AreOne(causes_[at], slow)) ++at;
    if (at == causes_.size()) {
      at = ailments_.size();
      ailments_.push_back({.first_step = slow.first_step,
                           .last_step = analysis_.steps.steps - 1,
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

  Prepared& At(int32_t step) {
    Prepared& prepared = prepared_[step];
    if (prepared.replay != nullptr) return prepared;
    prepared.replay = std::make_unique<StepReplay>(analysis_, step);
    prepared.recorded = prepared.replay->Run({});
    prepared.path = prepared.replay->CriticalPath();
    prepared.all_healed = prepared.replay->Run(HealingOfAllBut(ailments_.size(), step));
    spent_ += kRunsPerStep * prepared.replay->operations();
    return prepared;
  }

  // Of the causes that are there in this step.
  Healing HealingOfAllBut(size_t left_out, int32_t step) const {
    Healing healing;
    for (size_t i = 0; i < ailments_.size(); ++i) {
      if (i != left_out) AddHealing(ailments_[i], step, &healing);
    }
    return healing;
  }

  // In any one step something else may have hit somebody, and what waits for that costs nothing there.
  HealingGain MiddleOf(size_t number, const std::vector<int32_t>& steps) {
    std::vector<HealingGain> gains;
    for (const int32_t step : steps) {
      const size_t operations = gains.empty() ? 0 : prepared_.begin()->second.replay->operations();
      if (spent_ + (kRunsPerStep + kRunsPerCause) * operations > kMaxRepeatedOperations && !gains.empty()) break;
      Of(number, step, &gains.emplace_back());
    }
    std::sort(gains.begin(), gains.end(), [](const HealingGain& a, const HealingGain& b) {
      return a.seconds_per_step * b.step_seconds < b.seconds_per_step * a.step_seconds;
    });
    return gains[(gains.size() - 1) / 2];
  }

  void Of(size_t number, int32_t step, HealingGain* gain) {
    const Ailment& ailment = ailments_[number];
    Prepared& prepared = At(step);
    gain->step_seconds = prepared.recorded;
    gain->seconds_per_step = ailment.excess_seconds;
    if (prepared.recorded <= 0) {
      gain->step_seconds = analysis_.steps.usual_seconds;
      return;
    }
    gain->seconds_per_step = std::min(gain->seconds_per_step, prepared.recorded - prepared.all_healed);
    if (ailment.cause != nullptr) gain->path_share = PathShare(prepared.path, *ailment.cause);
    const size_t needed = kRunsPerCause * prepared.replay->operations();
    if (ailments_.size() == 1) {
      gain->replayed = true;
      gain->seconds_per_step = prepared.recorded - prepared.all_healed;
    } else if (spent_ + needed <= kMaxReplayedOperations) {
      spent_ += needed;
      Healing alone;
      AddHealing(ailment, step, &alone);
      const double first = prepared.recorded - prepared.replay->Run(alone);
      const double last = prepared.replay->Run(HealingOfAllBut(number, step)) - prepared.all_healed;
      gain->seconds_per_step = first;
      const double healed = prepared.all_healed + std::max(0.0, last);
      if (last > 0 && healed > 0 && last / healed > first / prepared.recorded) {
        gain->seconds_per_step = last;
        gain->step_seconds = healed;
      }
      gain->replayed = true;
    }
    // Lost records hide who waited for whom. Then a rank costs at least what it exceeds the next of its peers by, and
    // transfers what they take longer.
    if (prepared.replay->hidden_share() > kMaxHidden) {
      const Suspect* const strongest = ailment.strongest();
      const double least = ailment.excess_seconds - (strongest == nullptr ? 0 : NextExcess(*strongest));
      gain->replayed &= least <= gain->seconds_per_step;
      gain->seconds_per_step = std::max(gain->seconds_per_step, least);
    }
    gain->seconds_per_step = std::max(0.0, gain->seconds_per_step);
  }

  // The causes that are of one event with this one.
  void TellEvent(size_t number, std::vector<char>* told, std::vector<HealingGain>* gains) {
    const SlowCause& first = causes_[number];
    std::vector<size_t> event;
    for (size_t i = number; i < causes_.size(); ++i) {
      const bool same_onset =
          std::abs(causes_[i].suspects.front().first_step - first.suspects.front().first_step) <= kSameOnsetSteps;
      // With slow transfers of its own it is another kind of fault, and healing those is no gain of the event.
      if (!ailments_[i].transfers.empty()) continue;
      if ((*told)[i] == 0 && causes_[i].kind == first.kind && same_onset) event.push_back(i);
    }
    const std::vector<int32_t> steps = TypicalSteps(ailments_[number]);
    if (event.size() < kMinEventCauses || steps.empty()) return;
    const int32_t step = steps.front();
    Prepared& prepared = At(step);
    if (prepared.recorded <= 0) return;
    double healed = prepared.all_healed;
    if (event.size() < ailments_.size()) {
      if (spent_ + prepared.replay->operations() > kMaxReplayedOperations) return;
      spent_ += prepared.replay->operations();
      Healing healing;
      for (const size_t i : event) AddHealing(ailments_[i], step, &healing);
      healed = prepared.replay->Run(healing);
    }
    for (const size_t i : event) {
      (*told)[i] = 1;
      (*gains)[i].event_causes = event.size();
      (*gains)[i].event_share = (*gains)[i].steps_affected * std::max(0.0, 1 - healed / prepared.recorded);
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

  // The one of middle length, then those next to it. Where other causes are there for a part of the time only, without
  // them: what is recorded beats what is replayed.
  std::vector<int32_t> TypicalSteps(const Ailment& ailment) const {
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
    std::vector<int32_t> typical;
    const size_t middle = lengths.size() / 2;
    for (const size_t at : {middle, middle - 1, middle + 1}) {
      if (at < lengths.size()) typical.push_back(lengths[at].second);
    }
    return typical;
  }

  size_t OthersIn(const Ailment& ailment, int32_t step) const {
    return static_cast<size_t>(std::count_if(ailments_.begin(), ailments_.end(), [&](const Ailment& other) {
      return &other != &ailment && other.first_step <= step && step <= other.last_step;
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
      within += step <= ailment.last_step;
    }
    return since == 0 ? 0 : ailment.strongest()->share_of_steps * within / since;
  }

  const TraceAnalysis& analysis_;
  const std::vector<SlowCause>& causes_;
  std::vector<Ailment> ailments_;  // by cause, then transfers that belong to none
  std::vector<size_t> ailment_of_transfers_;
  std::map<int32_t, Prepared> prepared_;
  size_t spent_ = 0;
};

}  // namespace

HealingGains GainsOf(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
                     const std::vector<SlowTransfers>& transfers) {
  return Gains(analysis, causes, transfers).Run();
}

}  // namespace lockstep
