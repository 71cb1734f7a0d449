// What replays of single steps tell of each ailment, added up until it is settled on which side of the least cost the
// mean lies, or until what replays may cost is spent.
//
// Steps are replayed one after the other in an order that is spread evenly over their lengths; several at the same
// time where they are small enough, with the same result.

#ifndef LOCKSTEP_DETECTOR_SLOW_REPLAY_ACCOUNTS_H_
#define LOCKSTEP_DETECTOR_SLOW_REPLAY_ACCOUNTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "detector/slow/ailment_steps.h"
#include "detector/slow/counterfactual_step.h"
#include "detector/slow/step_replay.h"
#include "detector/stats/sampled_mean.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// Budgets of time.
inline constexpr size_t kMaxReplayedOperations = 24'000'000;
inline constexpr size_t kMaxRepeatedOperations = 12'000'000;

// Sums over the steps in which an ailment was replayed, in seconds.
struct ReplayAccount {
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

// Thread-compatible; what it is given must outlive it.
class ReplayAccounts {
 public:
  ReplayAccounts(const TraceAnalysis& analysis, const std::vector<Ailment>& ailments, const AilmentSteps& steps,
                 double min_cost, Executor* executor);

  void Run();
  const ReplayAccount& Of(size_t number) const { return accounts_[number]; }
  // Of a step without anything else, what removing `together`, rising, gives back; negative = it cannot be told.
  double ShareOfAll(const std::vector<size_t>& together, int32_t step);

 private:
  bool Settled(size_t number) const;
  // When these are replayed: the next step of the ailment that was replayed least, of those that are not settled; -1 =
  // all that can be afforded are done.
  int32_t NextStep(const std::set<int32_t>& replayed) const;
  // The next step, and those that will follow if it settles nothing: as many as can be replayed at once, while what
  // they need is far from the limit, so that they are replayed as if one had waited for the other.
  std::vector<int32_t> NextSteps() const;
  // The replay takes longer than the step did by this share of it. A replay with a surplus holds waits that never were;
  // the time that it gives back was never lost.
  double Surplus(const CounterfactualStep& counterfactual) const;
  bool IsFaithful(const CounterfactualStep& counterfactual) const;
  // Whether the step tells something of the ailment that is still to be known.
  bool IsFor(size_t number, const CounterfactualStep& counterfactual) const;
  CounterfactualStep Replay(int32_t step, StepReplay* replay) const;
  void Add(const CounterfactualStep& counterfactual);
  void AddLengths(size_t number, const CounterfactualStep& counterfactual, ReplayAccount* account);
  // Of a step with one ailment left. A counterfactual takes off what ranks need more than their peers, not what these
  // need more while they wait beside their work: a step takes no longer than one took before anything was slow, and
  // what the ailment costs.
  double WithHealthyRest(double others_removed, double last) const;

  const TraceAnalysis& analysis_;
  const std::vector<Ailment>& ailments_;
  const AilmentSteps& steps_;
  const double min_cost_;
  const double healthy_seconds_;
  Executor* const executor_;
  const size_t operations_per_step_;
  std::vector<ReplayAccount> accounts_;  // by ailment
  std::set<int32_t> replayed_;           // steps
  std::vector<StepReplay> replays_;      // as many as run at once
  size_t latest_operations_ = 0;         // of the step that was replayed last
  size_t spent_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_REPLAY_ACCOUNTS_H_
