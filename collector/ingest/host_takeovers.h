// Tells two agents that claim one host name from one agent that was started again.
//
// An agent draws its incarnation when it starts, so an incarnation never comes back once its agent is gone. A start
// again takes the host from a half-dead stream for good. If what lost the host takes it back, both live.

#ifndef LOCKSTEP_COLLECTOR_INGEST_HOST_TAKEOVERS_H_
#define LOCKSTEP_COLLECTOR_INGEST_HOST_TAKEOVERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "base/clock.h"

namespace lockstep {

// The takeovers of one host name. Not thread-safe.
class HostTakeovers {
 public:
  // Who lost the name lately. More agents of one name than that are told apart too: pauses of those who lost it last
  // are the shortest, so that they are the first to come back.
  static constexpr size_t kRememberedLosers = 8;
  static constexpr int64_t kWarningPeriodNanos = 60 * kNanosPerSecond;

  // `winner` has taken the name from `loser`, which had an open stream. True = two agents fight for the name.
  bool OnTakeover(uint64_t winner, uint64_t loser) {
    const bool fight = std::find(losers_.begin(), losers_.end(), winner) != losers_.end();
    losers_.erase(std::remove(losers_.begin(), losers_.end(), loser), losers_.end());
    if (losers_.size() == kRememberedLosers) losers_.erase(losers_.begin());
    losers_.push_back(loser);
    return fight;
  }

  // True once per kWarningPeriodNanos.
  bool MayWarn(int64_t now_ns) {
    if (warned_ns_.has_value() && now_ns - *warned_ns_ < kWarningPeriodNanos) return false;
    warned_ns_ = now_ns;
    return true;
  }

 private:
  std::vector<uint64_t> losers_;  // incarnations, the latest last
  absl::optional<int64_t> warned_ns_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INGEST_HOST_TAKEOVERS_H_
