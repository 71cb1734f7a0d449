#include "detector/slow/counterfactual_gain.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/slow/ailment_steps.h"
#include "detector/slow/ailments.h"
#include "detector/slow/counterfactual_step.h"
#include "detector/slow/lengthened_steps.h"
#include "detector/slow/replay_accounts.h"
#include "detector/slow/step_replay.h"

namespace lockstep {
namespace {

class Gains {
 public:
  Gains(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
        const std::vector<SlowTransfers>& transfers, double min_cost, Executor* executor)
      : analysis_(analysis), causes_(causes), min_cost_(min_cost), executor_(executor) {
    Ailments found = AilmentsOf(analysis, causes, transfers);
    ailments_ = std::move(found.all);
    ailment_of_transfers_ = std::move(found.of_transfers);
  }

  CounterfactualGains Run() {
    replayable_ = IsReplayable(*analysis_.trace);
    const AilmentSteps steps(analysis_, ailments_);
    ReplayAccounts accounts(analysis_, ailments_, steps, min_cost_, executor_);
    accounts.Run();
    std::vector<CounterfactualGain> gains;
    for (size_t i = 0; i < ailments_.size(); ++i) gains.push_back(GainOf(i, accounts, steps, gains));
    for (const std::vector<size_t>& event : Events()) TellEvent(event, &accounts, &gains);
    CounterfactualGains result;
    for (const size_t ailment : ailment_of_transfers_) result.of_transfers.push_back(gains[ailment]);
    gains.resize(causes_.size());
    result.of_ranks = std::move(gains);
    return result;
  }

 private:
  // `gains` of those before it.
  CounterfactualGain GainOf(size_t number, const ReplayAccounts& accounts, const AilmentSteps& steps_of,
                            const std::vector<CounterfactualGain>& gains) const {
    const Ailment& ailment = ailments_[number];
    const ReplayAccount& account = accounts.Of(number);
    CounterfactualGain gain;
    if (account.eligible == 0) return gain;
    gain.steps_affected = steps_of.AffectedShare(ailment);
    gain.other_seconds = steps_of.SecondsWithout(ailment);
    if (!replayable_ || account.shares.size() == 0) {  // only the job's own past tells a cost
      gain.step_seconds = UsualSecondsOf(analysis_.steps, ailment);
      gain.seconds_per_step = std::min(ailment.excess_seconds, LeftOfPast(number, accounts, gains));
      return gain;
    }
    gain.replayed = !account.estimated;
    const auto steps = static_cast<double>(account.shares.size());
    // What hides behind something dearer may be as slow as that; what may be its echo costs what removing it gives back
    // now.
    const bool hides = !MayBeEcho(number) && account.last * account.recorded > account.alone * account.others_removed;
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

  // Whether other slow transfers may make these slow: of what shares a host with them, and leaves it.
  bool MayBeEcho(size_t number) const {
    const Ailment& ailment = ailments_[number];
    if (ailment.cause != nullptr || ailment.hosts.size() < 2) return false;
    return std::any_of(ailments_.begin(), ailments_.end(), [&ailment](const Ailment& other) {
      return &other != &ailment && other.hosts.size() > 1 &&
             std::any_of(other.hosts.begin(), other.hosts.end(), [&ailment](int32_t host) {
               return std::binary_search(ailment.hosts.begin(), ailment.hosts.end(), host);
             });
    });
  }

  // Of what steps got longer by at its onset: what the stronger ones that began with it and cannot be replayed either
  // leave.
  double LeftOfPast(size_t number, const ReplayAccounts& accounts, const std::vector<CounterfactualGain>& gains) const {
    double left = LengthenedBy(analysis_.steps, ailments_, number, min_cost_).value_or(0);
    for (size_t other = 0; other < gains.size(); ++other) {
      const bool with_it = ailments_[other].earliest_step <= ailments_[number].first_step + kSameOnsetSteps &&
                           ailments_[number].earliest_step <= ailments_[other].first_step + kSameOnsetSteps;
      if ((!replayable_ || accounts.Of(other).shares.size() == 0) && with_it) left -= gains[other].seconds_per_step;
    }
    return std::max(0.0, left);
  }

  int32_t HostOf(const SlowCause& cause) const {
    return analysis_.trace->ranks[static_cast<size_t>(cause.suspects.front().rank)].host;
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
  void TellEvent(const std::vector<size_t>& event, ReplayAccounts* accounts,
                 std::vector<CounterfactualGain>* gains) const {
    std::set<int32_t> hosts;
    for (const size_t i : event) {
      if ((*gains)[i].slowdown() >= min_cost_) hosts.insert(HostOf(causes_[i]));
    }
    for (const size_t i : event) (*gains)[i].event_hosts = hosts.size();
    std::vector<size_t> cheap;
    std::copy_if(event.begin(), event.end(), std::back_inserter(cheap),
                 [&](size_t i) { return (*gains)[i].slowdown() < min_cost_; });
    const std::vector<int32_t>& steps = accounts->Of(event.front()).steps;
    if (cheap.empty() || steps.empty()) return;
    const double share = accounts->ShareOfAll(cheap, steps.front());
    if (share < 0) return;
    // What is far cheaper together than one that began with them is its echo.
    double dearest = 0;
    for (const size_t i : event) dearest = std::max(dearest, (*gains)[i].slowdown());
    if (dearest >= kMajorPart * (dearest + share)) return;
    for (const size_t i : cheap) {
      (*gains)[i].event_causes = event.size();
      (*gains)[i].event_share = (*gains)[i].steps_affected * share;
    }
  }

  const TraceAnalysis& analysis_;
  const std::vector<SlowCause>& causes_;
  const double min_cost_;
  Executor* const executor_;
  std::vector<Ailment> ailments_;  // by cause, then transfers that belong to none
  std::vector<size_t> ailment_of_transfers_;
  bool replayable_ = true;
};

}  // namespace

CounterfactualGains GainsOf(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
                            const std::vector<SlowTransfers>& transfers, double min_cost, Executor* executor) {
  return Gains(analysis, causes, transfers, min_cost, executor).Run();
}

}  // namespace lockstep
