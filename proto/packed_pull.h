// Pulled operations packed for the wire: columns of the ranks and communicators of a host repeat each other, so that
// packed together they are less than half.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_PROTO_PACKED_PULL_H_
#define LOCKSTEP_PROTO_PACKED_PULL_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// Moves what `result` holds as `pulled` to `packed_pulled`, if that is smaller. REQUIRES: nothing is packed yet.
void PackPulled(wire::CommandResult& result);

// What `packed` holds, which must not be more than `max_bytes`, and takes as much from it. INVALID_ARGUMENT otherwise.
absl::StatusOr<wire::PulledBatches> UnpackPulled(const std::string& packed, size_t& max_bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_PROTO_PACKED_PULL_H_
