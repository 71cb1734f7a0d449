#include "collector/store/history_age.h"

#include <utility>

namespace lockstep {

bool HistoryAge::Begin(std::vector<Pause> earlier, int64_t newest_wall_ns, int64_t now_wall_ns) {
  // A life that wrote nothing left a pause behind which nothing is: this life's own takes its place.
  while (!earlier.empty() && earlier.back().until_wall_ns > newest_wall_ns) earlier.pop_back();
  const bool has_pause = newest_wall_ns > 0 && now_wall_ns - newest_wall_ns > kCountedPauseNanos;
  if (has_pause) earlier.push_back({newest_wall_ns, now_wall_ns});
  if (earlier.size() > kMostPauses) earlier.erase(earlier.begin());
  MutexLock lock(mutex_);
  pauses_ = std::move(earlier);
  has_begun_ = true;
  return has_pause;
}

int64_t HistoryAge::Cutoff(int64_t now_wall_ns, int64_t age_ns) const {
  MutexLock lock(mutex_);
  if (!has_begun_) return kNothingGoes;
  int64_t at_ns = now_wall_ns;
  for (auto pause = pauses_.rbegin(); pause != pauses_.rend(); ++pause) {
    const int64_t counted_ns = at_ns - pause->until_wall_ns;
    if (counted_ns >= age_ns) break;
    age_ns -= counted_ns;
    at_ns = pause->from_wall_ns;
  }
  return at_ns - age_ns;
}

std::vector<Pause> HistoryAge::pauses() const {
  MutexLock lock(mutex_);
  return pauses_;
}

}  // namespace lockstep
