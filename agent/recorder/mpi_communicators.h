// Which entry of the ring's communicator table an MPI communicator is, and its id.
//
// The id is equal on all members without any communication: a hash of the members' ranks in MPI_COMM_WORLD, in order,
// and of how many communicators with exactly these members existed before. All members create the communicators that
// they share in the same order, because creation is collective. (The exception, creation of two communicators with the
// same members by two threads at once, may swap their ids.)
//
// Communicators of the entries in mpi_communicators.cc are added when they are made, all others (intercommunicator
// merges, MPI_Comm_idup, ...) when first used. Intercommunicators are known but not recorded.
//
// Thread-safe; allocates nothing. Adding is serialised by a spin lock that gives up when it is not to be had: then the
// communicator is added at its next use.

#ifndef LOCKSTEP_AGENT_RECORDER_MPI_COMMUNICATORS_H_
#define LOCKSTEP_AGENT_RECORDER_MPI_COMMUNICATORS_H_

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/recorder/handle_table.h"
#include "agent/recorder/ring_writer.h"

namespace lockstep::ring {

struct KnownCommunicator {
  uint32_t index = kNoCommunicator;  // kNoCommunicator = did not fit into the ring
  int32_t size = 0;
  int32_t rank = -1;
  bool is_recorded = false;  // false: an intercommunicator, or none at all
};

class MpiCommunicators {
 public:
  static constexpr size_t kMaxLive = 4096;
  static constexpr size_t kMaxGroups = 1024;

  constexpr MpiCommunicators() = default;

  // Looks up `communicator`, adding it first when it is new. `is_recorded` is false for MPI_COMM_NULL.
  KnownCommunicator Resolve(MPI_Comm communicator, RingWriter* writer);

  // Adds a communicator that was just made. `name` "" = unnamed.
  void Add(MPI_Comm communicator, const char* name, RingWriter* writer);

  void Rename(MPI_Comm communicator, const char* name, RingWriter* writer);

  // Call before the handle becomes invalid.
  void Remove(MPI_Comm communicator, RingWriter* writer);

 private:
  // How many communicators with the same members there have been.
  struct Group {
    uint64_t members_hash = 0;
    uint64_t communicators = 0;
  };

  KnownCommunicator AddLocked(MPI_Comm communicator, const char* name, RingWriter* writer);
  KnownCommunicator Describe(MPI_Comm communicator, const char* name, RingWriter* writer);
  // The number of communicators with these members before this one; false = too many groups to tell.
  bool CountBefore(uint64_t members_hash, uint64_t* before);

  HandleTable<KnownCommunicator, kMaxLive> known_;
  std::atomic_flag adding_ = ATOMIC_FLAG_INIT;  // guards groups_ and group_count_
  Group groups_[kMaxGroups] = {};
  size_t group_count_ = 0;
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_MPI_COMMUNICATORS_H_
