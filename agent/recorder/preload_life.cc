// Entries that make and end communicators.

#include "agent/recorder/preload_group.h"
#include "agent/recorder/preload_next_function.h"
#include "agent/recorder/preload_recorder.h"

namespace lockstep::ring {
namespace {

using nccl::Communicator;
using nccl::Config;
using nccl::UniqueId;

constinit NextFunction<Communicator*, int, UniqueId, int> g_next_init_rank("ncclCommInitRank");
constinit NextFunction<Communicator*, int, UniqueId, int, Config> g_next_init_rank_config("ncclCommInitRankConfig");
constinit NextFunction<Communicator*, int, const int*> g_next_init_all("ncclCommInitAll");
constinit NextFunction<Communicator, int, int, Communicator*, Config> g_next_split("ncclCommSplit");
constinit NextFunction<Communicator> g_next_finalize("ncclCommFinalize");
constinit NextFunction<Communicator> g_next_destroy("ncclCommDestroy");
constinit NextFunction<Communicator> g_next_abort("ncclCommAbort");
constinit NextFunction<> g_next_group_start("ncclGroupStart");
constinit NextFunction<> g_next_group_end("ncclGroupEnd");

void Remember(Communicator made, const NcclMember& member) {
  OpenPreloadRecorder(member);
  RingWriter& writer = g_preload_recorder.writer;
  if (!writer.active() || !g_preload_recorder.communicators.Add(made, member)) return;
  g_preload_recorder.communicators.Resolve(made, AskNccl, &writer);
}

// Runs a call that makes `*made`. Inside a group, older releases of NCCL write it only when the group ends: cleared
// beforehand, it tells by itself whether it is there.
template <typename Call>
int Make(const void* caller, Communicator* made, const NcclMember& member, Call call) {
  NcclCall scope;
  if (!scope.is_outermost() || made == nullptr) return call();
  g_preload_recorder.caller.store(caller, std::memory_order_relaxed);
  *made = nullptr;
  const int result = call();
  if (result != nccl::kSuccess && result != nccl::kInProgress) return result;
  if (*made != nullptr) {
    Remember(*made, member);
  } else {
    ThisThreadsGroup().Hold(NcclGroup::Making{made, member});
  }
  return result;
}

// Runs a call that ends a communicator. The handle may be given to another thread's as soon as the call has begun.
template <typename Call>
int End(Communicator communicator, Call call) {
  NcclCall scope;
  if (scope.is_outermost()) g_preload_recorder.communicators.Remove(communicator, &g_preload_recorder.writer);
  return call();
}

}  // namespace

LOCKSTEP_NCCL_ENTRY ncclCommInitRank(Communicator* made, int size, UniqueId id, int rank) {
  const void* const caller = LOCKSTEP_CALLER;
  return Make(caller, made, {.id = IdOf(id), .size = size, .rank = rank},
              [&] { return g_next_init_rank(caller, made, size, id, rank); });
}

LOCKSTEP_NCCL_ENTRY ncclCommInitRankConfig(Communicator* made, int size, UniqueId id, int rank, Config config) {
  const void* const caller = LOCKSTEP_CALLER;
  return Make(caller, made, {.id = IdOf(id), .size = size, .rank = rank},
              [&] { return g_next_init_rank_config(caller, made, size, id, rank, config); });
}

LOCKSTEP_NCCL_ENTRY ncclCommInitAll(Communicator* made, int size, const int* devices) {
  const void* const caller = LOCKSTEP_CALLER;
  NcclCall scope;
  g_preload_recorder.caller.store(caller, std::memory_order_relaxed);
  const int result = g_next_init_all(caller, made, size, devices);
  if (!scope.is_outermost() || result != nccl::kSuccess || made == nullptr) return result;
  const uint64_t id = IdOfThisProcess(MonotonicNs());
  for (int rank = 0; rank < size; ++rank) Remember(made[rank], {.id = id, .size = size, .rank = rank});
  return result;
}

LOCKSTEP_NCCL_ENTRY ncclCommSplit(Communicator parent, int color, int key, Communicator* made, Config config) {
  const void* const caller = LOCKSTEP_CALLER;
  NcclMember member;
  const auto call = [&] { return g_next_split(caller, parent, color, key, made, config); };
  // A rank with no colour gets no communicator, but takes part in the counting.
  const bool is_member = g_preload_recorder.communicators.NextSplitId(parent, color, &member.id) && color >= 0;
  return is_member ? Make(caller, made, member, call) : call();
}

// What other ranks still have to do is not this rank's progress any more, but operations may be in flight: the
// communicator ends with its Destroy.
LOCKSTEP_NCCL_ENTRY ncclCommFinalize(Communicator communicator) {
  NcclCall scope;
  return g_next_finalize(LOCKSTEP_CALLER, communicator);
}

LOCKSTEP_NCCL_ENTRY ncclCommDestroy(Communicator communicator) {
  const void* const caller = LOCKSTEP_CALLER;
  return End(communicator, [&] { return g_next_destroy(caller, communicator); });
}

LOCKSTEP_NCCL_ENTRY ncclCommAbort(Communicator communicator) {
  const void* const caller = LOCKSTEP_CALLER;
  return End(communicator, [&] { return g_next_abort(caller, communicator); });
}

LOCKSTEP_NCCL_ENTRY ncclGroupStart() {
  NcclCall scope;
  if (scope.is_outermost()) ThisThreadsGroup().Enter();
  return g_next_group_start(LOCKSTEP_CALLER);
}

LOCKSTEP_NCCL_ENTRY ncclGroupEnd() {
  NcclCall scope;
  const int result = g_next_group_end(LOCKSTEP_CALLER);
  NcclGroup& group = ThisThreadsGroup();
  if (!scope.is_outermost() || !group.Leave()) return result;
  const int64_t now_ns = MonotonicNs();
  group.TakeOperations(
      [&](const OperationHandle& operation) { g_preload_recorder.writer.Finish(operation, {}, now_ns); });
  const bool is_made = result == nccl::kSuccess || result == nccl::kInProgress;
  group.TakeCommunicators([&](const NcclGroup::Making& making) {
    if (is_made && *making.place != nullptr) Remember(*making.place, making.member);
  });
  return result;
}

}  // namespace lockstep::ring
