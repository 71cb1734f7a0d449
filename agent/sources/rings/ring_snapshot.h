// What one look at a ring file yields: copies that the writing process can no longer change.
//
// Thread-compatible plain values. Everything in them is untrusted: a hostile process may have written any bytes, so
// that enums, times and counts may be out of range and texts may lack their NUL.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_SNAPSHOT_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_SNAPSHOT_H_

#include <cstdint>
#include <vector>

#include "agent/recorder/ring_format.h"

namespace lockstep {

// Entry `index` of the communicator table.
struct RingCommunicator {
  uint32_t index = 0;
  ring::CommunicatorEntry entry = {};
};

struct RingSnapshot {
  uint32_t state = 0;  // ring::RecorderState
  uint32_t disabled_reason = 0;
  ring::RingCounters counters = {};
  uint64_t active_mask = 0;
  ring::NcclStatus nccl = {};
  std::vector<ring::TransferWaits> transfers;   // those in use; none while nobody asks for them
  std::vector<RingCommunicator> communicators;  // those that can be read, freed ones included
  std::vector<ring::OperationSlot> finished;    // since the snapshot before, by rising ticket
  std::vector<ring::OperationSlot> in_flight;   // by rising ticket
  uint32_t stride = 1;                          // only sequences that are multiples of it are in `finished`
  uint64_t thinned = 0;                         // left out of `finished` for that
  uint64_t overwritten = 0;                     // handed out since then and gone before they could be read
  uint64_t skipped = 0;                         // not looked at: beyond the allowance of the ring
  uint64_t communicators_left_out = 0;          // entries not looked at, for the same reason
  uint64_t transfers_left_out = 0;              // rows not looked at, for the same reason
  uint64_t malformed = 0;                       // slots of this look that make no sense
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_SNAPSHOT_H_
