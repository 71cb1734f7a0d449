// The few levels between which a job moves one metric: computing, communicating, saving a checkpoint, standing still.
//
// Everybody moves together, so the median over the machines tells the phase. How far machines differ from each other
// and how much one machine scatters depends on it (power differs by tens of watts at full load and by little when
// idle), hence each phase has its own scales. A level that fits no known phase opens a new one; a few per cent, or less
// than machines differ anyway, is no new level. The one that was not seen for the longest time is forgotten. A metric
// that saturates (utilisation, clocks) hardly moves from one phase to another while the order of the machines changes:
// so what the whole job does (its regime) is told from outside, and no phase belongs to two regimes. Bounded by
// kPhases. Cost: O(kPhases). Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_PHASE_TABLE_H_
#define LOCKSTEP_DETECTOR_COUNTERS_PHASE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep {

struct LevelPhase {
  double center = 0;  // of the medians, in the metric's unit
  double spread = 0;  // between machines: robust standard deviation, in the metric's unit
  double noise = 1;   // of one machine from tick to tick, in units of the spread
  int regime = 0;
  int64_t ticks = 0;  // seen
  int64_t last_tick = 0;
};

class PhaseTable {
 public:
  // Compute, communication and the waits of a pipeline, a checkpoint, idle, and one to spare; memory is per unit and
  // phase.
  static constexpr int kPhases = 6;

  struct Match {
    int phase = 0;
    bool opened = false;  // forget whatever was known of this phase
  };

  // The phase of a tick whose `values` values have this median and robust standard deviation, updated by them with the
  // weight `gain` once it is well known. A new phase inherits scales from the one that was seen most.
  Match Enter(int regime, double median, double spread, int64_t values, double gain);

  LevelPhase& at(int phase) { return phases_[static_cast<size_t>(phase)]; }
  const LevelPhase& at(int phase) const { return phases_[static_cast<size_t>(phase)]; }
  // The one that was seen most.
  int main_phase() const;
  // From the lowest to the highest center of a regime.
  double Range(int regime) const;

 private:
  std::array<LevelPhase, kPhases> phases_;
  int64_t tick_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_PHASE_TABLE_H_
