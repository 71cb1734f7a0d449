// Callbacks that serve the recorder and a second plugin; see nccl_chain.h.

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_callbacks.h"
#include "agent/recorder/nccl_chain.h"
#include "agent/recorder/nccl_context.h"
#include "agent/recorder/nccl_init.h"
#include "agent/recorder/nccl_recorder.h"

namespace lockstep::ring {
namespace {

using nccl_abi::kSuccess;
using nccl_abi::Result;

constexpr uint32_t kLoaded = 1;  // NcclStatus::chain_state
constexpr uint32_t kNotLoaded = 2;

// What NCCL holds as the context of a communicator.
struct ChainedContext {
  std::atomic<bool> in_use{false};
  NcclContext* own = nullptr;
  void* other = nullptr;
  bool has_other = false;  // its init has succeeded
};

constinit HandlePairs g_pairs;
constinit ChainedContext g_contexts[kMaxContexts];
// The other plugin takes this word for NCCL's mask.
constinit std::atomic<int> g_other_mask{0};
static_assert(sizeof(g_other_mask) == sizeof(int));

constexpr const char* kSymbols[] = {"ncclProfiler_v1", "ncclProfiler_v2", "ncclProfiler_v3", "ncclProfiler_v4",
                                    "ncclProfiler_v5", "ncclProfiler_v6", "ncclProfiler_v7"};

template <int kAbi>
const TableOf<kAbi>* Other() {
  static constinit std::atomic<const TableOf<kAbi>*> table{nullptr};
  const TableOf<kAbi>* found = table.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = static_cast<const TableOf<kAbi>*>(FindChainedTable(kSymbols[kAbi - 1]));
    if (found != nullptr) table.store(found, std::memory_order_release);
  }
  return found;
}

ChainedContext* ClaimContext() {
  for (ChainedContext& context : g_contexts) {
    if (!context.in_use.exchange(true, std::memory_order_acq_rel)) return &context;
  }
  return nullptr;
}

template <int kAbi>
Result OpenBoth(const NcclCommunicatorStart& start, void** result) {
  ChainedContext* context = ClaimContext();
  *result = context;
  if (context == nullptr) return kSuccess;
  const TableOf<kAbi>* other = Other<kAbi>();
  context->other = nullptr;
  int* const its_mask = reinterpret_cast<int*>(&g_other_mask);
  context->has_other = other != nullptr && CallInit(other->init, start, &context->other, its_mask) == kSuccess;
  ChainNccl(&g_other_mask, other != nullptr ? kLoaded : kNotLoaded);
  context->own = OpenNcclContext(start);
  if (context->own == nullptr) *start.mask = context->has_other ? g_other_mask.load(std::memory_order_relaxed) : 0;
  return kSuccess;
}

// The parents' handles of each plugin instead of the pairs' numbers.
template <typename D>
void Translate(const D& from, D* own, D* other) {
  // A proxy operation of another process names a handle of that process, which only that one can read.
  if (from.type == nccl_abi::kProxyOp && from.proxy_op.pid != getpid()) return;
  const HandlePair parent = g_pairs.Find(from.parent);
  own->parent = parent.own;
  other->parent = parent.other;
  const auto translate_group = [](const auto& event, auto* own_event, auto* other_event) {
    if constexpr (requires { event.parent_group; }) {
      const HandlePair group = g_pairs.Find(event.parent_group);
      own_event->parent_group = group.own;
      other_event->parent_group = group.other;
    }
  };
  if (from.type == nccl_abi::kColl) translate_group(from.coll, &own->coll, &other->coll);
  if (from.type == nccl_abi::kP2p) translate_group(from.p2p, &own->p2p, &other->p2p);
}

template <int kAbi>
Result StartEvent(void* pointer, void** handle, typename AbiOf<kAbi>::Descriptor* descriptor) {
  *handle = nullptr;
  if (pointer == nullptr || descriptor == nullptr) return kSuccess;
  const auto& context = *static_cast<const ChainedContext*>(pointer);
  auto own = *descriptor;
  auto others = *descriptor;
  Translate(*descriptor, &own, &others);
  HandlePair pair;
  Callbacks<kAbi>().start_event(context.own, &pair.own, &own);
  const auto wanted = static_cast<uint32_t>(g_other_mask.load(std::memory_order_relaxed));
  if (context.has_other && (WithParents(wanted) & descriptor->type) != 0) {
    Other<kAbi>()->start_event(context.other, &pair.other, &others);
  }
  *handle = g_pairs.Add(pair);
  return kSuccess;
}

template <int kAbi>
Result StopEvent(void* handle) {
  const HandlePair pair = g_pairs.Find(handle);
  if (pair.own != nullptr) Callbacks<kAbi>().stop_event(pair.own);
  if (pair.other != nullptr) Other<kAbi>()->stop_event(pair.other);
  g_pairs.Close(handle);
  return kSuccess;
}

template <int kAbi>
Result RecordEventState(void* handle, int32_t state, typename AbiOf<kAbi>::StateArguments* arguments) {
  const HandlePair pair = g_pairs.Find(handle);
  if (pair.own != nullptr) Callbacks<kAbi>().record_event_state(pair.own, state, arguments);
  if (pair.other != nullptr) Other<kAbi>()->record_event_state(pair.other, state, arguments);
  return kSuccess;
}

template <int kAbi>
Result Finalize(void* pointer) {
  if (pointer == nullptr) return kSuccess;
  auto* const context = static_cast<ChainedContext*>(pointer);
  if (context->has_other) Other<kAbi>()->finalize(context->other);
  if (context->own != nullptr) CloseNcclContext(context->own);
  context->in_use.store(false, std::memory_order_release);
  return kSuccess;
}

}  // namespace

template <int kAbi>
TableOf<kAbi> ChainedCallbacks() {
  return {"Lockstep",
          InitEntry<kAbi, OpenBoth<kAbi>>(typename AbiOf<kAbi>::Init{}),
          StartEvent<kAbi>,
          StopEvent<kAbi>,
          RecordEventState<kAbi>,
          Finalize<kAbi>};
}

template TableOf<1> ChainedCallbacks<1>();
template TableOf<2> ChainedCallbacks<2>();
template TableOf<3> ChainedCallbacks<3>();
template TableOf<4> ChainedCallbacks<4>();
template TableOf<5> ChainedCallbacks<5>();
template TableOf<6> ChainedCallbacks<6>();
template TableOf<7> ChainedCallbacks<7>();

}  // namespace lockstep::ring
