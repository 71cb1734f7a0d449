// The numbers of NCCL's profiler plugin interface that are the same in every version (1 to 7, NCCL 2.23 to 2.31), and
// the table of functions that a plugin exports as the data symbol `ncclProfiler_v<version>`.
//
// These declarations belong to the driver that plays NCCL in tests. The recorder has its own, written independently, so
// that a mistake on either side shows. LP64 Linux only. All values are pure constants.

#ifndef LOCKSTEP_TESTS_NCCL_ABI_VALUES_H_
#define LOCKSTEP_TESTS_NCCL_ABI_VALUES_H_

#include <cstdint>

namespace lockstep::nccl {

inline constexpr int kOldestVersion = 1;
inline constexpr int kNewestVersion = 7;

// What ncclGetVersion says of a sound release with that version of the interface, from 1.
inline constexpr int kReleases[] = {0, 22304, 22501, 22606, 22706, 22809, 23007, 23102};

// Event types; also the bits of the activation mask.
enum EventType : uint32_t {
  kGroup = 1 << 0,
  kColl = 1 << 1,
  kP2p = 1 << 2,
  kProxyOp = 1 << 3,
  kProxyStep = 1 << 4,
  kProxyCtrl = 1 << 5,
  kKernelCh = 1 << 6,   // from v3
  kNetPlugin = 1 << 7,  // from v3
  kGroupApi = 1 << 8,   // from v5, like the next three
  kCollApi = 1 << 9,
  kP2pApi = 1 << 10,
  kKernelLaunch = 1 << 11,
  kCeColl = 1 << 12,  // from v6, like the next two
  kCeSync = 1 << 13,
  kCeBatch = 1 << 14,
  kKernelPhase = 1 << 15,  // from v7
};

// States of recordEventState.
enum EventState : int32_t {
  kProxyStepSendGpuWait = 8,
  kProxyStepSendWait = 9,
  kProxyStepRecvWait = 10,
  kProxyStepRecvFlushWait = 11,
  kProxyStepRecvGpuWait = 12,
  kProxyCtrlIdle = 13,
  kProxyCtrlActive = 14,
  kProxyOpInProgress = 19,      // from v4
  kProxyStepSendPeerWait = 20,  // from v4
  kNetPluginUpdate = 21,
  kKernelChStop = 22,       // from v4 with a time
  kGroupStartApiStop = 23,  // from v5
  kGroupEndApiStart = 24,   // from v5
  kKernelPhaseStop = 31,    // v7
};

// States of a whole proxy operation; v1 to v3 only.
enum OldProxyState : int32_t {
  kProxyOpSendPosted = 0,
  kProxyOpSendRemFifoWait = 1,
  kProxyOpSendTransmitted = 2,
  kProxyOpSendDone = 3,
  kProxyOpRecvPosted = 4,
  kProxyOpRecvReceived = 5,
  kProxyOpRecvTransmitted = 6,
  kProxyOpRecvDone = 7,
};

enum Result : int32_t { kSuccess = 0, kSystemError = 2, kInternalError = 3 };

// NCCL's own log function, which a plugin may call.
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

// The three forms of init.
using InitV1 = int (*)(void** context, int* mask);
using InitV4 = int (*)(void** context, int* mask, const char* name, uint64_t hash, int nodes, int ranks, int rank,
                       Logger log);
using InitV5 = int (*)(void** context, uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank,
                       Logger log);

// Descriptors and state arguments differ by version; see abi_descriptors.h.
struct PluginTable {
  const char* name;
  void* init;  // InitV1 (v1-v3), InitV4 (v4) or InitV5 (v5-v7)
  int (*start_event)(void* context, void** handle, void* descriptor);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int32_t state, void* arguments);
  int (*finalize)(void* context);
};
static_assert(sizeof(PluginTable) == 48);

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_ABI_VALUES_H_
