// Pins the driver's declarations of every field of every version to the offsets of NCCL's headers, at compile time.
// The numbers were compiled from the headers of each release on LP64 Linux; nothing here runs.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tests/nccl/abi_versions.h"

namespace lockstep::nccl {

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

#define PIN(version, field, offset) static_assert(offsetof(Abi<version>::Descriptor, body.field) == offset)
#define PIN_HEADER(version, type_of_type, size, state_size)                              \
  static_assert(std::is_same_v<decltype(Abi<version>::Descriptor::type), type_of_type>); \
  static_assert(offsetof(Abi<version>::Descriptor, type) == 0);                          \
  static_assert(offsetof(Abi<version>::Descriptor, parent) == 8);                        \
  static_assert(offsetof(Abi<version>::Descriptor, rank) == 16);                         \
  static_assert(offsetof(Abi<version>::Descriptor, body) == 24);                         \
  static_assert(sizeof(Abi<version>::Descriptor) == size);                               \
  static_assert(sizeof(Abi<version>::State) == state_size)

// ---- v1 ----

PIN_HEADER(1, uint8_t, 120, 16);
PIN(1, coll.name, 24);
PIN(1, coll.communicator, 32);
PIN(1, coll.sequence, 40);
PIN(1, coll.function, 48);
PIN(1, coll.send_buffer, 56);
PIN(1, coll.receive_buffer, 64);
PIN(1, coll.count, 72);
PIN(1, coll.root, 80);
PIN(1, coll.datatype, 84);
PIN(1, coll.reduction, 88);
PIN(1, coll.traffic_bytes, 96);
PIN(1, coll.channels, 104);
PIN(1, coll.warps, 105);
PIN(1, coll.algorithm, 106);
PIN(1, coll.protocol, 107);
PIN(1, coll.is_collnet, 108);
PIN(1, coll.is_nvls, 112);
PIN(1, p2p.name, 24);
PIN(1, p2p.communicator, 32);
PIN(1, p2p.function, 40);
PIN(1, p2p.buffer, 48);
PIN(1, p2p.datatype, 56);
PIN(1, p2p.count, 64);
PIN(1, p2p.peer, 72);
PIN(1, proxy_op.pid, 24);
PIN(1, proxy_op.channel, 28);
PIN(1, proxy_op.peer, 32);
PIN(1, proxy_op.steps, 36);
PIN(1, proxy_op.chunk_bytes, 40);
PIN(1, proxy_op.is_send, 44);
PIN(1, proxy_step.step, 24);

// ---- v2 ----

PIN_HEADER(2, uint8_t, 128, 16);
PIN(2, coll.name, 24);
PIN(2, coll.communicator, 32);
PIN(2, coll.sequence, 40);
PIN(2, coll.function, 48);
PIN(2, coll.send_buffer, 56);
PIN(2, coll.receive_buffer, 64);
PIN(2, coll.count, 72);
PIN(2, coll.root, 80);
PIN(2, coll.datatype, 88);
PIN(2, coll.traffic_bytes, 96);
PIN(2, coll.channels, 104);
PIN(2, coll.warps, 105);
PIN(2, coll.algorithm, 112);
PIN(2, coll.protocol, 120);
PIN(2, p2p.name, 24);
PIN(2, p2p.communicator, 32);
PIN(2, p2p.function, 40);
PIN(2, p2p.buffer, 48);
PIN(2, p2p.datatype, 56);
PIN(2, p2p.count, 64);
PIN(2, p2p.peer, 72);
PIN(2, proxy_op.pid, 24);
PIN(2, proxy_op.channel, 28);
PIN(2, proxy_op.peer, 32);
PIN(2, proxy_op.steps, 36);
PIN(2, proxy_op.chunk_bytes, 40);
PIN(2, proxy_op.is_send, 44);
PIN(2, proxy_step.step, 24);

// ---- v3 ----

PIN_HEADER(3, uint8_t, 120, 16);
PIN(3, coll.name, 24);
PIN(3, coll.communicator, 32);
PIN(3, coll.sequence, 40);
PIN(3, coll.function, 48);
PIN(3, coll.send_buffer, 56);
PIN(3, coll.receive_buffer, 64);
PIN(3, coll.count, 72);
PIN(3, coll.root, 80);
PIN(3, coll.datatype, 88);
PIN(3, coll.channels, 96);
PIN(3, coll.warps, 97);
PIN(3, coll.algorithm, 104);
PIN(3, coll.protocol, 112);
PIN(3, p2p.name, 24);
PIN(3, p2p.communicator, 32);
PIN(3, p2p.function, 40);
PIN(3, p2p.buffer, 48);
PIN(3, p2p.datatype, 56);
PIN(3, p2p.count, 64);
PIN(3, p2p.peer, 72);
PIN(3, proxy_op.pid, 24);
PIN(3, proxy_op.channel, 28);
PIN(3, proxy_op.peer, 32);
PIN(3, proxy_op.steps, 36);
PIN(3, proxy_op.chunk_bytes, 40);
PIN(3, proxy_op.is_send, 44);
PIN(3, proxy_step.step, 24);
PIN(3, kernel_channel.channel, 24);
PIN(3, net_plugin.id, 24);
PIN(3, net_plugin.data, 32);

// ---- v4 ----

PIN_HEADER(4, uint8_t, 104, 8);
PIN(4, coll.sequence, 24);
PIN(4, coll.function, 32);
PIN(4, coll.send_buffer, 40);
PIN(4, coll.receive_buffer, 48);
PIN(4, coll.count, 56);
PIN(4, coll.root, 64);
PIN(4, coll.datatype, 72);
PIN(4, coll.channels, 80);
PIN(4, coll.warps, 81);
PIN(4, coll.algorithm, 88);
PIN(4, coll.protocol, 96);
PIN(4, p2p.function, 24);
PIN(4, p2p.buffer, 32);
PIN(4, p2p.datatype, 40);
PIN(4, p2p.count, 48);
PIN(4, p2p.peer, 56);
PIN(4, p2p.channels, 60);
PIN(4, proxy_op.pid, 24);
PIN(4, proxy_op.channel, 28);
PIN(4, proxy_op.peer, 32);
PIN(4, proxy_op.steps, 36);
PIN(4, proxy_op.chunk_bytes, 40);
PIN(4, proxy_op.is_send, 44);
PIN(4, proxy_step.step, 24);
PIN(4, kernel_channel.channel, 24);
PIN(4, kernel_channel.gpu_time, 32);
PIN(4, net_plugin.id, 24);
PIN(4, net_plugin.data, 32);

// ---- v5 ----

PIN_HEADER(5, uint64_t, 112, 8);
PIN(5, coll.sequence, 24);
PIN(5, coll.function, 32);
PIN(5, coll.send_buffer, 40);
PIN(5, coll.receive_buffer, 48);
PIN(5, coll.count, 56);
PIN(5, coll.root, 64);
PIN(5, coll.datatype, 72);
PIN(5, coll.channels, 80);
PIN(5, coll.warps, 81);
PIN(5, coll.algorithm, 88);
PIN(5, coll.protocol, 96);
PIN(5, coll.parent_group, 104);
PIN(5, p2p.function, 24);
PIN(5, p2p.buffer, 32);
PIN(5, p2p.datatype, 40);
PIN(5, p2p.count, 48);
PIN(5, p2p.peer, 56);
PIN(5, p2p.channels, 60);
PIN(5, p2p.parent_group, 64);
PIN(5, proxy_op.pid, 24);
PIN(5, proxy_op.channel, 28);
PIN(5, proxy_op.peer, 32);
PIN(5, proxy_op.steps, 36);
PIN(5, proxy_op.chunk_bytes, 40);
PIN(5, proxy_op.is_send, 44);
PIN(5, proxy_step.step, 24);
PIN(5, kernel_channel.channel, 24);
PIN(5, kernel_channel.gpu_time, 32);
PIN(5, net_plugin.id, 24);
PIN(5, net_plugin.data, 32);
PIN(5, group_api.is_graph_captured, 24);
PIN(5, group_api.depth, 28);
PIN(5, coll_api.function, 24);
PIN(5, coll_api.count, 32);
PIN(5, coll_api.datatype, 40);
PIN(5, coll_api.root, 48);
PIN(5, coll_api.stream, 56);
PIN(5, coll_api.is_graph_captured, 64);
PIN(5, p2p_api.function, 24);
PIN(5, p2p_api.count, 32);
PIN(5, p2p_api.datatype, 40);
PIN(5, p2p_api.stream, 48);
PIN(5, p2p_api.is_graph_captured, 56);
PIN(5, kernel_launch.stream, 24);

// ---- v6 ----

PIN_HEADER(6, uint64_t, 112, 8);
PIN(6, coll.sequence, 24);
PIN(6, coll.function, 32);
PIN(6, coll.send_buffer, 40);
PIN(6, coll.receive_buffer, 48);
PIN(6, coll.count, 56);
PIN(6, coll.root, 64);
PIN(6, coll.datatype, 72);
PIN(6, coll.channels, 80);
PIN(6, coll.warps, 81);
PIN(6, coll.algorithm, 88);
PIN(6, coll.protocol, 96);
PIN(6, coll.parent_group, 104);
PIN(6, p2p.function, 24);
PIN(6, p2p.buffer, 32);
PIN(6, p2p.datatype, 40);
PIN(6, p2p.count, 48);
PIN(6, p2p.peer, 56);
PIN(6, p2p.channels, 60);
PIN(6, p2p.parent_group, 64);
PIN(6, proxy_op.pid, 24);
PIN(6, proxy_op.channel, 28);
PIN(6, proxy_op.peer, 32);
PIN(6, proxy_op.steps, 36);
PIN(6, proxy_op.chunk_bytes, 40);
PIN(6, proxy_op.is_send, 44);
PIN(6, proxy_step.step, 24);
PIN(6, kernel_channel.channel, 24);
PIN(6, kernel_channel.gpu_time, 32);
PIN(6, net_plugin.id, 24);
PIN(6, net_plugin.data, 32);
PIN(6, group_api.is_graph_captured, 24);
PIN(6, group_api.depth, 28);
PIN(6, coll_api.function, 24);
PIN(6, coll_api.count, 32);
PIN(6, coll_api.datatype, 40);
PIN(6, coll_api.root, 48);
PIN(6, coll_api.stream, 56);
PIN(6, coll_api.is_graph_captured, 64);
PIN(6, p2p_api.function, 24);
PIN(6, p2p_api.count, 32);
PIN(6, p2p_api.datatype, 40);
PIN(6, p2p_api.stream, 48);
PIN(6, p2p_api.is_graph_captured, 56);
PIN(6, kernel_launch.stream, 24);
PIN(6, ce_coll.sequence, 24);
PIN(6, ce_coll.function, 32);
PIN(6, ce_coll.send_buffer, 40);
PIN(6, ce_coll.receive_buffer, 48);
PIN(6, ce_coll.count, 56);
PIN(6, ce_coll.root, 64);
PIN(6, ce_coll.datatype, 72);
PIN(6, ce_coll.sync_strategy, 80);
PIN(6, ce_coll.has_intra_batch_sync, 88);
PIN(6, ce_coll.batch_size, 92);
PIN(6, ce_coll.batches, 96);
PIN(6, ce_coll.copy_engine_sequence, 100);
PIN(6, ce_coll.stream, 104);
PIN(6, ce_sync.is_complete, 24);
PIN(6, ce_sync.ranks, 28);
PIN(6, ce_batch.operations, 24);
PIN(6, ce_batch.total_bytes, 32);
PIN(6, ce_batch.uses_intra_sync, 40);

// ---- v7 ----

PIN_HEADER(7, uint64_t, 136, 8);
PIN(7, coll.sequence, 24);
PIN(7, coll.function, 32);
PIN(7, coll.send_buffer, 40);
PIN(7, coll.receive_buffer, 48);
PIN(7, coll.count, 56);
PIN(7, coll.root, 64);
PIN(7, coll.datatype, 72);
PIN(7, coll.channels, 80);
PIN(7, coll.warps, 81);
PIN(7, coll.algorithm, 88);
PIN(7, coll.protocol, 96);
PIN(7, coll.parent_group, 104);
PIN(7, coll.kernel_variant, 112);
PIN(7, coll.is_symmetric, 120);
PIN(7, coll.user_tag, 128);
PIN(7, p2p.function, 24);
PIN(7, p2p.buffer, 32);
PIN(7, p2p.datatype, 40);
PIN(7, p2p.count, 48);
PIN(7, p2p.peer, 56);
PIN(7, p2p.channels, 60);
PIN(7, p2p.parent_group, 64);
PIN(7, p2p.user_tag, 72);
PIN(7, proxy_op.pid, 24);
PIN(7, proxy_op.channel, 28);
PIN(7, proxy_op.peer, 32);
PIN(7, proxy_op.steps, 36);
PIN(7, proxy_op.chunk_bytes, 40);
PIN(7, proxy_op.is_send, 44);
PIN(7, proxy_step.step, 24);
PIN(7, kernel_channel.channel, 24);
PIN(7, kernel_channel.gpu_time, 32);
PIN(7, net_plugin.id, 24);
PIN(7, net_plugin.data, 32);
PIN(7, group_api.is_graph_captured, 24);
PIN(7, group_api.depth, 28);
PIN(7, coll_api.function, 24);
PIN(7, coll_api.count, 32);
PIN(7, coll_api.datatype, 40);
PIN(7, coll_api.root, 48);
PIN(7, coll_api.stream, 56);
PIN(7, coll_api.is_graph_captured, 64);
PIN(7, coll_api.user_tag, 72);
PIN(7, p2p_api.function, 24);
PIN(7, p2p_api.count, 32);
PIN(7, p2p_api.datatype, 40);
PIN(7, p2p_api.stream, 48);
PIN(7, p2p_api.is_graph_captured, 56);
PIN(7, p2p_api.user_tag, 64);
PIN(7, kernel_launch.stream, 24);
PIN(7, ce_coll.sequence, 24);
PIN(7, ce_coll.function, 32);
PIN(7, ce_coll.send_buffer, 40);
PIN(7, ce_coll.receive_buffer, 48);
PIN(7, ce_coll.count, 56);
PIN(7, ce_coll.root, 64);
PIN(7, ce_coll.datatype, 72);
PIN(7, ce_coll.sync_strategy, 80);
PIN(7, ce_coll.has_intra_batch_sync, 88);
PIN(7, ce_coll.batch_size, 92);
PIN(7, ce_coll.batches, 96);
PIN(7, ce_coll.copy_engine_sequence, 100);
PIN(7, ce_coll.stream, 104);
PIN(7, ce_coll.user_tag, 112);
PIN(7, ce_sync.is_complete, 24);
PIN(7, ce_sync.ranks, 28);
PIN(7, ce_batch.operations, 24);
PIN(7, ce_batch.total_bytes, 32);
PIN(7, ce_batch.uses_intra_sync, 40);
PIN(7, kernel_phase.channel, 24);
PIN(7, kernel_phase.phase, 25);
PIN(7, kernel_phase.name, 32);
PIN(7, kernel_phase.gpu_time, 40);

static_assert(offsetof(OldState, proxy_op.transferred_bytes) == 0);
static_assert(offsetof(OldState, proxy_op.steps) == 8);
static_assert(offsetof(OldState, appended_operations) == 0);
static_assert(offsetof(NewState, gpu_time) == 0);

}  // namespace lockstep::nccl
