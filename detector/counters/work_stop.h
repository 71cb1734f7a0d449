// Which unit stopped working before everybody did.
//
// When a device of a synchronous job stops, its peers work on for a moment, until operations under way wait for it.
// Then all stand, and nothing tells the first one apart any more. Those few ticks are too short for sums of evidence
// (change_evidence.h), but at a hang one reading suffices, if nothing like it is usual: of all readings of all units
// while the job worked, how many times less than its part did a unit do (tail_record.h)? A burst that one machine
// samples later than another makes that 2 or 3 at each of its edges; a device that is dead makes it a thousand.
//
// A stop lasts until the unit works again, and is kept while the job stands. Around the tick in which everybody stops a
// machine that samples later than another does nothing either: whoever asks must take a stop for one only if the job
// worked on for longer than that.
//
// Cost: O(1) per reading. Memory: 16 bytes per unit. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_WORK_STOP_H_
#define LOCKSTEP_DETECTOR_COUNTERS_WORK_STOP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/stats/tail_record.h"

namespace lockstep {

struct WorkStop {
  int64_t since_ms = 0;  // 0 = the unit works
  double surprisal = 0;  // in nats: the greatest of its readings since then
};

class WorkStops {
 public:
  // Times less than its part: bursts that one machine samples late make it 2 or 3, a dead device a thousand and more.
  static constexpr double kStopped = 100;

  void AddUnit() { stops_.emplace_back(); }

  // A reading of a unit while the job works. `part`: what it usually does while its peers do what they did in this
  // tick. `independent`: see TailRecord. `usual`: false for a unit known to be odd, of which nothing is learnt.
  void Observe(size_t unit, double part, double value, double independent, bool usual, int64_t time_ms);

  // Everybody works, as far as is known. What was learnt stays.
  void Clear();

  const WorkStop& Of(size_t unit) const { return stops_[unit]; }

 private:
  TailRecord record_;
  std::vector<WorkStop> stops_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_WORK_STOP_H_
