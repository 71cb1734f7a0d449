// The records of a trace matched: which of them are parts of one and the same operation.
//
// A channel is what sequence numbers count in: the collectives of one communicator, or the Send/Recv from one member to
// another. An instance is one sequence number of one channel, with the records of all members that left one: for a
// Send/Recv the Send and the Recv. Instances are sorted by channel and then by sequence, members by rank. What is
// missing is told, never filled in.
//
// All arrays are flat and hold indices into Trace::operations (32 bits: at most kMaxMatchedOperations records; later
// ones match nothing). Cost: O(records), except that channels with wild sequence numbers (more than 4x as wide as their
// records are many) are sorted; the records are read once. Thread-compatible once built. Does not keep a pointer to the
// trace.

#ifndef LOCKSTEP_DETECTOR_MODEL_OPERATION_INSTANCES_H_
#define LOCKSTEP_DETECTOR_MODEL_OPERATION_INSTANCES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "base/executor.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"

namespace lockstep {

inline constexpr uint32_t kNoInstance = std::numeric_limits<uint32_t>::max();
inline constexpr size_t kMaxMatchedOperations = std::numeric_limits<uint32_t>::max() - 1;

struct OperationChannel {
  int32_t communicator = -1;
  int32_t source = -1;  // communicator ranks, of a Send/Recv; -1 = collectives
  int32_t destination = -1;
  uint32_t first_instance = 0;
  uint32_t instances = 0;

  bool collective() const { return source < 0; }
};

struct OperationInstance {
  uint64_t sequence = 0;
  int32_t channel = -1;
  uint32_t first_member = 0;  // into OperationInstances::members
  uint32_t member_count = 0;
};

// Two records of one rank, neighbours in their channel, between which a record is missing: sequence numbers count
// without holes.
struct SequenceHole {
  uint32_t before = 0;  // operation indices
  uint32_t after = 0;
};

struct OperationInstances {
  std::vector<OperationChannel> channels;    // by communicator, source, destination
  std::vector<OperationInstance> instances;  // by channel, sequence
  std::vector<uint32_t> members;             // operation indices, by instance and rank
  std::vector<uint32_t> instance_of;         // by operation; kNoInstance = it could not be matched
  std::vector<int32_t> rank_of;              // by operation: rank index
  std::vector<SequenceHole> holes;           // by rank, then `after`
  std::vector<size_t> first_hole;            // of each rank index, and one past the last

  absl::Span<const SequenceHole> HolesOf(size_t rank_index) const {
    return absl::MakeConstSpan(holes).subspan(first_hole[rank_index],
                                              first_hole[rank_index + 1] - first_hole[rank_index]);
  }
  absl::Span<const uint32_t> MembersOf(const OperationInstance& instance) const {
    return absl::MakeConstSpan(members).subspan(instance.first_member, instance.member_count);
  }
  absl::Span<const OperationInstance> InstancesOf(const OperationChannel& channel) const {
    return absl::MakeConstSpan(instances).subspan(channel.first_instance, channel.instances);
  }
  // How many records a complete instance of the channel has.
  static size_t SizeOf(const OperationChannel& channel, const Trace& trace) {
    return channel.collective() ? trace.communicators[static_cast<size_t>(channel.communicator)].members.size() : 2;
  }
  bool Complete(const OperationInstance& instance, const Trace& trace) const {
    return instance.member_count == SizeOf(channels[static_cast<size_t>(instance.channel)], trace);
  }
};

// `executor` may be nullptr.
OperationInstances MatchOperations(const Trace& trace, Executor* executor = nullptr);

// Communicator ranks that left no record of the instance, rising; for a Send/Recv of source and destination.
std::vector<int32_t> MissingMembers(const Trace& trace, const OperationInstances& matched,
                                    const OperationInstance& instance);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_OPERATION_INSTANCES_H_
