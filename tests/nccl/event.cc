#include "tests/nccl/event.h"

#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "tests/nccl/abi_versions.h"

namespace lockstep::nccl {
namespace {

// What NCCL's handle variables hold before a plugin writes them.
void* const kStaleHandle = reinterpret_cast<void*>(uintptr_t{0xDEAD0});

constexpr uint8_t kSumV1 = 0;
constexpr uint8_t kRingV1 = 1;
constexpr uint8_t kSimpleV1 = 2;

void* Buffer(int number) { return reinterpret_cast<void*>(uintptr_t{0x7F0000000000} + (uintptr_t{4096} * number)); }

const char* NameOrNull(const Communicator& communicator) {
  return communicator.name.empty() ? nullptr : communicator.name.c_str();
}

// Fields that only some versions have are filled where they exist.
template <typename Body>
void FillCollective(const Event& event, Body& body) {
  const Operation& operation = *event.operation;
  if constexpr (requires { body.name; }) {
    body.name = NameOrNull(*event.communicator);
    body.communicator = event.communicator->id;
  }
  body.sequence = operation.sequence;
  if constexpr (requires { body.reduction; }) {
    body.function = operation.function->v1_value;
    body.datatype = operation.datatype->v1_value;
    body.reduction = kSumV1;
    body.algorithm = kRingV1;
    body.protocol = kSimpleV1;
  } else {
    body.function = operation.function->name;
    body.datatype = operation.datatype->name;
    body.algorithm = operation.algorithm;
    body.protocol = operation.protocol;
  }
  if constexpr (requires { body.traffic_bytes; }) body.traffic_bytes = operation.count * operation.datatype->size_bytes;
  body.send_buffer = Buffer(1);
  body.receive_buffer = Buffer(2);
  body.count = operation.count;
  body.root = operation.root;
  body.channels = static_cast<uint8_t>(operation.channels);
  body.warps = 8;
  if constexpr (requires { body.parent_group; }) body.parent_group = event.parent_group;
  if constexpr (requires { body.kernel_variant; }) {
    body.kernel_variant = operation.is_symmetric ? "AllReduce_RSxLD_AGxST" : "RING_SIMPLE";
    body.is_symmetric = operation.is_symmetric;
    body.user_tag = operation.user_tag;
  }
}

template <typename Body>
void FillPointToPoint(const Event& event, Body& body) {
  const Operation& operation = *event.operation;
  if constexpr (requires { body.name; }) {
    body.name = NameOrNull(*event.communicator);
    body.communicator = event.communicator->id;
  }
  if constexpr (requires { body.function = uint8_t{1}; }) {
    body.function = operation.function->v1_value;
    body.datatype = operation.datatype->v1_value;
  } else {
    body.function = operation.function->name;
    body.datatype = operation.datatype->name;
  }
  body.buffer = Buffer(3);
  body.count = operation.count;
  body.peer = operation.peer;
  if constexpr (requires { body.channels; }) body.channels = static_cast<uint8_t>(operation.channels);
  if constexpr (requires { body.parent_group; }) body.parent_group = event.parent_group;
  if constexpr (requires { body.user_tag; }) body.user_tag = operation.user_tag;
}

template <typename Body>
void FillApi(const Event& event, Body& body) {
  const Operation& operation = *event.operation;
  body.function = operation.function->name;
  body.count = operation.count;
  body.datatype = operation.datatype->name;
  if constexpr (requires { body.root; }) body.root = operation.root;
  body.stream = Buffer(4);
  body.is_graph_captured = operation.is_graph_captured;
  if constexpr (requires { body.user_tag; }) body.user_tag = operation.user_tag;
}

template <typename Body>
void FillCopyEngine(const Event& event, Body& body) {
  if (event.type == kCeColl) {
    const Operation& operation = *event.operation;
    body.ce_coll.sequence = operation.sequence;
    body.ce_coll.function = operation.function->name;
    body.ce_coll.send_buffer = Buffer(1);
    body.ce_coll.receive_buffer = Buffer(2);
    body.ce_coll.count = operation.count;
    body.ce_coll.root = operation.root;
    body.ce_coll.datatype = operation.datatype->name;
    body.ce_coll.sync_strategy = "MC";
    body.ce_coll.batch_size = 4;
    body.ce_coll.batches = 1;
    body.ce_coll.copy_engine_sequence = static_cast<uint32_t>(operation.sequence);
    body.ce_coll.stream = Buffer(4);
    if constexpr (requires { body.ce_coll.user_tag; }) body.ce_coll.user_tag = operation.user_tag;
  } else if (event.type == kCeSync) {
    body.ce_sync = {.is_complete = event.step != 0, .ranks = event.communicator->ranks};
  } else {
    const Operation& operation = *event.operation;
    body.ce_batch = {.operations = 4, .total_bytes = operation.count * operation.datatype->size_bytes};
  }
}

template <typename Body>
void FillProxy(const Event& event, Body& body) {
  if (event.type == kProxyOp) {
    body.proxy_op = {.pid = event.pid,
                     .channel = static_cast<uint8_t>(event.channel),
                     .peer = event.peer,
                     .steps = event.step,
                     .chunk_bytes = 1 << 17,
                     .is_send = event.is_send};
  } else if (event.type == kProxyStep) {
    body.proxy_step.step = event.step;
  } else if (event.type == kNetPlugin) {
    body.net_plugin = {.id = event.net_id, .data = event.net_data};
  }
}

// Events of the program's calls and of the kernel; nothing before v5 but the kernel.
template <typename Body>
void FillApiOrKernel(const Event& event, Body& body) {
  if (event.type == kKernelCh) {
    body.kernel_channel.channel = static_cast<uint8_t>(event.channel);
    if constexpr (requires { body.kernel_channel.gpu_time; }) body.kernel_channel.gpu_time = event.gpu_time;
  }
  if constexpr (requires { body.group_api; }) {
    if (event.type == kGroupApi) {
      const bool is_captured = event.operation != nullptr && event.operation->is_graph_captured;
      body.group_api = {.is_graph_captured = is_captured, .depth = event.depth};
    } else if (event.type == kCollApi) {
      FillApi(event, body.coll_api);
    } else if (event.type == kP2pApi) {
      FillApi(event, body.p2p_api);
    } else if (event.type == kKernelLaunch) {
      body.kernel_launch.stream = Buffer(4);
    } else if ((event.type & (kCeColl | kCeSync | kCeBatch)) != 0) {
      FillCopyEngine(event, body);
    } else if (event.type == kKernelPhase) {
      body.kernel_phase = {.channel = static_cast<uint8_t>(event.channel),
                           .phase = static_cast<uint8_t>(event.step),
                           .name = event.step == 0   ? "initial_sync"
                                   : event.step == 1 ? "compute"
                                                     : "final_sync",
                           .gpu_time = event.gpu_time};
    }
  }
}

template <int kVersion>
int StartIn(const PluginTable& table, void* context, const Event& event, void** handle) {
  typename Abi<kVersion>::Descriptor descriptor;
  memset(&descriptor, 0, sizeof(descriptor));
  // NCCL fills a field of one byte and leaves the rest of the word as it was.
  if constexpr (kVersion < 5) memset(&descriptor, 0xA5, offsetof(typename Abi<kVersion>::Descriptor, parent));
  descriptor.type = static_cast<decltype(descriptor.type)>(event.type);
  descriptor.parent = event.parent;
  descriptor.rank = event.communicator->rank;
  if (event.type == kColl) {
    FillCollective(event, descriptor.body.coll);
  } else if (event.type == kP2p) {
    FillPointToPoint(event, descriptor.body.p2p);
  } else if ((event.type & (kProxyOp | kProxyStep | kNetPlugin)) != 0) {
    FillProxy(event, descriptor.body);
  } else {
    FillApiOrKernel(event, descriptor.body);
  }
  return table.start_event(context, handle, &descriptor);
}

using StartFunction = int (*)(const PluginTable& table, void* context, const Event& event, void** handle);
constexpr StartFunction kStart[] = {nullptr,    StartIn<1>, StartIn<2>, StartIn<3>,
                                    StartIn<4>, StartIn<5>, StartIn<6>, StartIn<7>};

}  // namespace

bool HasEvent(int version, EventType type) {
  if (type <= kProxyCtrl) return true;
  if (type <= kNetPlugin) return version >= 3;
  if (type <= kKernelLaunch) return version >= 5;
  if (type <= kCeBatch) return version >= 6;
  return version >= 7;
}

bool EventCaller::Init(const Communicator& communicator, int32_t* mask, void** context) {
  *context = kStaleHandle;
  const char* const name = NameOrNull(communicator);
  if (version_ <= 3) return reinterpret_cast<InitV1>(table_.init)(context, mask) == kSuccess;
  if (version_ == 4) {
    return reinterpret_cast<InitV4>(table_.init)(context, mask, name, communicator.id, communicator.nodes,
                                                 communicator.ranks, communicator.rank, nullptr) == kSuccess;
  }
  return reinterpret_cast<InitV5>(table_.init)(context, communicator.id, mask, name, communicator.nodes,
                                               communicator.ranks, communicator.rank, nullptr) == kSuccess;
}

void EventCaller::Finalize(void* context) { Expect(table_.finalize(context) == kSuccess); }

void* EventCaller::Start(void* context, const Event& event) {
  CHECK(HasEvent(version_, event.type));
  void* handle = kStaleHandle;
  Expect(kStart[version_](table_, context, event, &handle) == kSuccess);
  Expect(handle != kStaleHandle);
  return handle == kStaleHandle ? nullptr : handle;
}

void EventCaller::Stop(void* handle) {
  if (handle != nullptr) Expect(table_.stop_event(handle) == kSuccess);
}

void EventCaller::Record(void* handle, int32_t state, uint64_t argument, int32_t old_steps) {
  if (handle == nullptr) return;
  if (state == kGroupStartApiStop || state == kGroupEndApiStart) {
    Expect(table_.record_event_state(handle, state, nullptr) == kSuccess);
  } else if (version_ <= 3) {
    OldState arguments = {.proxy_op = {.transferred_bytes = argument, .steps = old_steps}};
    Expect(table_.record_event_state(handle, state, &arguments) == kSuccess);
  } else {
    NewState arguments = {.gpu_time = argument};
    Expect(table_.record_event_state(handle, state, &arguments) == kSuccess);
  }
}

}  // namespace lockstep::nccl
