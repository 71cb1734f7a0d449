// What one ring may take of a tick. A job writes its rings as it likes, and any user may make some: the agent's memory,
// its CPU and the room in its report are therefore divided, first among the users who own rings, then among the rings
// of each. Whoever makes many rings, or fills them with nonsense, takes from nobody but himself.
//
// 8 ranks of one user get 32,768 operations each, the whole of the largest ring that our recorders make. All that is
// held of rings at once: 32 MiB of operations, 8 MiB of communicators and 8 MiB of transfers, besides 8 MiB between two
// ticks (RingDirectory::kMaxKept). Pure; immutable.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_SHARES_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_SHARES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "agent/sources/rings/ring_reader.h"

namespace lockstep {

inline constexpr uint64_t kMaxOperationsPerTick = 262'144;
inline constexpr uint64_t kMaxCommunicatorsPerTick = 65'536;
inline constexpr uint64_t kMaxTransfersPerTick = 131'072;
// Operations read between two ticks from rings that would turn before the second one. 60 ms of CPU: a copy of a slot is
// made twice, at some 4 GB/s. Real jobs stay below 500,000 a second.
inline constexpr uint64_t kMaxReadAheadPerTick = 1'048'576;

// Of `total`, what each of the `claimants` of one of the `owners` gets; never 0, or it would be mute.
constexpr uint64_t FairShare(uint64_t total, size_t owners, size_t claimants) {
  return std::max<uint64_t>(total / std::max<size_t>(owners, 1) / std::max<size_t>(claimants, 1), 1);
}

// Of one of the `rings` of one of the `owners`.
constexpr RingAllowance FairAllowance(size_t owners, size_t rings) {
  RingAllowance allowance;
  allowance.operations = std::min(allowance.operations, FairShare(kMaxOperationsPerTick, owners, rings));
  allowance.communicators = static_cast<uint32_t>(
      std::min<uint64_t>(allowance.communicators, FairShare(kMaxCommunicatorsPerTick, owners, rings)));
  allowance.transfers =
      static_cast<uint32_t>(std::min<uint64_t>(allowance.transfers, FairShare(kMaxTransfersPerTick, owners, rings)));
  return allowance;
}

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_SHARES_H_
