// What NCCL's RAS service said about a whole job when one host asked it: one claim for each rank that is gone, in
// error, or has launched less than others.
//
// Launches are counted one process after the other while the job runs, so that they differ by a few without a fault.
// A claim means something only in a job that stands still, or when several answers agree. Pure values;
// thread-compatible.

#ifndef LOCKSTEP_DETECTOR_MODEL_RAS_ANSWER_H_
#define LOCKSTEP_DETECTOR_MODEL_RAS_ANSWER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/operation_kind.h"

namespace lockstep {

enum class RasClaimKind : uint8_t {
  kDead,          // NCCL considers the process dead
  kUnresponsive,  // it does not answer NCCL
  kMissing,       // it is not in the answer, and NCCL does not say why
  kBehind,        // it has launched fewer operations of one kind than other members
  kError,         // its communicator reports an error, or was aborted
};

struct RasClaim {
  RasClaimKind kind = RasClaimKind::kMissing;
  OperationKind operation = OperationKind::kUnknown;  // kBehind
  CommunicatorId communicator = 0;                    // NCCL's hash: that of the profiler's recorder
  int32_t size = 0;                                   // members
  int32_t rank = -1;                                  // communicator rank
  std::string host;                                   // as NCCL knows it: an address; empty = not told
  int32_t pid = 0;                                    // in the process's own namespace; 0 = not told
  uint64_t highest = 0;                               // kBehind: operations launched by those in front
  uint64_t lowest = 0;                                // and by those at the end
  uint32_t ranks_behind = 0;                          // kBehind: how many are, this one included

  bool operator==(const RasClaim&) const = default;
};

struct RasStatement {
  int64_t asked_host_ns = 0;  // clock of the host that asked
  uint32_t communicators = 0;
  uint32_t left_out = 0;  // claims that NCCL makes and the agent had no room for
  std::vector<RasClaim> claims;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_RAS_ANSWER_H_
