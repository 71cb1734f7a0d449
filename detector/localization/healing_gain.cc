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

constexpr size_t kRunsPerCause = 2;
constexpr size_t kMaxComparedPeers = 64;
constexpr double kMaxHidden = 0.01;  // of the instances
constexpr int32_t kSameOnsetSteps = 1;

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

class Gains {
 public:
  Gains(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes, const std::vector<SlowChannel>& channels)
      : analysis_(analysis), causes_(causes), channels_(channels) {}

  std::vector<HealingGain> Run() {
    std::vector<HealingGain> gains(causes_.size());
    for (size_t i = 0; i < causes_.size(); ++i) {
      const int32_t step = TypicalStep(causes_[i].suspects.front());
      if (step < 0) continue;
      Of(i, step, &gains[i]);
      gains[i].steps_affected = AffectedShare(causes_[i].suspects.front());
    }
    std::vector<char> told(causes_.size(), 0);
    for (size_t i = 0; i < causes_.size(); ++i) {
      if (told[i] == 0) TellEvent(i, &told, &gains);
    }
    return gains;
  }

 private:
  struct Prepared {
    std::unique_ptr<StepReplay> replay;
    double recorded = 0;
    double all_healed = 0;
    std::vector<StepReplay::Link> path;
  };

  Prepared& At(int32_t step) {
    Prepared& prepared = prepared_[step];
    if (prepared.replay != nullptr) return prepared;
    prepared.replay = std::make_unique<StepReplay>(analysis_, step);
    prepared.recorded = prepared.replay->Run({});
    prepared.path = prepared.replay->CriticalPath();
    prepared.all_healed = prepared.replay->Run(HealingOfAllBut(causes_.size(), step));
    spent_ += 3 * prepared.replay->operations();
    return prepared;
  }

  // Of the causes that are there in this step.
  Healing HealingOfAllBut(size_t left_out, int32_t step) const {
    Healing healing;
    for (size_t i = 0; i < causes_.size(); ++i) {
      const Suspect& strongest = causes_[i].suspects.front();
      if (i != left_out && strongest.first_step <= step && step <= strongest.last_step) {
        AddHealing(causes_[i], &healing);
      }
    }
    for (const SlowChannel& slow : channels_) {
      if (slow.first_step > step) continue;
      healing.channels.push_back({.channel = slow.channel, .scale = static_cast<float>(1 / std::max(1.0, slow.ratio))});
    }
    return healing;
  }

  void Of(size_t number, int32_t step, HealingGain* gain) {
    const SlowCause& cause = causes_[number];
    Prepared& prepared = At(step);
    gain->step_seconds = prepared.recorded;
    gain->seconds_per_step = ExcessOf(cause.suspects.front());
    if (prepared.recorded <= 0) {
      gain->step_seconds = analysis_.steps.usual_seconds;
      return;
    }
    gain->seconds_per_step = std::min(gain->seconds_per_step, prepared.recorded - prepared.all_healed);
    gain->path_share = PathShare(prepared.path, cause);
    const size_t needed = kRunsPerCause * prepared.replay->operations();
    if (causes_.size() == 1 && channels_.empty()) {
      gain->replayed = true;
      gain->seconds_per_step = prepared.recorded - prepared.all_healed;
    } else if (spent_ + needed <= kMaxReplayedOperations) {
      spent_ += needed;
      Healing alone;
      AddHealing(cause, &alone);
      const double first = prepared.recorded - prepared.replay->Run(alone);
      const double last = prepared.replay->Run(HealingOfAllBut(number, step)) - prepared.all_healed;
      gain->seconds_per_step = first;
      // What hides behind another cause counts against the step without that one: that is where it will be felt. Beside
      // a slow path it does not: who waits for that path beside its work seems to work longer.
      const double healed = channels_.empty() ? prepared.all_healed + std::max(0.0, last) : prepared.recorded;
      if (last > 0 && healed > 0 && last / healed > first / prepared.recorded) {
        gain->seconds_per_step = last;
        gain->step_seconds = healed;
      }
      gain->replayed = true;
    }
    // Lost records hide who waited for whom. Then the cause costs at least what it exceeds the next of its peers by.
    if (prepared.replay->hidden_share() > kMaxHidden) {
      const double over_next = ExcessOf(cause.suspects.front()) - NextExcess(cause.suspects.front());
      gain->replayed &= over_next <= gain->seconds_per_step;
      gain->seconds_per_step = std::max(gain->seconds_per_step, over_next);
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
      if ((*told)[i] == 0 && causes_[i].kind == first.kind && same_onset) event.push_back(i);
    }
    const int32_t step = TypicalStep(first.suspects.front());
    // Beside a slow path many seem to work longer, because they wait for it beside their work.
    if (event.size() < kMinEventCauses || step < 0 || !channels_.empty()) return;
    Prepared& prepared = At(step);
    if (prepared.recorded <= 0) return;
    double healed = prepared.all_healed;
    if (event.size() < causes_.size()) {
      if (spent_ + prepared.replay->operations() > kMaxReplayedOperations) return;
      spent_ += prepared.replay->operations();
      Healing healing;
      for (const size_t i : event) AddHealing(causes_[i], &healing);
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

  int32_t TypicalStep(const Suspect& suspect) const {
    std::vector<std::pair<double, int32_t>> lengths;
    for (int32_t step = suspect.first_step; step <= suspect.last_step; ++step) {
      const size_t at = static_cast<size_t>(suspect.rank) * analysis_.profile.steps + static_cast<size_t>(step);
      if (!std::isnan(analysis_.profile.own[at])) {
        lengths.emplace_back(analysis_.steps.step_seconds[static_cast<size_t>(step)], step);
      }
    }
    if (lengths.empty()) return -1;
    std::sort(lengths.begin(), lengths.end());
    return lengths[lengths.size() / 2].second;
  }

  double AffectedShare(const Suspect& suspect) const {
    int32_t since = 0, within = 0;
    for (int32_t step = suspect.first_step; step < analysis_.steps.steps; ++step) {
      if (analysis_.steps.usual[static_cast<size_t>(step)] == 0) continue;
      ++since;
      within += step <= suspect.last_step;
    }
    return since == 0 ? 0 : suspect.share_of_steps * within / since;
  }

  const TraceAnalysis& analysis_;
  const std::vector<SlowCause>& causes_;
  const std::vector<SlowChannel>& channels_;
  std::map<int32_t, Prepared> prepared_;
  size_t spent_ = 0;
};

}  // namespace

std::vector<HealingGain> GainsOf(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
                                 const std::vector<SlowChannel>& channels) {
  return Gains(analysis, causes, channels).Run();
}

}  // namespace lockstep
