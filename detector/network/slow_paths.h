// Which paths transfer slowly, since when, and in which steps.
//
// A path is slow from the step on at which its ratio (transfer_table.h) makes a significant jump, or throughout when it
// lies above its like from the beginning: by a quarter and by six deviations of the noise of paths within hosts, or
// between them, which against its own past is that from step to step. One or two steps before a jump are enough of a
// past if all after it are far above them: chance makes transfers longer, never shorter. A path that is that slow in a
// tenth of the steps or more, and in far more than the middle path, is slow at times: a fault that comes and goes, or
// has gone. Chance does that to a path of a network that is shared; so there counts what several paths show in the same
// steps (slow_places.h). Pure. Cost O(paths x steps).

#ifndef LOCKSTEP_DETECTOR_NETWORK_SLOW_PATHS_H_
#define LOCKSTEP_DETECTOR_NETWORK_SLOW_PATHS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/network/transfer_table.h"

namespace lockstep {

// On either side of an onset, and in all: the fewest of which a median leaves one out.
inline constexpr size_t kMinSlowSteps = 3;
// Of the steps since the first, of what is slow at times.
inline constexpr double kMinSlowShare = kFew;

// And of what is slow for good, all paths together: nine steps in ten.
inline constexpr double kAlwaysSlow = kAllButFew;

struct SlowPath {
  bool slow = false;      // from first_step on, for good
  bool at_times = false;  // in some of the steps from first_step on; then not `slow`
  size_t first_step = 0;
  double ratio = 1;           // median from the first step on; of what is slow at times, of the slow steps
  double slow_above = 1;      // ratio of a step, half way between its slow steps and the others
  bool against_past = false;  // the ratio is to the steps before the first one, not to other paths
  // Per step before the first one, against what is usual. Negative where most paths of one duty became slow together:
  // then what is usual is slow as well, and the path's own past is what it costs against.
  double excess_before_seconds = 0;
};

// By path of the table.
std::vector<SlowPath> FindSlowPaths(const TransferTable& table);

// By step: 1 = from the first step on, most of the paths that were measured in it are slow. Where none was, those are
// slow that are throughout.
std::vector<char> SlowSteps(const TransferTable& table, const std::vector<SlowPath>& slow,
                            absl::Span<const int32_t> paths, size_t first_step);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_SLOW_PATHS_H_
