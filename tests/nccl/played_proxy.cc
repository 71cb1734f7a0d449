#include "tests/nccl/played_proxy.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "tests/nccl/event.h"

namespace lockstep::nccl {
namespace {

constexpr int64_t kLongestWaitNanos = 20 * kNanosPerMicro;
constexpr uint64_t kChunkBytes = 65'536;
constexpr uint32_t kProxyTypes = kProxyOp | kProxyStep | kNetPlugin;
void* const kForeignParent = reinterpret_cast<void*>(uintptr_t{0x7E57A11E40});

int64_t Now() { return RealClock().MonotonicNanos(); }

void Spin(Random& random) {
  const int64_t until_ns = Now() + static_cast<int64_t>(random.Below(kLongestWaitNanos));
  while (Now() < until_ns) continue;
}

// The states of a step in order, and which wait of the table each begins.
struct StepState {
  int32_t state;
  int wait;
};
constexpr StepState kSendStates[] = {{kProxyStepSendGpuWait, 0}, {kProxyStepSendPeerWait, 1}, {kProxyStepSendWait, 2}};
constexpr StepState kOldSendStates[] = {{kProxyStepSendGpuWait, 0}, {kProxyStepSendWait, 2}};
constexpr StepState kReceiveStates[] = {
    {kProxyStepRecvWait, 0}, {kProxyStepRecvFlushWait, 1}, {kProxyStepRecvGpuWait, 2}};

std::vector<StepState> StatesOf(int version, bool is_send) {
  if (!is_send) return {std::begin(kReceiveStates), std::end(kReceiveStates)};
  if (version < 4) return {std::begin(kOldSendStates), std::end(kOldSendStates)};
  return {std::begin(kSendStates), std::end(kSendStates)};
}

struct Moment {
  int64_t before_ns = 0;
  int64_t after_ns = 0;
};

template <typename Call>
Moment During(Call call) {
  Moment moment;
  moment.before_ns = Now();
  call();
  moment.after_ns = Now();
  return moment;
}

void PlayStep(PlayedRank& rank, const Event& event, bool is_send, Random& random, PlayedWaits& waits) {
  EventCaller& caller = rank.caller();
  void* step = nullptr;
  // What a step waits for before its first state is told belongs to the first wait, or to none.
  const Moment start = During([&] { step = caller.Start(rank.context(), event); });
  waits.most_ns[0] += start.after_ns - start.before_ns;
  Moment begin;
  int wait = -1;
  const auto close = [&](const Moment& end) {
    if (wait < 0) return;
    waits.least_ns[wait] += end.before_ns - begin.after_ns;
    waits.most_ns[wait] += end.after_ns - begin.before_ns;
  };
  for (const StepState& state : StatesOf(caller.version(), is_send)) {
    const Moment now = During([&] { caller.Record(step, state.state, kChunkBytes); });
    close(now);
    if (wait < 0) waits.most_ns[0] += now.after_ns - start.after_ns;
    begin = now;
    wait = state.wait;
    Spin(random);
  }
  close(During([&] { caller.Stop(step); }));
  // A state that comes too late belongs to nobody.
  if (random.Below(8) == 0) caller.Record(step, is_send ? kProxyStepSendWait : kProxyStepRecvGpuWait, kChunkBytes);
  ++waits.steps;
  waits.bytes += kChunkBytes;
}

void RecordProgress(EventCaller& caller, void* handle, bool is_send, int steps) {
  if (caller.version() >= 4) {
    caller.Record(handle, kProxyOpInProgress);
    return;
  }
  const auto bytes = static_cast<uint64_t>(steps) * kChunkBytes;
  for (int state = is_send ? kProxyOpSendPosted : kProxyOpRecvPosted, i = 0; i < 4; ++i) {
    caller.Record(handle, state + i, bytes, steps);
  }
}

}  // namespace

void PlayProxy(PlayedRank& rank, PlayedOperation& played, Random& random, WaitTable& waits) {
  if (!rank.Wants(played, kProxyTypes) || played.operation.is_copy_engine) return;
  EventCaller& caller = rank.caller();
  const Communicator& communicator = rank.communicator();
  const bool is_p2p = played.operation.function->is_point_to_point;
  const bool only_sends = is_p2p && played.operation.function->name[0] == 'S';
  for (const bool is_send : {true, false}) {
    if (is_p2p && is_send != only_sends) continue;
    const int32_t neighbour = (communicator.rank + (is_send ? 1 : communicator.ranks - 1)) % communicator.ranks;
    const int32_t peer = is_p2p ? played.operation.peer : neighbour;
    const auto steps = static_cast<int32_t>(1 + random.Below(3));
    const Event operation = {.type = kProxyOp,
                             .parent = played.task_handle,
                             .communicator = &communicator,
                             .pid = getpid(),
                             .peer = peer,
                             .step = steps,
                             .is_send = is_send};
    void* const handle = caller.Start(rank.context(), operation);
    PlayedWaits& sum = waits[{communicator.id, communicator.rank, peer, is_send}];
    for (int32_t step = 0; step < steps && rank.Wants(played, kProxyStep | kNetPlugin); ++step) {
      const Event event = {.type = kProxyStep, .parent = handle, .communicator = &communicator, .step = step};
      PlayStep(rank, event, is_send, random, sum);
    }
    RecordProgress(caller, handle, is_send, steps);
    caller.Stop(handle);
    if (random.Below(4) == 0) RecordProgress(caller, handle, is_send, steps);  // too late
  }
}

void PlayForeignProxy(PlayedRank& rank, const PlayedOperation& played, Random& random) {
  if (!rank.Wants(played, kProxyTypes)) return;
  EventCaller& caller = rank.caller();
  const Event operation = {.type = kProxyOp,
                           .parent = kForeignParent,
                           .communicator = &rank.communicator(),
                           .pid = getpid() + 1,
                           .peer = static_cast<int32_t>(random.Below(4)),
                           .step = 1,
                           .is_send = true};
  void* const handle = caller.Start(rank.context(), operation);
  const Event event = {.type = kProxyStep, .parent = handle, .communicator = &rank.communicator()};
  void* const step = caller.Start(rank.context(), event);
  caller.Record(step, kProxyStepSendWait, kChunkBytes);
  caller.Stop(step);
  caller.Stop(handle);
}

}  // namespace lockstep::nccl
