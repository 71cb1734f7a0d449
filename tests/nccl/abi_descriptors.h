// Event descriptors and state arguments of NCCL's profiler plugin interface, versions 1 to 7, as the driver fills them.
// abi_offsets.cc pins the offset of every field. Field names follow this project; the order is the interface.
//
// A descriptor is a header (type, parent, rank) and one body. Pointers are borrowed for the call. Plain values;
// thread-compatible.

#ifndef LOCKSTEP_TESTS_NCCL_ABI_DESCRIPTORS_H_
#define LOCKSTEP_TESTS_NCCL_ABI_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>

namespace lockstep::nccl {

// ---- Bodies that every version shares ----

struct ProxyOpBody {
  int32_t pid;
  uint8_t channel;
  int32_t peer;
  int32_t steps;
  int32_t chunk_bytes;
  int32_t is_send;
};
struct ProxyStepBody {
  int32_t step;
};
struct KernelChannelBodyV3 {
  uint8_t channel;
};
struct KernelChannelBodyV4 {
  uint8_t channel;
  uint64_t gpu_time;
};
struct NetPluginBody {
  int64_t id;
  void* data;
};

// ---- Bodies by version ----

struct CollectiveV1 {
  const char* name;
  uint64_t communicator;
  uint64_t sequence;
  uint8_t function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int32_t root;
  uint8_t datatype;
  uint32_t reduction;
  size_t traffic_bytes;
  uint8_t channels;
  uint8_t warps;
  uint8_t algorithm;
  uint8_t protocol;
  int32_t is_collnet;
  int32_t is_nvls;
};
struct CollectiveV2 {
  const char* name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  size_t traffic_bytes;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct CollectiveV3 {
  const char* name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct CollectiveV4 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct CollectiveV5 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* parent_group;
};
struct CollectiveV7 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* parent_group;
  const char* kernel_variant;
  bool is_symmetric;
  uint64_t user_tag;
};

struct PointToPointV1 {
  const char* name;
  uint64_t communicator;
  uint8_t function;
  void* buffer;
  uint8_t datatype;
  size_t count;
  int32_t peer;
};
struct PointToPointV2 {
  const char* name;
  uint64_t communicator;
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int32_t peer;
};
struct PointToPointV4 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int32_t peer;
  uint8_t channels;
};
struct PointToPointV5 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int32_t peer;
  uint8_t channels;
  void* parent_group;
};
struct PointToPointV7 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int32_t peer;
  uint8_t channels;
  void* parent_group;
  uint64_t user_tag;
};

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_ABI_DESCRIPTORS_H_
