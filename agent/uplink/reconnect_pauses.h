// How long the uplink waits before it connects again, by how the stream before has ended.
//
// A collector that went away is back at once or in a while: pauses grow from attempt to attempt and begin anew with
// each stream that comes up. An agent that another of the same host name has displaced must not do that, or the two
// would take the stream from each other many times a second: its pauses go on growing until it is left alone.
//
// Pure apart from drawing from its generators. Not thread-safe. Times in nanoseconds.

#ifndef LOCKSTEP_AGENT_UPLINK_RECONNECT_PAUSES_H_
#define LOCKSTEP_AGENT_UPLINK_RECONNECT_PAUSES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/random.h"

namespace lockstep {

// How long a lost collector is left alone. Verdicts about a job wait for the last agent that comes back; 10,000 that
// come back within the longest pause are about 2,000 connections per second.
inline constexpr int64_t kFirstReconnectNanos = 200 * kNanosPerMilli;
inline constexpr int64_t kLongestReconnectNanos = 10 * kNanosPerSecond;
inline constexpr int64_t kFirstDisplacedNanos = kNanosPerSecond;
inline constexpr int64_t kLongestDisplacedNanos = 30 * kNanosPerSecond;
// A stream that lasted so long was left alone. Longer than any pause: the other agent is then gone, not waiting.
inline constexpr int64_t kLeftAloneNanos = 2 * kLongestDisplacedNanos;

// The status with which a collector ends the stream of an agent whose place another connection has taken.
inline bool IsDisplaced(const absl::Status& status) { return absl::IsAborted(status); }

class ReconnectPauses {
 public:
  explicit ReconnectPauses(const Random& random)
      : lost_(kFirstReconnectNanos, kLongestReconnectNanos, random),
        displaced_(kFirstDisplacedNanos, kLongestDisplacedNanos, random) {}

  // The collector has answered the greeting.
  void OnUp(int64_t now_ns) {
    up_since_ns_ = now_ns;
    lost_.Reset();
  }

  // The stream is over, whether or not it ever came up. Returns the pause before the next one.
  int64_t OnOver(const absl::Status& status, int64_t now_ns) {
    if (up_since_ns_.has_value() && now_ns - *up_since_ns_ >= kLeftAloneNanos) displaced_.Reset();
    up_since_ns_.reset();
    return IsDisplaced(status) ? displaced_.Next() : lost_.Next();
  }

 private:
  Backoff lost_;
  Backoff displaced_;
  absl::optional<int64_t> up_since_ns_;  // of the present stream, once it is up
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_RECONNECT_PAUSES_H_
