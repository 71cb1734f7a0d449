#include "tests/nccl/played_rank.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "tests/nccl/event.h"

namespace lockstep::nccl {
namespace {

// Which wishes bring an event along, because handles of children need their parents.
constexpr uint32_t kBelowTask = kProxyOp | kProxyStep | kKernelCh | kNetPlugin | kKernelPhase;
constexpr uint32_t kBringCollective = kColl | kBelowTask;
constexpr uint32_t kBringPointToPoint = kP2p | kBelowTask;
constexpr uint32_t kBringGroup = kGroup | kBringCollective | kBringPointToPoint;
constexpr uint32_t kBringCopyEngine = kCeColl | kCeSync | kCeBatch;
constexpr uint32_t kBringCollApi = kCollApi | kBringCollective | kBringCopyEngine;
constexpr uint32_t kBringP2pApi = kP2pApi | kBringPointToPoint;
constexpr uint32_t kBringGroupApi = kGroupApi | kKernelLaunch | kBringCollApi | kBringP2pApi | kGroup;

int64_t Now() { return RealClock().MonotonicNanos(); }

}  // namespace

bool PlayedRank::Init() {
  // NCCL hands out its one global word; the plugin's is to write it.
  is_live_ = caller_.Init(communicator_, const_cast<int32_t*>(mask_), &context_);
  return is_live_;
}

void PlayedRank::Finalize() {
  if (is_live_) caller_.Finalize(context_);
  is_live_ = false;
}

bool PlayedRank::Wants(const PlayedOperation& operation, uint32_t types) const {
  return is_live_ && (static_cast<uint32_t>(operation.mask) & types) != 0;
}

void* PlayedRank::StartIfWanted(int32_t mask, uint32_t pulled_in_by, Event event) {
  if (!is_live_ || !HasEvent(caller_.version(), event.type) || (static_cast<uint32_t>(mask) & pulled_in_by) == 0) {
    return nullptr;
  }
  event.communicator = &communicator_;
  return caller_.Start(context_, event);
}

void PlayedRank::CallApi(PlayedOperation& played, void* group_api) {
  const bool is_p2p = played.operation.function->is_point_to_point;
  const Event event = {.type = is_p2p ? kP2pApi : kCollApi, .parent = group_api, .operation = &played.operation};
  played.api_handle = StartIfWanted(played.mask, is_p2p ? kBringP2pApi : kBringCollApi, event);
  caller_.Stop(played.api_handle);
}

void PlayedRank::StartTask(PlayedOperation& played, void* parent, void* group) {
  Operation& operation = played.operation;
  const bool is_p2p = operation.function->is_point_to_point;
  if (!is_p2p) operation.sequence = sequences_[operation.function->name]++;
  Event event = {.type = is_p2p ? kP2p : kColl, .parent = parent, .parent_group = group, .operation = &operation};
  uint32_t pulled_in_by = is_p2p ? kBringPointToPoint : kBringCollective;
  if (operation.is_copy_engine) {
    event.type = kCeColl;
    pulled_in_by = kBringCopyEngine;
  }
  played.was_delivered =
      is_live_ && HasEvent(caller_.version(), event.type) && (static_cast<uint32_t>(played.mask) & pulled_in_by) != 0;
  played.task_handle = StartIfWanted(played.mask, pulled_in_by, event);
  played.launched_ns = Now();
  played.kernel_handles.assign(operation.channels, nullptr);
}

void PlayedRank::RunPlan(const std::vector<PlayedOperation*>& group) {
  const int32_t mask = group.front()->mask;
  void* const plan = StartIfWanted(mask, kBringGroup, {.type = kGroup});
  const bool has_api = caller_.version() >= 5;
  for (PlayedOperation* played : group) StartTask(*played, has_api ? played->api_handle : plan, plan);
  for (PlayedOperation* played : group) {
    if (!played->operation.is_copy_engine) caller_.Stop(played->task_handle);
  }
  caller_.Stop(plan);
}

void PlayedRank::Launch(const std::vector<PlayedOperation*>& group) {
  const int32_t mask = __atomic_load_n(mask_, __ATOMIC_RELAXED);
  const int64_t begin_ns = Now();
  for (PlayedOperation* played : group) {
    played->mask = mask;
    played->launch_begin_ns = begin_ns;
  }
  void* const api = StartIfWanted(mask, kBringGroupApi, {.type = kGroupApi, .operation = &group.front()->operation});
  caller_.Record(api, kGroupStartApiStop);
  for (PlayedOperation* played : group) CallApi(*played, api);
  caller_.Record(api, kGroupEndApiStart);
  caller_.Stop(StartIfWanted(mask, kKernelLaunch, {.type = kKernelLaunch, .parent = api}));
  RunPlan(group);
  caller_.Stop(api);
}

void PlayedRank::Replay(const PlayedOperation& captured, PlayedOperation& again) {
  again.operation = captured.operation;
  again.mask = captured.mask;
  again.api_handle = captured.api_handle;
  again.launch_begin_ns = Now();
  RunPlan({&again});
}

void PlayedRank::BeginKernel(PlayedOperation& operation, int32_t channel, uint64_t gpu_time) {
  ++operation.channels_begun;
  operation.kernel_handles[channel] =
      StartIfWanted(operation.mask, kKernelCh | kKernelPhase,
                    {.type = kKernelCh, .parent = operation.task_handle, .channel = channel, .gpu_time = gpu_time});
  if (operation.began_seen_ns == 0) operation.began_seen_ns = Now();
  for (int phase = 0; phase < 3; ++phase) {
    void* const handle = StartIfWanted(operation.mask, kKernelPhase,
                                       {.type = kKernelPhase,
                                        .parent = operation.kernel_handles[channel],
                                        .channel = channel,
                                        .gpu_time = gpu_time,
                                        .step = phase});
    caller_.Record(handle, kKernelPhaseStop, gpu_time);
    caller_.Stop(handle);
  }
}

void PlayedRank::EndKernel(PlayedOperation& operation, int32_t channel, uint64_t gpu_time) {
  ++operation.channels_ended;
  void* const handle = operation.kernel_handles[channel];
  if (caller_.version() >= 4) caller_.Record(handle, kKernelChStop, gpu_time);
  caller_.Stop(handle);
  operation.ended_seen_ns = Now();
}

void PlayedRank::RepeatKernelEnd(PlayedOperation& operation, int32_t channel, uint64_t gpu_time) {
  void* const handle = operation.kernel_handles[channel];
  if (caller_.version() >= 4) caller_.Record(handle, kKernelChStop, gpu_time);
  caller_.Stop(handle);
}

void PlayedRank::RepeatTaskStop(PlayedOperation& operation) { caller_.Stop(operation.task_handle); }

void PlayedRank::EndCopyEngine(PlayedOperation& operation) {
  const Event sync = {.type = kCeSync, .parent = operation.task_handle, .step = 1};
  caller_.Stop(StartIfWanted(operation.mask, kCeSync, sync));
  const Event batch = {.type = kCeBatch, .parent = operation.task_handle, .operation = &operation.operation};
  caller_.Stop(StartIfWanted(operation.mask, kCeBatch, batch));
  caller_.Stop(operation.task_handle);
  operation.ended_seen_ns = Now();
}

}  // namespace lockstep::nccl
