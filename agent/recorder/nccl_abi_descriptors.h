// Event descriptors of NCCL's profiler interface, versions 1 to 7, one struct for each layout of each event.
//
// Every offset is pinned in nccl_abi_offsets.cc. A descriptor begins with its type: read it with EventType(), because
// it is one byte up to version 4 and eight from version 5, and what lies beyond the one byte is not initialised. Texts
// are borrowed for the call and may be nullptr. Nothing beyond the size of the version in use may be read.
// Thread-compatible values.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_ABI_DESCRIPTORS_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_ABI_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>

#include "agent/recorder/nccl_abi.h"

namespace lockstep::nccl_abi {

struct CollV1 {
  const char* name;
  uint64_t comm_hash;
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
struct CollV2 {
  const char* name;
  uint64_t comm_hash;
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
struct CollV3 {
  const char* name;
  uint64_t comm_hash;
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
struct CollV4 {
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
struct CollV5 {
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
struct CollV7 {
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

struct P2pV1 {
  const char* name;
  uint64_t comm_hash;
  uint8_t function;
  void* buffer;
  uint8_t datatype;
  size_t count;
  int32_t peer;
};
struct P2pV2 {
  const char* name;
  uint64_t comm_hash;
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int32_t peer;
};
struct P2pV4 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int32_t peer;
  uint8_t channels;
};
struct P2pV5 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int32_t peer;
  uint8_t channels;
  void* parent_group;
};
struct P2pV7 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int32_t peer;
  uint8_t channels;
  void* parent_group;
  uint64_t user_tag;
};

// Where a version has no such event.
struct NoEvent {};

// A descriptor of any version, of the size that NCCL gives it.
template <typename TypeField, typename Coll, typename P2p, typename CeColl, size_t kBytes>
struct Descriptor {
  TypeField type;
  void* parent;
  int32_t rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelChannel kernel_channel;
    CollApi coll_api;
    P2pApi p2p_api;
    CeColl ce_coll;
    uint8_t bytes[kBytes - 24];
  };
};

using DescriptorV1 = Descriptor<uint8_t, CollV1, P2pV1, NoEvent, 120>;
using DescriptorV2 = Descriptor<uint8_t, CollV2, P2pV2, NoEvent, 128>;
using DescriptorV3 = Descriptor<uint8_t, CollV3, P2pV2, NoEvent, 120>;
using DescriptorV4 = Descriptor<uint8_t, CollV4, P2pV4, NoEvent, 104>;
using DescriptorV5 = Descriptor<uint64_t, CollV5, P2pV5, NoEvent, 112>;
using DescriptorV6 = Descriptor<uint64_t, CollV5, P2pV5, CeCollV6, 112>;
using DescriptorV7 = Descriptor<uint64_t, CollV7, P2pV7, CeCollV6, 136>;

}  // namespace lockstep::nccl_abi

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_ABI_DESCRIPTORS_H_
