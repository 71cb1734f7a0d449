// How old history is: by the time in which something was written, and not by the date alone.
//
// A machine that starts may have any date, and nobody can tell a wrong one from a machine that was off for so long. So
// a pause between what an earlier life wrote last and the start of this one ages nothing if it is longer than
// kCountedPauseNanos. What is from before it goes as well, but only when the collector has run for as long as it is
// kept. In a life the clock is the TimeLine: a date that is set moves it by 2 % of the time that passes.
//
// Pure but for its lock. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_HISTORY_AGE_H_
#define LOCKSTEP_COLLECTOR_STORE_HISTORY_AGE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace lockstep {

// Nothing was written in between: from the newest record of a life to the start of the next.
struct Pause {
  int64_t from_wall_ns = 0;
  int64_t until_wall_ns = 0;

  bool operator==(const Pause&) const = default;
};

class HistoryAge {
 public:
  // A date that is wrong by less makes history go early by as much.
  static constexpr int64_t kCountedPauseNanos = 3'600 * kNanosPerSecond;
  // Beyond, the oldest counts as time like any other.
  static constexpr size_t kMostPauses = 1'024;
  // The cutoff until Begin: RocksDB compacts as soon as it is opened.
  static constexpr int64_t kNothingGoes = std::numeric_limits<int64_t>::min();

  // `earlier` are the pauses that were known, by time; `newest_wall_ns` is of all that is written, 0 = nothing is.
  // Whether this life begins with a pause, which has to be kept before anything is written behind it.
  bool Begin(std::vector<Pause> earlier, int64_t newest_wall_ns, int64_t now_wall_ns);

  // What is of before that is older than `age_ns`. Never goes back while `now_wall_ns` does not.
  int64_t Cutoff(int64_t now_wall_ns, int64_t age_ns) const;

  // By time.
  std::vector<Pause> pauses() const;

 private:
  mutable Mutex mutex_;
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Pause> pauses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_HISTORY_AGE_H_
