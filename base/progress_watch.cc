#include "base/progress_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"

namespace lockstep {

void ProgressWatch::Watch(std::string name, int64_t limit_ns, Probe probe) {
  MutexLock lock(mutex_);
  watched_.push_back({.name = std::move(name), .limit_ns = limit_ns, .probe = std::move(probe)});
}

absl::Status ProgressWatch::Check(int64_t now_ns) {
  std::vector<std::string> stuck;
  MutexLock lock(mutex_);
  for (Watched& watched : watched_) {
    const Progress progress = watched.probe();
    if (!watched.seen || !progress.has_work || progress.turns != watched.turns) {
      watched.seen = true;
      watched.turns = progress.turns;
      watched.since_ns = now_ns;
    }
    const int64_t still_ns = now_ns - watched.since_ns;
    if (still_ns <= watched.limit_ns) continue;
    stuck.push_back(absl::StrCat(watched.name, " has work and has not moved for ", still_ns / kNanosPerSecond,
                                 " s, at most ", watched.limit_ns / kNanosPerSecond, " s are expected"));
  }
  return stuck.empty() ? absl::OkStatus() : absl::UnavailableError(absl::StrJoin(stuck, "; "));
}

}  // namespace lockstep
