#include "agent/recorder/nccl_recorder.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/recorder/glibc_floor.h"
#include "agent/recorder/job_identity.h"
#include "agent/recorder/nccl_gpu_driver.h"
#include "agent/recorder/nccl_releases.h"
#include "agent/recorder/ring_file.h"

namespace lockstep::ring {

constinit NcclRecorder g_nccl;
constinit NcclControl g_nccl_control;

namespace {

constexpr char kSwitchVariable[] = "LOCKSTEP_RECORDER";
constexpr char kForceVariable[] = "LOCKSTEP_FORCE_ABI";
constexpr char kBudgetVariable[] = "LOCKSTEP_RECORDER_BUDGET";
// Where shared memory is short: fewer operations held, nothing else changes.
constexpr uint32_t kSlotChoices[] = {NcclRing::kMaxSlots, 8192, 2048};

// Serializes init and finalize, which may wait for each other.
class LifeLock {
 public:
  LifeLock() {
    while (word_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  ~LifeLock() { word_.store(false, std::memory_order_release); }
  LifeLock(const LifeLock&) = delete;
  LifeLock& operator=(const LifeLock&) = delete;

 private:
  static constinit std::atomic<bool> word_;
};
constinit std::atomic<bool> LifeLock::word_{false};

// Guarded by LifeLock.
constinit bool g_tried_to_open = false;
constinit ReleaseJudgement g_judgement;

void EnterForkedChild() { g_nccl.ring.Use(nullptr); }

bool IsSet(const char* variable, const char* wanted) {
  const char* value = getenv(variable);
  return value != nullptr && strcmp(value, wanted) == 0;
}

// What LOCKSTEP_FORCE_ABI says; 0 = nothing.
int ForcedAbi() {
  const char* value = getenv(kForceVariable);
  return value == nullptr ? 0 : atoi(value);
}

// ncclGetVersion of the library that `caller` is in; 0 = it does not export it.
uint32_t NcclVersion(const void* caller) {
  Dl_info info;
  if (caller == nullptr || dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return 0;
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) library = dlopen(nullptr, RTLD_LAZY);  // the program itself
  if (library == nullptr) return 0;
  using GetVersion = nccl_abi::Result (*)(int*);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(library, "ncclGetVersion"));
  int version = 0;
  if (get_version != nullptr && get_version(&version) != nccl_abi::kSuccess) version = 0;
  dlclose(library);
  return version > 0 ? static_cast<uint32_t>(version) : 0;
}

void SetState(RingHeader* header, RecorderState state) {
  Atomic(header->state).store(static_cast<uint32_t>(state), std::memory_order_release);
}

void Disable(RingHeader* header, DisabledReason reason) {
  Atomic(header->disabled_reason).store(static_cast<uint32_t>(reason), std::memory_order_relaxed);
  Atomic(header->active_mask).store(0, std::memory_order_relaxed);
  SetState(header, RecorderState::kDisabled);
}

RingHeader* CreateRing(const NcclCommunicatorStart& start, uint32_t version) {
  const JobIdentity identity = ReadJobIdentity();
  RingOptions options;
  options.kind = RecorderKind::kNcclProfiler;
  options.library_version = version;
  options.abi_version = static_cast<uint32_t>(start.abi);
  options.transfer_capacity = NcclTransfers::kMaxRows;
  // The first communicator is the world in nearly every job.
  options.rank = identity.rank >= 0 ? identity.rank : start.rank;
  options.world_size = identity.rank >= 0 ? identity.world_size : (start.size > 0 ? start.size : -1);
  options.local_rank = identity.local_rank;
  options.job = identity.job;
  const GpuIdentity gpu = IdentifyCurrentGpu();
  options.gpu_uuid = gpu.uuid;
  options.gpu_pci_address = gpu.pci_address;
  for (const uint32_t slots : kSlotChoices) {
    options.operation_capacity = slots;
    if (RingHeader* header = CreateRingFile(options); header != nullptr) return header;
  }
  return nullptr;
}

void ReadBudget() {
  const char* percent = getenv(kBudgetVariable);
  const double value = percent == nullptr ? 0 : strtod(percent, nullptr);
  if (value > 0 && value <= 100) g_nccl_control.governor.set_budget(value / 100);
}

// The ring, opened by the first init. What it cannot do is said in it.
void OpenRing(const NcclCommunicatorStart& start) {
  g_tried_to_open = true;
  const uint32_t version = NcclVersion(start.caller);
  const int forced = ForcedAbi();
  g_judgement = JudgeRelease(version, start.abi, forced != 0);
  // nccl_profiler.cc has put the forced version behind the tables that can stand for it.
  if (forced != 0 && forced != start.abi)
    g_judgement = {DisabledReason::kUnknownAbi, 0, "cannot be forced to that ABI"};
  if (pthread_atfork(nullptr, nullptr, EnterForkedChild) != 0) return;
  RingHeader* header = CreateRing(start, version);
  if (header == nullptr) return;
  if (IsSet(kSwitchVariable, "off")) g_judgement.disabled = DisabledReason::kByEnvironment;
  if (g_judgement.disabled != DisabledReason::kNone) return Disable(header, g_judgement.disabled);
  ReadBudget();
  g_nccl.pid.store(getpid(), std::memory_order_relaxed);
  g_nccl.clock.Start(IsCycleCounterInvariant());
  SetState(header, RecorderState::kActive);
  g_nccl.ring.Use(header);
}

void Log(const NcclCommunicatorStart& start, const char* text, const char* why) {
  if (start.log == nullptr) return;
  start.log(nccl_abi::kLogInfo, nccl_abi::kLogProfile, "lockstep", 0, "PROFILER/Lockstep: %s%s%s", text,
            why[0] == '\0' ? "" : ": ", why);
}

NcclContext* ClaimContext() {
  for (NcclContext& context : g_nccl.contexts) {
    if (!context.in_use.exchange(true, std::memory_order_acq_rel)) return &context;
  }
  return nullptr;
}

// A used entry is not used again: the index of a communicator is its name.
uint32_t AddCommunicator(RingHeader* header, const NcclContext& context, const char* name, int64_t now_ns) {
  const uint32_t index = ClaimCommunicator(header);
  if (index == kNoCommunicator) {
    Add(header->counters.communicators_dropped, 1, false);
    return kNoCommunicator;
  }
  CommunicatorEntry& entry = Communicators(header)[index];
  entry.size = context.size;
  entry.rank = context.rank;
  entry.node_count = context.node_count;
  entry.id = context.hash;
  entry.created_at_ns = now_ns;
  CopyName(name == nullptr ? "" : name, &entry);
  Touch(entry, now_ns);
  Atomic(entry.ready).store(1, std::memory_order_release);
  return index;
}

// Which GPU a new communicator is on. Members of one communicator are on different ones.
uint64_t GpuOf(const NcclCommunicatorStart& start, uint32_t thread) {
  uint64_t members = 0;
  for (const NcclContext& context : g_nccl.contexts) {
    if (start.hash == 0 || !context.in_use.load(std::memory_order_relaxed)) continue;
    members += context.hash == start.hash && context.thread == thread ? 1 : 0;
  }
  return CurrentGpu(thread, members);
}

void FillContext(RingHeader* header, const NcclCommunicatorStart& start, NcclContext* context, int64_t now_ns) {
  context->hash = start.hash;
  context->size = start.size;
  context->rank = start.rank;
  context->node_count = start.node_count;
  context->is_checked = false;
  context->oldest_open.store(Atomic(header->next_ticket).load(std::memory_order_relaxed), std::memory_order_relaxed);
  context->missed_collectives.store(0, std::memory_order_relaxed);
  context->missed_transfers.store(0, std::memory_order_relaxed);
  context->counts_all_channels.store(true, std::memory_order_relaxed);
  for (ChannelHistory& history : context->history) history.ended_gpu_ns.store(0, std::memory_order_relaxed);
  context->communicator.store(start.hash != 0 ? AddCommunicator(header, *context, start.name, now_ns) : kNoCommunicator,
                              std::memory_order_relaxed);
}

// For init and finalize, which may wait: the holder is inside for some nanoseconds, but may be descheduled.
template <typename Function>
void UnderBeginLock(Function function) {
  for (;;) {
    BeginLock lock(g_nccl.ring.begin_lock());
    if (lock.held()) return function();
    sched_yield();
  }
}

}  // namespace

NcclContext* OpenNcclContext(const NcclCommunicatorStart& start) {
  LifeLock life;
  if (!g_tried_to_open) OpenRing(start);
  RingHeader* header = g_nccl.ring.header();
  NcclContext* context = header == nullptr ? nullptr : ClaimContext();
  if (context == nullptr) {
    Log(start, "does not record this communicator", g_judgement.why);
    return nullptr;
  }
  const uint32_t thread = ThreadId();
  context->gpu_clock.store(&g_nccl.gpus.Claim(GpuOf(start, thread)), std::memory_order_relaxed);
  context->thread = thread;
  const int64_t now_ns = g_nccl.clock.NowNs();
  UnderBeginLock([&] {
    FillContext(header, start, context, now_ns);
    if (g_nccl.open_contexts++ == 0) SetState(header, RecorderState::kActive);
    g_nccl_control.mask.Attach(start.mask, start.abi, g_judgement.denied_events);
    g_nccl_control.mask.Update(header, g_nccl_control.governor.level(), true, now_ns);
    g_nccl.next_update_ns = now_ns + kUpdateNanos;
    Atomic(header->nccl.chain_state).store(g_nccl.chain_state, std::memory_order_relaxed);
  });
  Log(start, "records this communicator", g_judgement.why);
  return context;
}

void CloseNcclContext(NcclContext* context) {
  LifeLock life;
  RingHeader* header = g_nccl.ring.header();
  UnderBeginLock([&] {
    CommunicatorEntry* entry =
        header == nullptr ? nullptr : CommunicatorOrNull(header, context->communicator.load(std::memory_order_relaxed));
    if (header != nullptr) NcclRing::AccountForMissed(*context, header, entry);
    if (entry != nullptr) Atomic(entry->ready).store(2, std::memory_order_release);
    if (header != nullptr && --g_nccl.open_contexts == 0) SetState(header, RecorderState::kFinalized);
    context->communicator.store(kNoCommunicator, std::memory_order_relaxed);
    g_nccl.gpus.Release(context->gpu_clock.load(std::memory_order_relaxed));
    context->in_use.store(false, std::memory_order_release);
  });
}

void NameNcclContext(NcclContext& context, uint64_t hash, const char* name, int32_t rank, int64_t now_ns) {
  RingHeader* header = g_nccl.ring.header();
  if (header == nullptr || context.hash == hash) return;
  context.hash = hash;
  context.rank = rank;
  context.communicator.store(AddCommunicator(header, context, name, now_ns), std::memory_order_relaxed);
}

void UpdateNcclMask(RingHeader* header, int64_t now_ns) {
  NcclRecorder& r = g_nccl;
  NcclControl& control = g_nccl_control;
  const uint64_t operations = Atomic(header->next_ticket).load(std::memory_order_relaxed);
  const uint64_t steps = r.transfers.steps();
  control.spent.Charge({operations, r.channels_asked, r.channels_all, steps});
  const uint32_t level = control.governor.Update(now_ns, control.spent.cost_ns(), control.spent.full_cost_ns());
  control.mask.Update(header, level, false, now_ns);
  r.next_update_ns = now_ns + kUpdateNanos;
  NcclStatus& status = header->nccl;
  Atomic(status.callbacks).store(4 * operations + 3 * r.channels_asked + 3 * steps, std::memory_order_relaxed);
  Atomic(status.callback_ns).store(control.spent.cost_ns(), std::memory_order_relaxed);
  Atomic(status.governor_level).store(level, std::memory_order_relaxed);
  Atomic(status.governor_changes).store(control.governor.changes(), std::memory_order_relaxed);
  Atomic(status.clock_kind).store(r.clock.uses_counter() ? 2u : 1u, std::memory_order_relaxed);
  Atomic(status.clock_error_ns).store(r.clock.largest_error_ns(), std::memory_order_relaxed);
}

void ChainNccl(const std::atomic<int>* mask_word, uint32_t chain_state) {
  UnderBeginLock([&] {
    g_nccl_control.mask.set_chained_word(mask_word);
    g_nccl.chain_state = chain_state;
  });
}

void DisableNccl(DisabledReason reason) {
  RingHeader* header = g_nccl.ring.header();
  if (header == nullptr) return;
  g_nccl.ring.Use(nullptr);
  g_nccl_control.mask.Withdraw();
  Disable(header, reason);
}

}  // namespace lockstep::ring
