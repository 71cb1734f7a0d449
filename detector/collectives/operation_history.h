// The recent synchronous operations of a job, matched over the members of each communicator by sequence number.
//
// Per communicator a ring of instances; instance s lives at s modulo the ring's capacity, which is a power of two and
// grows up to a limit as operations wait for the records of slow reporters. An instance is complete when every member's
// record is there. A newer operation evicts an older one in its place: incomplete ones that are evicted are counted
// ("given up"). A missing member is missing, never innocent: nothing is concluded from an incomplete instance.
// Cost: O(1) per record, no allocation except when a ring grows. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_OPERATION_HISTORY_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_OPERATION_HISTORY_H_

#include <cstdint>
#include <vector>

#include "detector/input.h"

namespace lockstep {

// One member's part in one synchronous operation, and how it came there.
struct Participation {
  int64_t duration_ns = -1;    // inside the operation; -1 = no record, or the time inside is not known
  int64_t own_ns = -1;         // outside any operation since the previous synchronous one; -1 = unknown
  int64_t opaque_ns = 0;       // inside operations with one-sided waits since then: neither own work nor a wait
  int32_t previous_slot = -1;  // communicator of the previous synchronous operation of this rank; -1 = unknown
  int32_t previous_member = -1;
  uint64_t previous_sequence = 0;
  int64_t end_ns = 0;  // host clock of the member
  bool recorded = false;
};

struct Instance {
  uint64_t sequence = 0;
  OperationKind kind = OperationKind::kUnknown;
  uint64_t bytes = 0;
  int32_t recorded = 0;
};

class OperationHistory {
 public:
  // `max_instances` per communicator and `max_participations` over all of them bound the memory.
  OperationHistory(int max_instances, int64_t max_participations)
      : max_instances_(max_instances), budget_(max_participations) {}

  // Stores one member's record. Older than the ring, recorded twice, or over the budget: dropped and counted.
  void Add(int32_t communicator_slot, int32_t size, int32_t member, uint64_t sequence, OperationKind kind,
           uint64_t bytes, const Participation& participation);

  // The instance, or nullptr when it is not (or no longer) there.
  const Instance* Find(int32_t communicator_slot, uint64_t sequence) const;
  // All members' participations of an instance that Find found: `size` entries by communicator rank.
  const Participation* Participations(int32_t communicator_slot, uint64_t sequence) const;
  bool Complete(int32_t communicator_slot, uint64_t sequence) const;

  // Asks that the newest `instances` of each communicator be kept even when they are complete (within the limits).
  void Want(int instances) { wanted_ = instances; }

  // How many of the newest instances of the communicator are sure to be kept.
  int Capacity(int32_t communicator_slot) const;

  void Clear();
  uint64_t given_up() const { return given_up_; }
  uint64_t discarded() const { return discarded_; }

 private:
  struct Ring {
    int32_t size = 0;
    uint64_t newest = 0;
    std::vector<Instance> instances;
    std::vector<Participation> participations;  // instances.size() x size
  };

  bool Grow(Ring* ring);

  int max_instances_;
  int wanted_ = 0;
  int64_t budget_;           // participations that may still be allocated
  std::vector<Ring> rings_;  // by communicator slot
  uint64_t given_up_ = 0;
  uint64_t discarded_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_OPERATION_HISTORY_H_
