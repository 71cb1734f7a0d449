// Of a group that the operation records blame as a whole, the member whose counters show why.
//
// When all transfers of a ring are slow, its members cannot be told apart by their times: whoever is slow, all wait.
// Counters tell: a NIC with symbol errors, waits or pause frames of its own among others that have none. When exactly
// one machine of the blamed group shows signs of a slow network, began to when the group did, the verdict is narrowed
// to that machine and its device. When several do, nothing is narrowed: they may be victims of each other.
//
// Pure; NarrowedGroups is not thread-safe. Cost O(verdicts x (culprits + signs)).

#ifndef LOCKSTEP_DETECTOR_COUNTERS_GROUP_MEMBER_H_
#define LOCKSTEP_DETECTOR_COUNTERS_GROUP_MEMBER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// What the counters of one machine say about its side of the network.
struct MemberSign {
  std::string host;
  std::string device;  // "" = of the host
  StatedClass verdict_class;
  int64_t onset_ms = 0;
};

// From when to when there are counters. Operation records and counters are on one clock when the group's onset lies
// within; else all that is compared is whether both were there from the start.
struct CounterSpan {
  int64_t begin_ms = 0;
  int64_t end_ms = 0;
};

void NarrowGroups(absl::Span<const MemberSign> signs, const CounterSpan& span, std::vector<Verdict>* verdicts);

// The same again and again while a job runs: who was told once stays told as long as the records blame the group, so
// that one cause does not become two when its signs come and go. Holds one verdict per narrowed group.
class NarrowedGroups {
 public:
  void Apply(absl::Span<const MemberSign> signs, const CounterSpan& span, std::vector<Verdict>* verdicts);
  void Clear() { told_.clear(); }

 private:
  std::map<std::string, Verdict> told_;  // by the cause key of the group
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_GROUP_MEMBER_H_
