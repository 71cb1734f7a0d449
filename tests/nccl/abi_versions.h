// What belongs together in each version of NCCL's profiler plugin interface: Abi<7>::Descriptor, Abi<7>::State.
// abi_offsets.cc pins every offset and size. Plain values; thread-compatible.

#ifndef LOCKSTEP_TESTS_NCCL_ABI_VERSIONS_H_
#define LOCKSTEP_TESTS_NCCL_ABI_VERSIONS_H_

#include <cstddef>
#include <cstdint>

#include "tests/nccl/abi_descriptors.h"

namespace lockstep::nccl {

// ---- Bodies that came with v5 (calls as the program made them), v6 (copy engines) and v7 (phases of a kernel) ----

struct GroupApiBody {
  bool is_graph_captured;
  int32_t depth;
};
struct CollectiveApiV5 {
  const char* function;
  size_t count;
  const char* datatype;
  int32_t root;
  void* stream;
  bool is_graph_captured;
};
struct CollectiveApiV7 {
  const char* function;
  size_t count;
  const char* datatype;
  int32_t root;
  void* stream;
  bool is_graph_captured;
  uint64_t user_tag;
};
struct PointToPointApiV5 {
  const char* function;
  size_t count;
  const char* datatype;
  void* stream;
  bool is_graph_captured;
};
struct PointToPointApiV7 {
  const char* function;
  size_t count;
  const char* datatype;
  void* stream;
  bool is_graph_captured;
  uint64_t user_tag;
};
struct KernelLaunchBody {
  void* stream;
};
struct CopyEngineCollectiveV6 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  const char* sync_strategy;
  bool has_intra_batch_sync;
  uint32_t batch_size;
  uint32_t batches;
  uint32_t copy_engine_sequence;
  void* stream;
};
struct CopyEngineCollectiveV7 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  const char* sync_strategy;
  bool has_intra_batch_sync;
  uint32_t batch_size;
  uint32_t batches;
  uint32_t copy_engine_sequence;
  void* stream;
  uint64_t user_tag;
};
struct CopyEngineSyncBody {
  bool is_complete;
  int32_t ranks;
};
struct CopyEngineBatchBody {
  int32_t operations;
  size_t total_bytes;
  bool uses_intra_sync;
};
struct KernelPhaseBody {
  uint8_t channel;
  uint8_t phase;  // 0 = initial sync, 1 = compute, 2 = final sync
  const char* name;
  uint64_t gpu_time;
};

// ---- Descriptors ----

template <typename Type, typename Body>
struct Descriptor {
  Type type;  // EventType
  void* parent;
  int32_t rank;
  Body body;
};

template <typename Collective, typename PointToPoint, typename KernelChannel>
union BasicBody {
  Collective coll;
  PointToPoint p2p;
  ProxyOpBody proxy_op;
  ProxyStepBody proxy_step;
  KernelChannel kernel_channel;  // not sent before v3
  NetPluginBody net_plugin;      // not sent before v3
};

template <typename Collective, typename PointToPoint, typename CollectiveApi, typename PointToPointApi,
          typename CopyEngineCollective>
union ApiBody {
  Collective coll;
  PointToPoint p2p;
  ProxyOpBody proxy_op;
  ProxyStepBody proxy_step;
  KernelChannelBodyV4 kernel_channel;
  NetPluginBody net_plugin;
  GroupApiBody group_api;
  CollectiveApi coll_api;
  PointToPointApi p2p_api;
  KernelLaunchBody kernel_launch;
  CopyEngineCollective ce_coll;  // not sent before v6, like the next two
  CopyEngineSyncBody ce_sync;
  CopyEngineBatchBody ce_batch;
  KernelPhaseBody kernel_phase;  // not sent before v7
};

// ---- State arguments ----

union OldState {
  struct {
    size_t transferred_bytes;
    int32_t steps;
  } proxy_op;
  int32_t appended_operations;
};
union NewState {
  size_t transferred_bytes;
  int32_t appended_operations;
  void* net_plugin_data;
  uint64_t gpu_time;
};

// ---- Versions ----

template <int kVersion>
struct Abi;
template <>
struct Abi<1> {
  using Descriptor = nccl::Descriptor<uint8_t, BasicBody<CollectiveV1, PointToPointV1, KernelChannelBodyV3>>;
  using State = OldState;
};
template <>
struct Abi<2> {
  using Descriptor = nccl::Descriptor<uint8_t, BasicBody<CollectiveV2, PointToPointV2, KernelChannelBodyV3>>;
  using State = OldState;
};
template <>
struct Abi<3> {
  using Descriptor = nccl::Descriptor<uint8_t, BasicBody<CollectiveV3, PointToPointV2, KernelChannelBodyV3>>;
  using State = OldState;
};
template <>
struct Abi<4> {
  using Descriptor = nccl::Descriptor<uint8_t, BasicBody<CollectiveV4, PointToPointV4, KernelChannelBodyV4>>;
  using State = NewState;
};
template <>
struct Abi<5> {
  using Descriptor = nccl::Descriptor<
      uint64_t, ApiBody<CollectiveV5, PointToPointV5, CollectiveApiV5, PointToPointApiV5, CopyEngineCollectiveV6>>;
  using State = NewState;
};
template <>
struct Abi<6> : Abi<5> {};
template <>
struct Abi<7> {
  using Descriptor = nccl::Descriptor<
      uint64_t, ApiBody<CollectiveV7, PointToPointV7, CollectiveApiV7, PointToPointApiV7, CopyEngineCollectiveV7>>;
  using State = NewState;
};

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_ABI_VERSIONS_H_
