// How many members a communicator has where its recorder does not know it: NCCL before 2.27 tells a profiler the
// members' own ranks and nothing else.
//
// A member is seen once it has called its first operation, so that who has not called yet is missing from the picture,
// and whoever believes the picture accuses the wrong one. A size is therefore believed only when all of this holds:
//   - the size of the job is known, and for kStableNs all of its ranks have been followed: reported lately, alive,
//     recording, with no record dropped on the way;
//   - some member has finished a synchronous operation on the communicator with a time from the GPU or the network:
//     then all members had entered it, and so all had been seen by their recorders, kStableNs ago or earlier;
//   - the members seen have the ranks 0 to n - 1, and have not changed for kStableNs.
// If a member appears after that, nothing about the communicator is believed any more. Pure; not thread-safe. Memory:
// kMaxMembers in all, beyond which communicators stay unknown, and are counted. Cost of Infer: O(ranks + communicators
// of unknown size).

#ifndef LOCKSTEP_DETECTOR_MODEL_SIZE_INFERENCE_H_
#define LOCKSTEP_DETECTOR_MODEL_SIZE_INFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "base/clock.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"

namespace lockstep {

class SizeInference {
 public:
  // : twenty and six reports of an agent.
  static constexpr int64_t kStableNs = 10 * kNanosPerSecond;
  static constexpr int64_t kLatelyNs = 3 * kNanosPerSecond;
  // Bound of memory.
  static constexpr size_t kMaxMembers = 1'600'000;

  // Takes in what a rank's report says about one communicator, and gives its size: the recorder's, or the one that was
  // inferred; 0 = not known. Whom a size that was believed contradicts is taken out of `roster`.
  int32_t Observe(int32_t rank, const CommunicatorView& view, int64_t received_ns, Roster* roster);

  // Records were dropped on the way from a host: what is missing may be a member.
  void NoteLoss() { followed_since_ns_ = 0; }

  // After everything up to `watermark_ns` was observed.
  void Infer(const Roster& roster, int64_t watermark_ns);

  // Why sizes are not known, a sentence; empty = none is missing.
  const std::string& why_unknown() const { return why_unknown_; }
  uint64_t refused() const { return refused_; }  // members that did not fit

  void Clear() { *this = SizeInference(); }

 private:
  struct Unsized {
    absl::flat_hash_map<int32_t, int32_t> rank_of_member;
    int32_t highest = -1;       // communicator rank seen
    int64_t changed_ns = 0;     // when the newest member was seen
    bool proven = false;        // all members had entered an operation
    bool contradicted = false;  // two ranks in one place, or one too many: never believed again
    int32_t size = 0;           // believed; 0 = not yet
  };

  void Note(int32_t rank, const CommunicatorView& view, int64_t received_ns, Unsized* communicator);
  // How many ranks are followed now.
  int32_t Followed(const Roster& roster, int64_t watermark_ns) const;

  std::map<CommunicatorId, Unsized> communicators_;
  int64_t followed_since_ns_ = 0;  // all ranks of the job; 0 = not all
  size_t members_ = 0;
  uint64_t refused_ = 0;
  std::string why_unknown_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_SIZE_INFERENCE_H_
