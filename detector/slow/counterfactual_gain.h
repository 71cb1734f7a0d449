// What removing each cause would give back, by replaying a typical step of its stretch: slow ranks and slow transfers
// alike, together, because either may hide behind the other.
//
// For each cause two gains are taken: removing it alone, and removing it when all other causes are removed already,
// against the step that is then left. The dearer counts: with several equally slow ones removing one alone gives
// nothing back, and yet each of them has to go. But transfers that leave a host which they share with other slow ones
// cost the first: they may be the echo of these, since replays know nothing of contention.
// A rank and transfers of its that became slow at the same step are removed together: what both pass is the way between
// the GPU and its host.
// Three ranks or more, without slow transfers of theirs, that are slow in one way since one onset are one event: a
// driver, a room, a rack. What each costs hides behind the others wherever ranks wait for several of them, so that for
// those that are too cheap by themselves it counts what removing all such gives back, when everything else is removed;
// but where one of the event costs three times that, they are its echo (kMajorPart).
// A cause costs little in a step in which something else is late, and much in the next: what it costs is the mean
// over the usual steps of its stretch, of those in which fewest other causes are there. They are replayed one after
// the other, in an order that is spread evenly over their lengths, until it is settled on which side of `min_cost`
// the mean lies, or kMaxRepeatedOperations are spent: then the mean is that of the steps so far. Where records are
// lost the replay of a step may take far less than the step did: such are left out if others agree. Those that take
// far longer give back what was never lost, and are left out always. A cause that does not hide costs no more than
// steps got longer by at its onset, where the records hold enough of both sides; where no step can be replayed, that
// and its excess are all there is, and without a past it has no cost. Replays are bounded by kMaxReplayedOperations
// in all: beyond it (a tenth of a large fleet is slow) a cause's gain is its own excess, at most what removing all
// together gives back.
// An executor replays several steps at the same time, where they are small enough: the same answer, sooner. Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_COUNTERFACTUAL_GAIN_H_
#define LOCKSTEP_DETECTOR_SLOW_COUNTERFACTUAL_GAIN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/executor.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/slow_transfers.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// Two may be one pair, or chance.
inline constexpr size_t kMinEventCauses = 3;
// Share of a job's machines that may become slow at one step and still be to blame; more have a common cause. As
// of counters (PeerOptions::most_at_once), which was chosen on tuning numbers.
inline constexpr double kMostAtOnce = 0.15;

struct CounterfactualGain {
  double seconds_per_step = 0;
  double step_seconds = 0;    // replayed: as recorded, or what it takes when all other causes are removed
  double other_seconds = 0;   // of a step since the onset in which it is not; 0 = it is in all of them
  double steps_affected = 0;  // share of the usual steps since the onset
  double path_share = 0;      // of the chain that the end of the step waited for: own time of the cause's ranks
  bool replayed = false;      // false: the excess, at most what steps got longer by or removing all gives back
  size_t event_hosts = 0;     // of the event that it is part of, those that are dear by themselves
  size_t event_causes = 0;    // where it is too cheap by itself: of the event that it is part of; 0 = none
  double event_share = 0;     // of the step time, that removing all of the event that are as cheap gives back

  // Of the step time, over all steps since the onset.
  double slowdown() const { return step_seconds > 0 ? steps_affected * seconds_per_step / mean_seconds() : 0; }
  double mean_seconds() const {
    return other_seconds > 0 ? steps_affected * step_seconds + (1 - steps_affected) * other_seconds : step_seconds;
  }

  // It became slow together with more hosts than do so at once: what they have in common is the cause, and none of
  // them.
  bool IsOfMany(size_t machines) const {
    return event_hosts >= kMinEventCauses &&
           static_cast<double>(event_hosts) > kMostAtOnce * static_cast<double>(machines);
  }

  // What an accusation is measured by: what removing the cause gives back, or its whole event, if that is of few enough
  // of the job's `machines`.
  double Worth(size_t machines) const {
    const bool is_of_few = static_cast<double>(event_causes) <= kMostAtOnce * static_cast<double>(machines);
    return is_of_few && event_share > slowdown() ? event_share : slowdown();
  }
};

struct CounterfactualGains {
  std::vector<CounterfactualGain> of_ranks;      // by cause
  std::vector<CounterfactualGain> of_transfers;  // by slow transfers
};

CounterfactualGains GainsOf(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
                            const std::vector<SlowTransfers>& transfers, double min_cost, Executor* executor = nullptr);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_COUNTERFACTUAL_GAIN_H_
