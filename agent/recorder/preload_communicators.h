// Which entry of the ring's communicator table an NCCL communicator is, and its id.
//
// The id is equal on all members without any communication: a hash of the ncclUniqueId that the communicator was made
// from; of one that was split off, a hash of its parent's id, of how many splits of the parent there were before (a
// collective call: the same on all members) and of the colour. Communicators whose making was not seen have no id and
// are not recorded; so are all but the first member of a communicator that has several in this process (one process for
// several GPUs): a ring tells of one rank per communicator.
//
// Thread-safe under NCCL's own rule that a communicator is made and destroyed by one thread at a time; allocates
// nothing. Constant-initialized.

#ifndef LOCKSTEP_AGENT_RECORDER_PRELOAD_COMMUNICATORS_H_
#define LOCKSTEP_AGENT_RECORDER_PRELOAD_COMMUNICATORS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/recorder/handle_table.h"
#include "agent/recorder/preload_nccl_api.h"
#include "agent/recorder/ring_writer.h"

namespace lockstep::ring {

struct NcclMember {
  uint64_t id = 0;
  int32_t size = 0;  // 0 = to be asked of NCCL
  int32_t rank = -1;
};

// How a member is known to the recorder.
struct KnownMember {
  uint32_t index = kNoCommunicator;  // kNoCommunicator = did not fit into the ring
  int32_t size = 0;
  bool is_recorded = false;
};

// Hashes of what all members have in common.
uint64_t IdOf(const nccl::UniqueId& id);
uint64_t IdOfSplit(uint64_t parent, uint64_t splits_before, int color);
// Of a communicator whose members are all in this process.
uint64_t IdOfThisProcess(int64_t now_ns);

class NcclCommunicators {
 public:
  static constexpr size_t kMaxLive = 1024;

  constexpr NcclCommunicators() = default;

  // Remembers a communicator that was just made. False = too many are alive.
  bool Add(nccl::Communicator communicator, const NcclMember& member);

  // Its entry in the ring, made at the first call. `ask` completes a member whose size is 0 and returns false while
  // NCCL cannot tell yet.
  KnownMember Resolve(nccl::Communicator communicator, bool (*ask)(nccl::Communicator, NcclMember*),
                      RingWriter* writer);

  // The id of the next communicator that is split off; false = of an unknown parent. To be called once for each split.
  bool NextSplitId(nccl::Communicator parent, int color, uint64_t* id);

  // Call before the handle becomes invalid.
  void Remove(nccl::Communicator communicator, RingWriter* writer);

 private:
  struct Entry {
    std::atomic<bool> is_used{false};
    std::atomic<bool> is_published{false};  // `known` may be read
    std::atomic<uint64_t> splits{0};
    NcclMember member;
    KnownMember known;
  };

  // The entry's place; kMaxLive = none is free.
  size_t Claim();

  HandleTable<uint32_t, kMaxLive> places_;   // of communicators in entries_
  HandleTable<int32_t, kMaxLive> recorded_;  // ids (spread, never 0 or 1) that have a member in the ring
  Entry entries_[kMaxLive];
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_PRELOAD_COMMUNICATORS_H_
