// Which rank of a trace is which member of which communicator. Positions come from TraceCommunicator::members.
//
// Cost O(memberships) to build; a look-up is a binary search among the communicators of one rank. Thread-compatible.

#ifndef LOCKSTEP_DETECTOR_HANG_MEMBER_TABLE_H_
#define LOCKSTEP_DETECTOR_HANG_MEMBER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/trace.h"

namespace lockstep {

class MemberTable {
 public:
  struct Membership {
    int32_t communicator = -1;
    int32_t member = -1;  // communicator rank
  };

  explicit MemberTable(const Trace& trace);

  // A number for each member of each communicator, from 0.
  size_t IndexOf(int32_t communicator, int32_t member) const {
    return first_member_[static_cast<size_t>(communicator)] + static_cast<size_t>(member);
  }
  size_t size() const { return first_member_.back(); }

  // Communicator rank; -1 = not a member.
  int32_t MemberOf(size_t rank_index, int32_t communicator) const;
  // By communicator.
  absl::Span<const Membership> Of(size_t rank_index) const {
    return absl::MakeConstSpan(memberships_)
        .subspan(first_membership_[rank_index], first_membership_[rank_index + 1] - first_membership_[rank_index]);
  }

 private:
  std::vector<size_t> first_member_;  // by communicator
  std::vector<size_t> first_membership_;
  std::vector<Membership> memberships_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_MEMBER_TABLE_H_
