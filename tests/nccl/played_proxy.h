// The network proxy of one operation, played as NCCL's progress thread would: operations per channel, their steps and
// the states that each step goes through, and the same again from another process (PXN).

#ifndef LOCKSTEP_TESTS_NCCL_PLAYED_PROXY_H_
#define LOCKSTEP_TESTS_NCCL_PLAYED_PROXY_H_

#include <cstdint>
#include <map>
#include <tuple>

#include "base/random.h"
#include "tests/nccl/played_rank.h"

namespace lockstep::nccl {

// What the transfers with one peer waited for, as far as the outside can know it: between the return of one call and
// the begin of the next at least, between begin and return at most. Order of the waits as in ring::TransferWaits.
// Thread-compatible.
struct PlayedWaits {
  uint64_t steps = 0;
  uint64_t bytes = 0;
  int64_t least_ns[3] = {};
  int64_t most_ns[3] = {};
};
// By communicator, rank of this side, peer, and whether this side sends.
using WaitTable = std::map<std::tuple<uint64_t, int32_t, int32_t, bool>, PlayedWaits>;

// Plays the proxy of `operation` if its mask asks for any of it; peers are the neighbours in the ring, or the peer of a
// Send or Recv. REQUIRES: called from the progress thread, between launch and end.
void PlayProxy(PlayedRank& rank, PlayedOperation& operation, Random& random, WaitTable& waits);

// Another process's proxy operation, delivered here with a parent that means nothing in this process.
void PlayForeignProxy(PlayedRank& rank, const PlayedOperation& operation, Random& random);

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_PLAYED_PROXY_H_
