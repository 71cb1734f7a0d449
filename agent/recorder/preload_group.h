// What a thread has begun between ncclGroupStart and ncclGroupEnd: operations that NCCL takes, and communicators that
// it makes, only when the outermost group ends.
//
// One per thread, in its static storage; allocates nothing. Beyond the limits an operation counts as taken when its own
// call returns, and a communicator is not recorded. Not thread-safe.

#ifndef LOCKSTEP_AGENT_RECORDER_PRELOAD_GROUP_H_
#define LOCKSTEP_AGENT_RECORDER_PRELOAD_GROUP_H_

#include <cstdint>

#include "agent/recorder/preload_communicators.h"
#include "agent/recorder/preload_nccl_api.h"
#include "agent/recorder/ring_writer.h"

namespace lockstep::ring {

class NcclGroup {
 public:
  static constexpr uint32_t kMaxOperations = 256;
  static constexpr uint32_t kMaxCommunicators = 32;

  // A communicator that NCCL will write to `place` when the group ends.
  struct Making {
    nccl::Communicator* place = nullptr;
    NcclMember member;
  };

  constexpr NcclGroup() = default;
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  void Enter() { ++depth_; }
  // True when this was the outermost. An end without a start (NCCL refuses it) changes nothing.
  bool Leave() { return depth_ > 0 && --depth_ == 0; }

  // False = not inside a group, or no room: over when its call returns.
  bool Hold(const OperationHandle& operation) {
    if (depth_ == 0 || operations_held_ == kMaxOperations) return false;
    operations_[operations_held_++] = operation;
    return true;
  }
  bool Hold(const Making& making) {
    if (depth_ == 0 || communicators_held_ == kMaxCommunicators) return false;
    communicators_[communicators_held_++] = making;
    return true;
  }

  // Hands out what was held, once.
  template <typename Visit>
  void TakeOperations(Visit visit) {
    for (uint32_t i = 0; i < operations_held_; ++i) visit(operations_[i]);
    operations_held_ = 0;
  }
  template <typename Visit>
  void TakeCommunicators(Visit visit) {
    for (uint32_t i = 0; i < communicators_held_; ++i) visit(communicators_[i]);
    communicators_held_ = 0;
  }

 private:
  uint32_t depth_ = 0;
  uint32_t operations_held_ = 0;
  uint32_t communicators_held_ = 0;
  OperationHandle operations_[kMaxOperations];
  Making communicators_[kMaxCommunicators];
};

// Of the calling thread.
NcclGroup& ThisThreadsGroup();

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_PRELOAD_GROUP_H_
