#include "base/progress_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep {

void ProgressWatch::Watch(std::string name, int64_t limit_ns, Probe probe) {
  MutexLock lock(mutex_);
  watched_.push_back({.name = std::move(name), .limit_ns = limit_ns, .probe = std::move(probe)});
}

absl::Status ProgressWatch::Check(int64_t now_ns) {
  std::vector<std::string> stuck;
  MutexLock lock(mutex_);
  const int64_t gap_ns = std::clamp<int64_t>(now_ns - std::exchange(checked_ns_, now_ns), 0, kLongestGapNanos);
  for (Watched& watched : watched_) {
    const Progress progress = watched.probe();
    const bool moved = std::exchange(watched.turns, progress.turns) != progress.turns;
    watched.still_ns = moved || !progress.has_work ? 0 : watched.still_ns + gap_ns;
    if (watched.still_ns <= watched.limit_ns) continue;
    stuck.push_back(absl::StrCat(watched.name, " has work and has not moved for ", watched.still_ns / kNanosPerSecond,
                                 " s, at most ", watched.limit_ns / kNanosPerSecond, " s are expected"));
  }
  return stuck.empty() ? absl::OkStatus() : absl::UnavailableError(absl::StrJoin(stuck, "; "));
}

}  // namespace lockstep
