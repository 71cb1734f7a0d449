// What healing each cause would give back, by replaying a typical step of its stretch.
//
// For each cause two gains are taken and the larger counts: healing it alone, and healing it when all other causes are
// healed already. With several equally slow ranks healing one alone gives nothing back, and yet each of them has to go.
// Three causes or more of one kind with one onset are one event: a driver, a room, a rack. What each costs hides behind
// the others wherever ranks wait for several of them, so that what counts is what healing all of them gives back
// (not beside a slow path, for which others wait beside their work and so seem to work longer).
// The typical step is the one of median length among the usual steps of the stretch. Replays are bounded by
// kMaxReplayedOperations in all: beyond it (a tenth of a large fleet is slow) a cause's gain is its own excess, at most
// what healing all together gives back. Pure.

#ifndef LOCKSTEP_DETECTOR_LOCALIZATION_HEALING_GAIN_H_
#define LOCKSTEP_DETECTOR_LOCALIZATION_HEALING_GAIN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/localization/slow_cause.h"
#include "detector/localization/trace_analysis.h"

namespace lockstep {

inline constexpr size_t kMaxReplayedOperations = 24'000'000;
inline constexpr size_t kMinEventCauses = 3;

struct HealingGain {
  double seconds_per_step = 0;
  double step_seconds = 0;    // replayed: as recorded, or what it takes when all other causes are healed
  double steps_affected = 0;  // share of the usual steps since the onset
  double path_share = 0;      // of the chain that the end of the step waited for: own time of the cause's ranks
  bool replayed = false;      // false: an estimate from the excess
  size_t event_causes = 0;    // of the event that it is part of; 0 = none
  double event_share = 0;     // of the step time, that healing the whole event gives back
};

// A channel of which something else is accused.
struct SlowChannel {
  int32_t channel = -1;  // OperationInstances::channels
  int32_t first_step = 0;
  double ratio = 1;  // of its transfer times over the usual ones
};

// By cause. `channels` are healed together with the other causes: behind a slow link a slow rank costs nothing more.
std::vector<HealingGain> GainsOf(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
                                 const std::vector<SlowChannel>& channels);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_LOCALIZATION_HEALING_GAIN_H_
