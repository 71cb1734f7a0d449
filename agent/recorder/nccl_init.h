// The three shapes of init that NCCL's profiler interface has had, and what each tells of a communicator.
//
// Pure but for the functions that it is given; thread-safe as they are.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_INIT_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_INIT_H_

#include <cstdint>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_recorder.h"

namespace lockstep::ring {

// Makes the context of a communicator, for NCCL to hand back with every event.
using OpenFunction = nccl_abi::Result (*)(const NcclCommunicatorStart& start, void** context);

// init() of version kAbi, by the arguments that it has: InitEntry<5, Open>(nccl_abi::InitV5{}). What calls it is NCCL
// itself, so that the address behind it is in NCCL's library.
template <int kAbi, OpenFunction kOpen>
nccl_abi::InitV1 InitEntry(nccl_abi::InitV1) {
  return [](void** context, int* mask) {
    return kOpen({.abi = kAbi, .mask = mask, .caller = __builtin_return_address(0)}, context);
  };
}
template <int kAbi, OpenFunction kOpen>
nccl_abi::InitV4 InitEntry(nccl_abi::InitV4) {
  return [](void** context, int* mask, const char* name, uint64_t hash, int nodes, int size, int rank,
            nccl_abi::Logger log) {
    return kOpen({kAbi, mask, hash, name, nodes, size, rank, log, __builtin_return_address(0)}, context);
  };
}
template <int kAbi, OpenFunction kOpen>
nccl_abi::InitV5 InitEntry(nccl_abi::InitV5) {
  return [](void** context, uint64_t hash, int* mask, const char* name, int nodes, int size, int rank,
            nccl_abi::Logger log) {
    return kOpen({kAbi, mask, hash, name, nodes, size, rank, log, __builtin_return_address(0)}, context);
  };
}

// The other way round: tells a second plugin what NCCL told us.
inline nccl_abi::Result CallInit(nccl_abi::InitV1 init, const NcclCommunicatorStart&, void** context, int* mask) {
  return init(context, mask);
}
inline nccl_abi::Result CallInit(nccl_abi::InitV4 init, const NcclCommunicatorStart& start, void** context, int* mask) {
  return init(context, mask, start.name, start.hash, start.node_count, start.size, start.rank, start.log);
}
inline nccl_abi::Result CallInit(nccl_abi::InitV5 init, const NcclCommunicatorStart& start, void** context, int* mask) {
  return init(context, start.hash, mask, start.name, start.node_count, start.size, start.rank, start.log);
}

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_INIT_H_
