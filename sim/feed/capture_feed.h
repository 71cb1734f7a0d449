// Plays a capture to a real collector: the very reports that it holds, in their order and with their spacing.
//
// Every agent of the capture gets a stream of its own, a new incarnation and new sequence numbers; the answers that it
// gave to the other collector are not sent again. Operations of both are kept, and the newest of them answer what this
// collector asks for. Memory: at most CaptureArchive::kMaxArchiveBytes per agent. Blocking. Not thread-safe.

#ifndef LOCKSTEP_SIM_FEED_CAPTURE_FEED_H_
#define LOCKSTEP_SIM_FEED_CAPTURE_FEED_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "sim/feed/feed_result.h"

namespace lockstep {

// What a capture holds, found by reading it once.
struct CaptureContents {
  std::string job;  // of its first input; "" = there is none
  uint64_t inputs = 0;
  uint64_t agents = 0;  // incarnations of hosts
  std::set<std::string> hosts;
  size_t ranks = 0;
  int64_t first_wall_ns = 0;
  int64_t last_wall_ns = 0;
  absl::Status status;  // DATA_LOSS: only what precedes the damage can be played
};

CaptureContents ScanCapture(const std::string& path);

// `contents` are those of `path`; `job` is what the job is to be called, and `seed` makes the incarnations. UNAVAILABLE
// when the collector cannot be reached. Damage that `contents` tells of ends the playing and is no error.
absl::StatusOr<FeedResult> FeedCapture(const std::string& path, const CaptureContents& contents, const std::string& job,
                                       uint64_t seed, const FeedOptions& options, const Clock& clock,
                                       const FeedProgress& progress);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_FEED_CAPTURE_FEED_H_
