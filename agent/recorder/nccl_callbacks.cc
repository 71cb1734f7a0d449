#include "agent/recorder/nccl_callbacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cstdint>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_abi_descriptors.h"
#include "agent/recorder/nccl_begin_lock.h"
#include "agent/recorder/nccl_handle.h"
#include "agent/recorder/nccl_init.h"
#include "agent/recorder/nccl_recorder.h"

namespace lockstep::ring {
namespace {

using nccl_abi::kSuccess;
using nccl_abi::Result;

// Events in a row that make no sense before the recorder gives up.
constexpr uint32_t kMaxImplausibleEvents = 16;
constexpr uint64_t kMaxCount = uint64_t{1} << 50;
// One operation in this many has its callbacks timed.
constexpr uint64_t kCostSamples = 128;
constexpr uint64_t kNoNumber = (uint64_t{1} << 48) - 1;  // of a handle

uint16_t IndexOf(const NcclContext& context) { return static_cast<uint16_t>(&context - g_nccl.contexts); }

// Kinds as bits.
constexpr uint32_t BitOf(OperationKind kind) { return uint32_t{1} << static_cast<uint32_t>(kind); }
constexpr uint32_t kRooted = BitOf(OperationKind::kBroadcast) | BitOf(OperationKind::kReduce) |
                             BitOf(OperationKind::kGather) | BitOf(OperationKind::kScatter);
// Each member brings `count` elements for every member.
constexpr uint32_t kCountsPerMember = BitOf(OperationKind::kReduceScatter) | BitOf(OperationKind::kAllToAll);

// Whether a text may be read: where the layout is not what we think it is, an address is anything. Costs a system call.
bool IsReadable(const char* text) {
  if (text == nullptr) return true;
  const int saved_errno = errno;
  const bool faults = faccessat(AT_FDCWD, text, F_OK, 0) != 0 && errno == EFAULT;
  errno = saved_errno;
  return !faults;
}
bool IsReadable(uint8_t) { return true; }

template <typename Event>
[[gnu::noinline, gnu::cold]] bool AreNamesReadable(const Event& event) {
  bool readable = IsReadable(event.function) && IsReadable(event.datatype);
  if constexpr (requires { event.algorithm; }) {
    readable = readable && IsReadable(event.algorithm) && IsReadable(event.protocol);
  }
  return readable;
}

// Of texts through the memo, of the codes of version 1 directly.
template <typename Event>
[[gnu::always_inline]] inline NameMeanings MeaningsOf(const Event& event) {
  constexpr bool kHasAlgorithm = requires { event.algorithm; };
  constexpr bool kHasCodes = requires(uint8_t code) { code = event.function; };
  if constexpr (kHasCodes) {
    NameMeanings meanings = {NcclKind(event.function), NcclDatatypeBytes(event.datatype)};
    if constexpr (kHasAlgorithm) {
      meanings.algorithm = NcclAlgorithm(event.algorithm);
      meanings.protocol = NcclProtocol(event.protocol);
    }
    return meanings;
  } else if constexpr (kHasAlgorithm) {
    return g_nccl.names.Find({event.function, event.datatype, event.algorithm, event.protocol});
  } else {
    return g_nccl.names.Find({event.function, event.datatype, NameMemo::kNoName, NameMemo::kNoName});
  }
}

// False, and after some of them the end of recording: the events are not what we take them for.
bool IsPlausible(const NcclOperationStart& start, uint64_t count) {
  if (count < kMaxCount && (start.kind != OperationKind::kUnknown || start.datatype_bytes != 0)) [[likely]] {
    g_nccl.implausible_events = 0;
    return true;
  }
  if (++g_nccl.implausible_events >= kMaxImplausibleEvents) DisableNccl(DisabledReason::kInconsistentEvents);
  return false;
}

template <typename Coll>
[[gnu::always_inline]] inline void Describe(const Coll& event, const NcclContext& context, NcclOperationStart* start) {
  const NameMeanings meanings = MeaningsOf(event);
  start->kind = meanings.kind;
  start->datatype_bytes = meanings.datatype_bytes;
  start->bytes = event.count * start->datatype_bytes;
  if ((BitOf(start->kind) & kCountsPerMember) != 0 && context.size > 0)
    start->bytes *= static_cast<uint64_t>(context.size);
  if ((BitOf(start->kind) & kRooted) != 0) {
    start->peer = event.root;
    start->flags = kFlagRooted;
  }
  if constexpr (requires { event.algorithm; }) {
    start->channels = event.channels;
    start->algorithm = meanings.algorithm;
    start->protocol = meanings.protocol;
  } else {
    start->algorithm = Algorithm::kCopyEngine;
  }
  if constexpr (requires { event.is_symmetric; }) {
    if (event.is_symmetric) start->algorithm = Algorithm::kSymmetric;
  }
}

template <typename P2p>
[[gnu::always_inline]] inline void DescribeP2p(const P2p& event, NcclOperationStart* start) {
  const NameMeanings meanings = MeaningsOf(event);
  start->kind = meanings.kind;
  start->datatype_bytes = meanings.datatype_bytes;
  start->bytes = event.count * start->datatype_bytes;
  start->peer = event.peer;
  if constexpr (requires { event.channels; }) start->channels = event.channels;
  if (IsCollective(start->kind)) return;
  start->sequence = g_nccl.sequences.Next(start->communicator, start->peer, start->kind);
}

// Whether kernel events will come: as the mask was when the call was made, where we know, else as it is.
[[gnu::always_inline]] inline bool HasKernel(int abi, Handle parent) {
  if (abi < 3) return false;
  if (parent.type() == HandleType::kApi && (parent.detail() & kApiKnowsMask) != 0)
    return (parent.detail() & kApiHasKernel) != 0;
  return (g_nccl_control.mask.Current() & (nccl_abi::kKernelCh | nccl_abi::kKernelPhase)) != 0;
}

template <typename Event>
void Identify(const Event& event, int32_t rank, int64_t now_ns, NcclContext* context) {
  if constexpr (requires { event.comm_hash; }) {
    NameNcclContext(*context, event.comm_hash, IsReadable(event.name) ? event.name : nullptr, rank, now_ns);
  }
}

// Coll, P2p and CeColl: whatever moves the data of one call.
template <int kAbi, typename D, typename Event>
[[gnu::noinline]] Handle StartOperation(NcclContext& context, const D& descriptor, const Event& event,
                                        bool may_have_kernel) {
  NcclRecorder& r = g_nccl;
  const int64_t now_ns = r.clock.NowNs();
  BeginLock lock(r.ring.begin_lock(), BeginLock::kMaxSpins, BeginLock::kMaxYields);
  RingHeader* header = r.ring.header();
  if (header == nullptr) return {};
  if (!lock.held()) [[unlikely]] {
    constexpr bool kIsTransfer = requires { event.peer; };
    (kIsTransfer ? context.missed_transfers : context.missed_collectives).fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  if (now_ns >= r.next_update_ns || g_nccl_control.mask.IsStale(header, now_ns)) [[unlikely]] {
    UpdateNcclMask(header, now_ns);
  }
  if (!context.is_checked) [[unlikely]] {
    context.is_checked = true;
    if (!AreNamesReadable(event)) {
      DisableNccl(DisabledReason::kInconsistentEvents);
      return {};
    }
  }
  Identify(event, descriptor.rank, now_ns, &context);
  NcclOperationStart start;
  start.communicator = context.communicator.load(std::memory_order_relaxed);
  if constexpr (requires { event.peer; }) {
    DescribeP2p(event, &start);
    if (IsCollective(start.kind)) {  // neither Send nor Recv: nothing to pair it with
      r.ring.CountIgnored();
      return {};
    }
  } else {
    Describe(event, context, &start);
  }
  if (!IsPlausible(start, event.count)) {
    r.ring.CountIgnored();
    return {};
  }
  const Handle parent(descriptor.parent);
  start.has_kernel = may_have_kernel && HasKernel(kAbi, parent);
  Handle group = parent;
  if constexpr (requires { event.parent_group; }) group = Handle(event.parent_group);
  const uint64_t next_ticket = Atomic(header->next_ticket).load(std::memory_order_relaxed);
  start.group = group.type() == HandleType::kGroup ? group.number() : next_ticket + 1;
  r.channels_all += start.channels;
  if (start.has_kernel) r.channels_asked += start.channels;
  const uint64_t ticket = r.ring.Begin(context, IndexOf(context), start, now_ns);
  if (ticket % kCostSamples == 0) [[unlikely]]
    g_nccl_control.spent.operation.Learn(r.clock.NowNs() - now_ns);
  if (ticket == kNoTicket) return {};
  return {HandleType::kOperation, start.has_kernel ? kOperationHasKernel : 0, ticket};
}

[[gnu::noinline, gnu::cold]] void StartChannelAndLearn(Handle parent, uint32_t channel, uint64_t gpu_ns) {
  CycleClock& clock = g_nccl.clock;
  const int64_t before_ns = clock.NowNs();
  g_nccl.ring.StartChannel(g_nccl.contexts, parent.number(), channel, gpu_ns, clock);
  g_nccl_control.spent.channel.Learn(2 * (clock.NowNs() - before_ns));
}

template <int kAbi>
Handle StartChannel(const nccl_abi::KernelChannel& event, Handle parent) {
  if (parent.type() != HandleType::kOperation) [[unlikely]] {
    g_nccl.ring.CountIgnored();
    return {};
  }
  const uint64_t gpu_ns = kAbi >= 4 ? event.gpu_timer_ns : 0;
  const uint32_t channel = event.channel;
  if (parent.number() % kCostSamples == 0) [[unlikely]] {
    StartChannelAndLearn(parent, channel, gpu_ns);
  } else {
    g_nccl.ring.StartChannel(g_nccl.contexts, parent.number(), channel, gpu_ns, g_nccl.clock);
  }
  return {HandleType::kChannel, channel, parent.number()};
}

// An operation of another process (PXN) names a handle of that process, and maybe a context of nobody's.
[[gnu::noinline]] Handle StartProxyOp(NcclContext& context, const nccl_abi::ProxyOp& event, Handle parent) {
  RingHeader* header = g_nccl.ring.header();
  if (header == nullptr) return {};
  if (event.pid != g_nccl.pid.load(std::memory_order_relaxed)) {
    g_nccl.ring.CountIgnored();
    return {};
  }
  const bool is_ours = parent.type() == HandleType::kOperation;
  const bool tells_times = is_ours && (parent.detail() & kOperationHasKernel) == 0;
  uint32_t row = NcclTransfers::kNoTransfer;
  if ((g_nccl_control.mask.Current() & nccl_abi::kProxyStep) != 0) {
    row = g_nccl.transfers.FindOrAdd(header, context.communicator.load(std::memory_order_relaxed), event.peer,
                                     event.is_send != 0);
  }
  if (tells_times) g_nccl.ring.StartProxy(parent.number(), g_nccl.clock.NowNs());
  if (!tells_times && row == NcclTransfers::kNoTransfer) return {};
  return {HandleType::kProxyOp, row, tells_times ? parent.number() : kNoNumber};
}

[[gnu::noinline]] Handle StartStep(Handle parent) {
  RingHeader* header = g_nccl.ring.header();
  if (header == nullptr || parent.type() != HandleType::kProxyOp || parent.detail() >= NcclTransfers::kMaxRows)
    return {};
  const int64_t now_ns = g_nccl.clock.NowNs();
  {
    // Also where a job does nothing but transfer, the request ends in time.
    BeginLock lock(g_nccl.ring.begin_lock(), 1);
    if (lock.held() && g_nccl_control.mask.IsStale(header, now_ns)) UpdateNcclMask(header, now_ns);
  }
  return g_nccl.transfers.StartStep(header, parent.detail(), now_ns);
}

// What the operations of a call hang on, and what says nothing.
constexpr uint64_t kCalls = nccl_abi::kGroup | nccl_abi::kGroupApi | nccl_abi::kCollApi | nccl_abi::kP2pApi;

Handle StartCall(RingHeader* header, uint64_t type) {
  if (type == nccl_abi::kGroup) {
    return {HandleType::kGroup, 0, Atomic(header->next_ticket).load(std::memory_order_relaxed) + 1};
  }
  if (type == nccl_abi::kGroupApi) return {HandleType::kIgnored, 0, 0};
  const uint64_t mask = g_nccl_control.mask.Current();
  const bool has_kernel = (mask & (nccl_abi::kKernelCh | nccl_abi::kKernelPhase)) != 0;
  return {HandleType::kApi, kApiKnowsMask | (has_kernel ? kApiHasKernel : 0), 0};
}

template <int kAbi, typename D>
[[gnu::noinline]] Handle StartWork(NcclContext& context, const D& d) {
  const uint64_t type = d.type;
  if (type == nccl_abi::kColl) return StartOperation<kAbi>(context, d, d.coll, true);
  if (type == nccl_abi::kP2p) return StartOperation<kAbi>(context, d, d.p2p, true);
  if (type == nccl_abi::kProxyOp) return StartProxyOp(context, d.proxy_op, Handle(d.parent));
  if (type == nccl_abi::kProxyStep) return StartStep(Handle(d.parent));
  if constexpr (kAbi >= 6) {
    if (type == nccl_abi::kCeColl) return StartOperation<kAbi>(context, d, d.ce_coll, false);
  }
  return {HandleType::kIgnored, 0, 0};
}

template <int kAbi, typename D>
Result StartEvent(void* context, void** handle, D* descriptor) {
  RingHeader* const header = g_nccl.ring.header();
  if (context == nullptr || descriptor == nullptr || header == nullptr) [[unlikely]] {
    *handle = nullptr;
    return kSuccess;
  }
  const uint64_t type = descriptor->type;
  if (type == nccl_abi::kKernelCh) {
    *handle = StartChannel<kAbi>(descriptor->kernel_channel, Handle(descriptor->parent)).pointer();
  } else if ((type & kCalls) != 0) {
    *handle = StartCall(header, type).pointer();
  } else {
    *handle = StartWork<kAbi>(*static_cast<NcclContext*>(context), *descriptor).pointer();
  }
  return kSuccess;
}

// Of whatever is not a kernel on a channel.
[[gnu::noinline]] void StopOther(Handle handle) {
  NcclRecorder& r = g_nccl;
  if (handle.type() == HandleType::kOperation) {
    r.ring.EndHost(handle.number(), r.clock.NowNs());
  } else if (handle.type() == HandleType::kProxyOp) {
    if (handle.number() != kNoNumber) r.ring.StopProxy(handle.number(), r.clock.NowNs());
  } else if (handle.type() == HandleType::kStep) {
    RingHeader* header = r.ring.header();
    if (header != nullptr) r.transfers.StopStep(header, handle, r.clock.NowNs());
  }
}

Result StopEvent(void* pointer) {
  const Handle handle(pointer);
  NcclRecorder& r = g_nccl;
  if (handle.type() == HandleType::kChannel) {
    const uint32_t channel = handle.detail() & 0xFF;
    if (r.ring.IsChannelRunning(handle.number(), channel)) {
      r.ring.StopChannel(r.contexts, handle.number(), channel, 0, r.clock);
    }
  } else if (handle.type() == HandleType::kOperation && (handle.detail() & kOperationHasKernel) == 0) {
    StopOther(handle);
  } else if (handle.type() == HandleType::kProxyOp || handle.type() == HandleType::kStep) {
    StopOther(handle);
  }
  return kSuccess;
}

// What the arguments of a state hold, by the two layouts that there are.
uint64_t GpuTimerOf(const nccl_abi::StateArgumentsV1*) { return 0; }
uint64_t GpuTimerOf(const nccl_abi::StateArgumentsV4* arguments) {
  return arguments == nullptr ? 0 : arguments->kernel_channel.gpu_timer_ns;
}
uint64_t StepBytesOf(const nccl_abi::StateArgumentsV1*) { return 0; }
uint64_t StepBytesOf(const nccl_abi::StateArgumentsV4* arguments) {
  return arguments == nullptr ? 0 : arguments->proxy_step.transferred_bytes;
}

template <typename StateArguments>
Result RecordEventState(void* pointer, int32_t state, StateArguments* arguments) {
  const Handle handle(pointer);
  NcclRecorder& r = g_nccl;
  if (handle.type() == HandleType::kChannel && state == nccl_abi::kKernelChStop) {
    r.ring.StopChannel(r.contexts, handle.number(), handle.detail() & 0xFF, GpuTimerOf(arguments), r.clock);
  } else if (handle.type() == HandleType::kStep) {
    RingHeader* header = r.ring.header();
    if (header != nullptr) r.transfers.ChangeStep(header, handle, state, StepBytesOf(arguments), r.clock.NowNs());
  }
  return kSuccess;
}

Result Finalize(void* context) {
  if (context != nullptr) CloseNcclContext(static_cast<NcclContext*>(context));
  return kSuccess;
}

Result Open(const NcclCommunicatorStart& start, void** context) {
  *context = OpenNcclContext(start);
  if (*context == nullptr) *start.mask = 0;
  return kSuccess;
}

}  // namespace

template <int kAbi>
TableOf<kAbi> Callbacks() {
  using Abi = AbiOf<kAbi>;
  return {"Lockstep", InitEntry<kAbi, Open>(typename Abi::Init{}),    StartEvent<kAbi, typename Abi::Descriptor>,
          StopEvent,  RecordEventState<typename Abi::StateArguments>, Finalize};
}

template TableOf<1> Callbacks<1>();
template TableOf<2> Callbacks<2>();
template TableOf<3> Callbacks<3>();
template TableOf<4> Callbacks<4>();
template TableOf<5> Callbacks<5>();
template TableOf<6> Callbacks<6>();
template TableOf<7> Callbacks<7>();

}  // namespace lockstep::ring
