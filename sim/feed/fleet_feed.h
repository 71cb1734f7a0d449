// Plays a simulated job to a real collector, one agent per host.
//
// Blocking: returns when the job is over. Not thread-safe.

#ifndef LOCKSTEP_SIM_FEED_FLEET_FEED_H_
#define LOCKSTEP_SIM_FEED_FLEET_FEED_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "sim/episode.h"

namespace lockstep {

struct FeedOptions {
  std::string address;                        // host:port of the collector's ingest service, without TLS
  double speed = 1;                           // seconds of the job per second
  int32_t connections = 16;                   // that the hosts share
  int64_t connect_ns = 10 * kNanosPerSecond;  // for the first connection
};

struct FeedResult {
  uint64_t reports = 0;
  uint64_t acknowledged = 0;
  uint64_t dropped = 0;        // the collector did not take them in time, or a stream had ended
  uint64_t streams_ended = 0;  // before the job was over
  uint64_t commands = 0;       // of the collector, answered
  uint64_t late_ticks = 0;     // that began after their time: the speed was too high for this machine
};

// `progress` is called after every tick. UNAVAILABLE when the collector cannot be reached.
absl::StatusOr<FeedResult> FeedCollector(const Episode& episode, uint64_t seed, const FeedOptions& options,
                                         const Clock& clock, const std::function<void(int32_t, int32_t)>& progress);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_FEED_FLEET_FEED_H_
