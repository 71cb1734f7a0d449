// What a ring holds, communicator by communicator. A foreign process wrote it: what makes no sense is left out and
// counted. This is half of the gate of ring_report.h.
//
// A communicator of an impossible size, rank or count is left out with all that refers to it. A finished operation is
// left out if its times or its peer cannot be true (operation_columns.h), a transfer if it is with nobody. Cost O(what
// the snapshot holds). No I/O, no clock. Pure values; they point into the snapshot, which must outlive them unchanged.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_CONTENTS_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_CONTENTS_H_

#include <cstdint>
#include <vector>

#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/reading_time.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "agent/sources/rings/ring_tally.h"
#include "base/clock.h"

namespace lockstep {

// Only of a rank that has stood in something for this long is more told than the oldest operation of each communicator.
// A job that moves pays nothing. Far below the shortest standstill that is called a hang.
inline constexpr int64_t kStandsNanos = kNanosPerSecond;

// What is to be said about one entry of the communicator table.
struct CommunicatorContents {
  const ring::CommunicatorEntry* entry = nullptr;
  std::vector<const ring::OperationSlot*> finished;
  std::vector<const ring::OperationSlot*> in_flight;  // by rising ticket
  std::vector<const ring::TransferWaits*> transfers;
  uint32_t stride = 1;
};

struct RingContents {
  std::vector<CommunicatorContents> communicators;  // in the order of the table
  bool stands = false;  // in something that began long ago, or has called something long ago and begun nothing
};

bool HasStarted(const ring::OperationSlot& operation);

// Adds to `tally` what is left out, here or by the reader before.
RingContents SortRing(const RingSnapshot& snapshot, const ReadingTime& time, RingTally* tally);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_CONTENTS_H_
