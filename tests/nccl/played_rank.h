// One rank of one communicator, played as NCCL's core would: which events it sends to the plugin, in which order, with
// which parents, under which mask.
//
//   PlayedRank rank(caller, &mask, {.id = 7, .ranks = 8, .rank = 3});
//   rank.Init();
//   rank.Launch({&operation});                     // launching thread: the calls of one group
//   rank.BeginKernel(operation, channel, now);     // progress thread: the GPU wrote that the channel's work has begun
//   rank.EndKernel(operation, channel, later);
//   rank.Finalize();
//
// The mask is copied when an operation is launched; events of child types pull in their parents; what the plugin
// dropped gets no further calls. A PlayedOperation also keeps the truth about itself, for tests.

#ifndef LOCKSTEP_TESTS_NCCL_PLAYED_RANK_H_
#define LOCKSTEP_TESTS_NCCL_PLAYED_RANK_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/nccl/event.h"

namespace lockstep::nccl {

// The GPU's timer against CLOCK_MONOTONIC: another zero, as on real machines.
inline constexpr int64_t kGpuEpochNanos = 1'700'000'000 * kNanosPerSecond;
constexpr uint64_t GpuTime(int64_t monotonic_ns) { return static_cast<uint64_t>(monotonic_ns + kGpuEpochNanos); }

// Belongs to the launching thread until it was launched, to the progress thread from then on.
struct PlayedOperation {
  Operation operation;

  // The truth, nanoseconds of CLOCK_MONOTONIC; 0 = did not happen.
  bool was_delivered = false;   // the plugin was told of it by Coll, P2p or CeColl
  int64_t launch_begin_ns = 0;  // the group's first event
  int64_t launched_ns = 0;      // the operation's own event was delivered
  int64_t began_ns = 0;         // on the GPU, first channel
  int64_t ended_ns = 0;         // on the GPU, last channel
  int64_t began_seen_ns = 0;    // the host had delivered the first start
  int64_t ended_seen_ns = 0;    // the host had delivered the last stop
  bool has_gpu_times = true;    // false = some of its GPU times were lost
  int32_t channels_begun = 0;
  int32_t channels_ended = 0;

  // What NCCL remembers.
  int32_t mask = 0;
  void* api_handle = nullptr;
  void* task_handle = nullptr;
  std::vector<void*> kernel_handles;  // by channel
};

// Not thread-safe, except that launching and progress thread may each be one: Launch and Replay belong to the first,
// the rest to the second. Borrows its arguments.
class PlayedRank {
 public:
  PlayedRank(EventCaller& caller, const int32_t* mask, Communicator communicator)
      : caller_(caller), mask_(mask), communicator_(std::move(communicator)) {}
  PlayedRank(const PlayedRank&) = delete;
  PlayedRank& operator=(const PlayedRank&) = delete;

  // False = the plugin declined; then nothing is ever delivered.
  bool Init();
  void Finalize();

  // One ncclGroupStart to ncclGroupEnd and the launch of its plan.
  void Launch(const std::vector<PlayedOperation*>& group);

  // `again` is a graph's next launch of `captured`: no call of the program, but a task of its own.
  void Replay(const PlayedOperation& captured, PlayedOperation& again);

  // One channel's kernel. `gpu_time` 0 = the time was lost, as some releases do.
  void BeginKernel(PlayedOperation& operation, int32_t channel, uint64_t gpu_time);
  void EndKernel(PlayedOperation& operation, int32_t channel, uint64_t gpu_time);
  // The same again after the end, as NCCL may do.
  void RepeatKernelEnd(PlayedOperation& operation, int32_t channel, uint64_t gpu_time);
  void RepeatTaskStop(PlayedOperation& operation);

  // A copy-engine collective is over.
  void EndCopyEngine(PlayedOperation& operation);

  const Communicator& communicator() const { return communicator_; }
  EventCaller& caller() { return caller_; }
  void* context() const { return context_; }
  // Whether an operation launched under `operation`'s mask sends events of this type.
  bool Wants(const PlayedOperation& operation, uint32_t types) const;

 private:
  void* StartIfWanted(int32_t mask, uint32_t pulled_in_by, Event event);
  void CallApi(PlayedOperation& played, void* group_api);
  void StartTask(PlayedOperation& played, void* parent, void* group);
  void RunPlan(const std::vector<PlayedOperation*>& group);

  EventCaller& caller_;
  const int32_t* const mask_;
  const Communicator communicator_;
  void* context_ = nullptr;
  bool is_live_ = false;
  std::map<std::string, uint64_t> sequences_;  // NCCL's, by function
};

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_PLAYED_RANK_H_
