// Own times summed per rank and step, and how far each is above what its peers took in the same step. What a host and
// its GPU do at the same moment may be own time before an operation of each: the sums count such time once.
//
// Peers are the ranks of one class. The reference of a rank is the median of the others, so that a rank of two has the
// other one to compare with. Peers on two hosts are told apart by host, and the median of the quicker host is the
// reference: of two hosts, a slow one is half of the peers. Work between two AllToAlls is the experts': how much of it
// a rank gets is decided by the routing, so that it is compared with nobody's; a slow machine is slow in the rest as
// well. Where there is hardly any rest, expert_work.h says what can be compared. Unusual steps (pause, evaluation,
// first step) and incomplete ones are unknown (NaN). Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_STEPS_OWN_PROFILE_H_
#define LOCKSTEP_DETECTOR_STEPS_OWN_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/executor.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/own_time.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

struct OwnProfile {
  size_t ranks = 0;
  size_t steps = 0;
  // By rank, then step. Seconds; NaN = unknown. What lies in two own intervals counts once in `own` and `shared`.
  std::vector<float> own;
  std::vector<float> shared;             // without what the routing decides: what peers have in common
  std::vector<float> excess;             // of `shared` over the peers' median of the same step; NaN also without peers
  std::vector<float> host_bound;         // part of `own` at whose end the host issued the operation only just then
  std::vector<float> largest;            // the largest single own interval
  std::vector<uint32_t> largest_before;  // the operation behind it
  std::vector<float> guess_scale;     // unknown intervals are taken to be like the others: times this; NaN = too many
                                      // (empty: none is unknown)
  std::vector<int32_t> expert_place;  // by rank: place in its expert group, 0 = none

  // Whether all own intervals of a known step are known: else a slow rank's own time is a lower bound.
  bool Complete(size_t rank, size_t step) const { return guess_scale.empty() || guess_scale[rank * steps + step] <= 1; }

  absl::Span<const float> Row(const std::vector<float>& values, size_t rank) const {
    return absl::MakeConstSpan(values).subspan(rank * steps, steps);
  }
};

// `without_begins`: as RanksWithoutBegins; nothing is known of these. `executor` may be nullptr.
OwnProfile SumOwnTimes(const Trace& trace, const JobRoles& roles, const StepTable& steps, const OwnTimes& times,
                       const std::vector<char>& without_begins, Executor* executor = nullptr);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_OWN_PROFILE_H_
