// NCCL's profiler plugin interface, what all of its versions share: event types, states, results and the table of
// callbacks. Written from the documented binary layout; descriptors are in nccl_abi_descriptors.h.
//
// A plugin is a data symbol ncclProfiler_v<N> holding a ProfilerTable. NCCL takes the newest version that it knows.
// Plain declarations, nothing to call. Immutable.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_ABI_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_ABI_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace lockstep::nccl_abi {

inline constexpr int kOldestVersion = 1;
inline constexpr int kNewestVersion = 7;

using Result = int;  // ncclResult_t
inline constexpr Result kSuccess = 0;

// Event types, also the bits of the activation mask.
inline constexpr uint64_t kGroup = 1;
inline constexpr uint64_t kColl = 2;
inline constexpr uint64_t kP2p = 4;
inline constexpr uint64_t kProxyOp = 8;
inline constexpr uint64_t kProxyStep = 16;
inline constexpr uint64_t kProxyCtrl = 32;
inline constexpr uint64_t kKernelCh = 64;    // v3
inline constexpr uint64_t kNetPlugin = 128;  // v3
inline constexpr uint64_t kGroupApi = 256;   // v5
inline constexpr uint64_t kCollApi = 512;
inline constexpr uint64_t kP2pApi = 1024;
inline constexpr uint64_t kKernelLaunch = 2048;
inline constexpr uint64_t kCeColl = 4096;  // v6
inline constexpr uint64_t kCeSync = 8192;
inline constexpr uint64_t kCeBatch = 16384;
inline constexpr uint64_t kKernelPhase = 32768;  // v7

// States of recordEventState that a recorder listens to. The others are of no use to it.
inline constexpr int32_t kStepSendGpuWait = 8;
inline constexpr int32_t kStepSendWait = 9;
inline constexpr int32_t kStepRecvWait = 10;
inline constexpr int32_t kStepRecvFlushWait = 11;
inline constexpr int32_t kStepRecvGpuWait = 12;
inline constexpr int32_t kStepSendPeerWait = 20;  // v4
inline constexpr int32_t kKernelChStop = 22;

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
inline constexpr int kLogWarn = 2;
inline constexpr int kLogInfo = 3;
inline constexpr unsigned long kLogProfile = 0x4000;

using InitV1 = Result (*)(void** context, int* mask);
using InitV4 = Result (*)(void** context, int* mask, const char* comm_name, uint64_t comm_hash, int node_count,
                          int rank_count, int rank, Logger log);
using InitV5 = Result (*)(void** context, uint64_t comm_hash, int* mask, const char* comm_name, int node_count,
                          int rank_count, int rank, Logger log);

// The object behind a data symbol. NCCL reads it after dlopen and does not write to it.
template <typename Init, typename Descriptor, typename StateArguments>
struct ProfilerTable {
  const char* name;
  Init init;
  Result (*start_event)(void* context, void** handle, Descriptor* descriptor);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int32_t state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

// Events that look the same in every version that has them.
struct ProxyOp {
  pid_t pid;
  uint8_t channel;
  int32_t peer;
  int32_t step_count;
  int32_t chunk_bytes;
  int32_t is_send;
};
struct ProxyStep {
  int32_t step;
};
struct KernelChannel {
  uint8_t channel;
  uint64_t gpu_timer_ns;  // v4
};
struct CollApi {
  const char* function;
  size_t count;
  const char* datatype;
  int32_t root;
  void* stream;
  bool is_captured;
};
struct P2pApi {
  const char* function;
  size_t count;
  const char* datatype;
  void* stream;
  bool is_captured;
};
struct CeCollV6 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  const char* synchronization;
  bool synchronizes_within_batch;
  uint32_t batch_bytes;
  uint32_t batches;
  uint32_t ce_sequence;
  void* stream;
};

// Arguments of recordEventState; may be absent. Which member holds depends on the state.
union StateArgumentsV1 {
  struct {
    size_t transferred_bytes;
    int32_t steps;
  } proxy_op;
  struct {
    int32_t appended_proxy_ops;
  } proxy_control;
};
union StateArgumentsV4 {
  struct {
    size_t transferred_bytes;
  } proxy_step;
  struct {
    int32_t appended_proxy_ops;
  } proxy_control;
  struct {
    void* data;
  } net_plugin;
  struct {
    uint64_t gpu_timer_ns;
  } kernel_channel;
};

}  // namespace lockstep::nccl_abi

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_ABI_H_
