// Pins every offset of every version of NCCL's profiler interface, on LP64. Offsets count from the begin of the
// descriptor, whose events begin at 24. Nothing here ends up in the library.

#include <cstddef>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_abi_descriptors.h"

namespace lockstep::nccl_abi {
namespace {

constexpr size_t kEvent = 24;

#define AT(type, field, offset) static_assert(kEvent + offsetof(type, field) == (offset))
template <typename D, typename TypeField, size_t kBytes>
constexpr bool HasHead() {
  return offsetof(D, type) == 0 && sizeof(D::type) == sizeof(TypeField) && offsetof(D, parent) == 8 &&
         offsetof(D, rank) == 16 && offsetof(D, coll) == kEvent && offsetof(D, p2p) == kEvent &&
         offsetof(D, proxy_op) == kEvent && offsetof(D, kernel_channel) == kEvent && offsetof(D, coll_api) == kEvent &&
         sizeof(D) == kBytes;
}

static_assert(HasHead<DescriptorV1, uint8_t, 120>());
static_assert(HasHead<DescriptorV2, uint8_t, 128>());
static_assert(HasHead<DescriptorV3, uint8_t, 120>());
static_assert(HasHead<DescriptorV4, uint8_t, 104>());
static_assert(HasHead<DescriptorV5, uint64_t, 112>());
static_assert(HasHead<DescriptorV6, uint64_t, 112>());
static_assert(HasHead<DescriptorV7, uint64_t, 136>());
static_assert(sizeof(StateArgumentsV1) == 16);
static_assert(sizeof(StateArgumentsV4) == 8);
static_assert(offsetof(StateArgumentsV1, proxy_op.steps) == 8);

using Table = ProfilerTable<InitV5, DescriptorV5, StateArgumentsV4>;
static_assert(offsetof(Table, name) == 0 && offsetof(Table, init) == 8 && offsetof(Table, start_event) == 16);
static_assert(offsetof(Table, stop_event) == 24 && offsetof(Table, record_event_state) == 32);
static_assert(offsetof(Table, finalize) == 40 && sizeof(Table) == 48);

AT(CollV1, name, 24);
AT(CollV1, comm_hash, 32);
AT(CollV1, sequence, 40);
AT(CollV1, function, 48);
AT(CollV1, send_buffer, 56);
AT(CollV1, receive_buffer, 64);
AT(CollV1, count, 72);
AT(CollV1, root, 80);
AT(CollV1, datatype, 84);
AT(CollV1, reduction, 88);
AT(CollV1, traffic_bytes, 96);
AT(CollV1, channels, 104);
AT(CollV1, warps, 105);
AT(CollV1, algorithm, 106);
AT(CollV1, protocol, 107);
AT(CollV1, is_collnet, 108);
AT(CollV1, is_nvls, 112);

AT(CollV2, name, 24);
AT(CollV2, comm_hash, 32);
AT(CollV2, sequence, 40);
AT(CollV2, function, 48);
AT(CollV2, send_buffer, 56);
AT(CollV2, receive_buffer, 64);
AT(CollV2, count, 72);
AT(CollV2, root, 80);
AT(CollV2, datatype, 88);
AT(CollV2, traffic_bytes, 96);
AT(CollV2, channels, 104);
AT(CollV2, warps, 105);
AT(CollV2, algorithm, 112);
AT(CollV2, protocol, 120);

AT(CollV3, name, 24);
AT(CollV3, comm_hash, 32);
AT(CollV3, sequence, 40);
AT(CollV3, function, 48);
AT(CollV3, send_buffer, 56);
AT(CollV3, receive_buffer, 64);
AT(CollV3, count, 72);
AT(CollV3, root, 80);
AT(CollV3, datatype, 88);
AT(CollV3, channels, 96);
AT(CollV3, warps, 97);
AT(CollV3, algorithm, 104);
AT(CollV3, protocol, 112);

AT(CollV4, sequence, 24);
AT(CollV4, function, 32);
AT(CollV4, send_buffer, 40);
AT(CollV4, receive_buffer, 48);
AT(CollV4, count, 56);
AT(CollV4, root, 64);
AT(CollV4, datatype, 72);
AT(CollV4, channels, 80);
AT(CollV4, warps, 81);
AT(CollV4, algorithm, 88);
AT(CollV4, protocol, 96);

AT(CollV5, sequence, 24);
AT(CollV5, function, 32);
AT(CollV5, send_buffer, 40);
AT(CollV5, receive_buffer, 48);
AT(CollV5, count, 56);
AT(CollV5, root, 64);
AT(CollV5, datatype, 72);
AT(CollV5, channels, 80);
AT(CollV5, warps, 81);
AT(CollV5, algorithm, 88);
AT(CollV5, protocol, 96);
AT(CollV5, parent_group, 104);

AT(CollV7, sequence, 24);
AT(CollV7, function, 32);
AT(CollV7, send_buffer, 40);
AT(CollV7, receive_buffer, 48);
AT(CollV7, count, 56);
AT(CollV7, root, 64);
AT(CollV7, datatype, 72);
AT(CollV7, channels, 80);
AT(CollV7, warps, 81);
AT(CollV7, algorithm, 88);
AT(CollV7, protocol, 96);
AT(CollV7, parent_group, 104);
AT(CollV7, kernel_variant, 112);
AT(CollV7, is_symmetric, 120);
AT(CollV7, user_tag, 128);

AT(P2pV1, name, 24);
AT(P2pV1, comm_hash, 32);
AT(P2pV1, function, 40);
AT(P2pV1, buffer, 48);
AT(P2pV1, datatype, 56);
AT(P2pV1, count, 64);
AT(P2pV1, peer, 72);

AT(P2pV2, name, 24);
AT(P2pV2, comm_hash, 32);
AT(P2pV2, function, 40);
AT(P2pV2, buffer, 48);
AT(P2pV2, datatype, 56);
AT(P2pV2, count, 64);
AT(P2pV2, peer, 72);
static_assert(sizeof(P2pV1::function) == 1 && sizeof(P2pV2::function) == 8);
static_assert(sizeof(P2pV1::datatype) == 1 && sizeof(P2pV2::datatype) == 8);
static_assert(sizeof(CollV1::function) == 1 && sizeof(CollV2::function) == 8);

AT(P2pV4, function, 24);
AT(P2pV4, buffer, 32);
AT(P2pV4, datatype, 40);
AT(P2pV4, count, 48);
AT(P2pV4, peer, 56);
AT(P2pV4, channels, 60);

AT(P2pV5, function, 24);
AT(P2pV5, buffer, 32);
AT(P2pV5, datatype, 40);
AT(P2pV5, count, 48);
AT(P2pV5, peer, 56);
AT(P2pV5, channels, 60);
AT(P2pV5, parent_group, 64);

AT(P2pV7, function, 24);
AT(P2pV7, buffer, 32);
AT(P2pV7, datatype, 40);
AT(P2pV7, count, 48);
AT(P2pV7, peer, 56);
AT(P2pV7, channels, 60);
AT(P2pV7, parent_group, 64);
AT(P2pV7, user_tag, 72);

AT(ProxyOp, pid, 24);
AT(ProxyOp, channel, 28);
AT(ProxyOp, peer, 32);
AT(ProxyOp, step_count, 36);
AT(ProxyOp, chunk_bytes, 40);
AT(ProxyOp, is_send, 44);
AT(ProxyStep, step, 24);
AT(KernelChannel, channel, 24);
AT(KernelChannel, gpu_timer_ns, 32);

AT(CollApi, function, 24);
AT(CollApi, count, 32);
AT(CollApi, datatype, 40);
AT(CollApi, root, 48);
AT(CollApi, stream, 56);
AT(CollApi, is_captured, 64);

AT(P2pApi, function, 24);
AT(P2pApi, count, 32);
AT(P2pApi, datatype, 40);
AT(P2pApi, stream, 48);
AT(P2pApi, is_captured, 56);

AT(CeCollV6, sequence, 24);
AT(CeCollV6, function, 32);
AT(CeCollV6, send_buffer, 40);
AT(CeCollV6, receive_buffer, 48);
AT(CeCollV6, count, 56);
AT(CeCollV6, root, 64);
AT(CeCollV6, datatype, 72);
AT(CeCollV6, synchronization, 80);
AT(CeCollV6, synchronizes_within_batch, 88);
AT(CeCollV6, batch_bytes, 92);
AT(CeCollV6, batches, 96);
AT(CeCollV6, ce_sequence, 100);
AT(CeCollV6, stream, 104);

#undef AT

}  // namespace
}  // namespace lockstep::nccl_abi
