// From suspects to causes: one GPU, a whole host, or the input of a host; and which kind of slowness it is.
//
// Suspects of one host form one cause when they are at least two, at least half of the host's ranks in the job, and
// about equally slow: what ranks of a host share is the host, and its stretch is the longest of theirs but for a
// quarter. One that is slow in some steps brings the ranks of its host that are so in nearly all of the same steps. The
// kind follows from where the excess sits, compared with the peers:
//   - in the one longest interval of the step, surely out of proportion to its length, and the host launches what is
//     behind it as much later: the rank waits for its input;
//   - in intervals at whose end the host issued the next operation only just then: the host is late;
//   - else in proportion to the work: the GPU computes slowly.
// Pure. Cost O(suspects x steps x sampled peers).

#ifndef LOCKSTEP_DETECTOR_SLOW_SLOW_CAUSE_H_
#define LOCKSTEP_DETECTOR_SLOW_SLOW_CAUSE_H_

#include <cstdint>
#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/slow/persistent_excess.h"
#include "detector/steps/own_profile.h"
#include "detector/verdict/slow_reasons.h"

namespace lockstep {

struct SlowCause {
  SlowKind kind = SlowKind::kCompute;
  bool whole_host = false;
  bool starved = false;      // its ranks launch late, now this one and then that: see starved_host.h
  bool beyond_host = false;  // compared with the other ranks of its host: see slow_within_host.h
  bool alone = false;        // compared with its own past: see engine/grown_alone.h
  // Of one host, or one; the strongest first. With a whole host, last those of its ranks that are as slow in a quarter
  // of the steps but not in enough to be suspects.
  std::vector<Suspect> suspects;
  double peer_seconds = 0;  // median own time of the peers, per step, where the strongest is slow
  double host_share = 0;    // of the excess, where the host was behind
};

// Of one kind, since the same step, for all that is known of lost records.
bool AreOfOneEvent(const SlowCause& a, const SlowCause& b);

std::vector<SlowCause> GroupSuspects(const Trace& trace, const JobRoles& roles, const OwnProfile& profile,
                                     const std::vector<Suspect>& suspects);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_SLOW_CAUSE_H_
