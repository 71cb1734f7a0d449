// One rank of eight of a training job as real ones are, as far as a profiler plugin can tell: pairs in three
// dimensions, a host that runs a step ahead of its GPU, and gradients that travel on a stream of their own.
//
//   nccl_overlapped PLUGIN NEWEST_VERSION RANK 8 BOARD_FILE CONTROL_FILE
//
// Ranks are numbered by stage, replica and tensor rank, the latter fastest. A step of the first stage: computes,
// reduces in its tensor pair, sends to the second stage; receives from it, computes, reduces in the pair. The second
// stage: receives, computes and reduces twice, sends. Then replicas reduce gradients on the second stream, while the
// first stage still computes. Nothing of the next step begins on a GPU before that is over, but hosts have enqueued it.
//
// CONTROL_FILE, looked at once per step, breaks the job: "slow RANK FACTOR" = that rank computes FACTOR times as long;
// "hang RANK 1" = that rank's host enqueues nothing more; "stall RANK 1" = what that rank's GPU computes next begins
// and never ends, while its host goes on as far as it may. Empty or missing = healthy.

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/fnv1a.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "tests/nccl/abi_values.h"
#include "tests/nccl/arrival_board.h"
#include "tests/nccl/event.h"
#include "tests/nccl/played_rank.h"
#include "tests/nccl/plugin_library.h"
#include "tests/nccl/train_fault.h"
#include "tests/nccl/vocabulary.h"

namespace lockstep::nccl {
namespace {

constexpr int kRanks = 8;
constexpr uint64_t kLeadSteps = 1;  // that hosts are ahead
// Before each of the two reductions in the tensor pair.
constexpr int64_t kComputeNanos = 12 * kNanosPerMilli;
constexpr int64_t kTransferNanos = 2 * kNanosPerMilli;  // between stages and in tensor pairs
constexpr int64_t kGradientsNanos = 6 * kNanosPerMilli;
// Less than any transfer: none ends late because of it.
constexpr int64_t kPollNanos = kNanosPerMilli / 2;
constexpr double kNoise = 0.01;  // of a computation, standard deviation
constexpr int kChannels = 2;
int nccl_release = 0;

int64_t Now() { return RealClock().MonotonicNanos(); }

void SleepUntil(int64_t at_ns) {
  StopSignal never;
  never.WaitFor(std::max<int64_t>(0, at_ns - Now()));
}

[[noreturn]] void StandStill() {
  while (true) SleepUntil(Now() + kNanosPerSecond);
}

struct Arguments {
  std::string plugin;
  int version = 0;
  int rank = 0;
  std::string board;
  std::string control;
};

// Operations of a step, in an order in which nobody waits for a later one. Both ends of a pair count alike.
enum Place : uint64_t { kActivations, kForward, kBackward, kReturn, kGradients, kPlaces };

enum Family { kTensor, kReplicas, kStages, kFamilies };

// The other rank of a pair differs in this bit.
constexpr int kBitOf[kFamilies] = {1, 2, 4};
constexpr const char* kNameOf[kFamilies] = {"tp", "dp", "pp"};

enum StreamNumber { kMain, kSide, kStreams };
// Of each step.
constexpr uint64_t kTasksOf[kStreams] = {4, 1};

// An operation and what its stream computes before it.
struct Task {
  PlayedRank* rank = nullptr;
  PlayedOperation played;
  uint64_t number = 0;  // on the board
  int peer = 0;         // rank in the job
  int64_t compute_ns = 0;
  int64_t transfer_ns = kTransferNanos;
  bool stalls = false;
  uint64_t after = 0;  // so many tasks of the other stream come first
};

struct Stream {
  std::deque<std::unique_ptr<Task>> tasks;
  uint64_t done = 0;
  int64_t free_at_ns = 0;
};

class OverlappedRank {
 public:
  OverlappedRank(const Arguments& arguments, EventCaller& caller)
      : arguments_(arguments), board_(arguments.board), random_(static_cast<uint64_t>(arguments.rank) + 1) {
    for (int family = 0; family < kFamilies; ++family) {
      const int other = arguments.rank ^ kBitOf[family];
      const int first = std::min(arguments.rank, other);
      // As in NCCL, ranks that meet make the same number, and others another one.
      const auto number = static_cast<uint64_t>(1 + family * kRanks + first);
      pairs_[family] = std::make_unique<PlayedRank>(caller, &mask_,
                                                    Communicator{.id = Fnv1a(arguments.board) + number,
                                                                 .name = kNameOf[family],
                                                                 .ranks = 2,
                                                                 .rank = arguments.rank == first ? 0 : 1});
    }
  }

  [[noreturn]] void Train() {
    for (const auto& pair : pairs_) pair->Init();
    std::thread main_stream([this] { RunStream(kMain); });
    std::thread side_stream([this] { RunStream(kSide); });
    for (uint64_t step = 0;; ++step) {
      const TrainFault fault = ReadTrainFault(arguments_.control);
      if (fault.Is("hang", arguments_.rank)) StandStill();
      EnqueueStep(step, fault);
      WaitForSteps(step + 1 - kLeadSteps);
    }
  }

 private:
  void EnqueueStep(uint64_t step, const TrainFault& fault) {
    const bool is_first_stage = (arguments_.rank & kBitOf[kStages]) == 0;
    const double factor = fault.Is("slow", arguments_.rank) ? fault.factor : 1;
    const bool stalls = fault.Is("stall", arguments_.rank);
    if (!is_first_stage) Enqueue(step, kActivations, kStages, kRecv, 0, false);
    Enqueue(step, kForward, kTensor, kAllReduce, factor, stalls);
    if (is_first_stage) {
      Enqueue(step, kActivations, kStages, kSend, 0, false);
      Enqueue(step, kReturn, kStages, kRecv, 0, false);
    }
    Enqueue(step, kBackward, kTensor, kAllReduce, factor, false);
    if (!is_first_stage) Enqueue(step, kReturn, kStages, kSend, 0, false);
    Enqueue(step, kGradients, kReplicas, kAllReduce, 0, false);
  }

  // `work` = so many times the usual computation comes first.
  void Enqueue(uint64_t step, Place place, Family family, const FunctionFacts& function, double work, bool stalls) {
    auto task = std::make_unique<Task>();
    task->rank = pairs_[family].get();
    task->number = step * kPlaces + place;
    task->peer = arguments_.rank ^ kBitOf[family];
    task->compute_ns =
        static_cast<int64_t>(work * (1 + kNoise * random_.Gaussian()) * static_cast<double>(kComputeNanos));
    task->stalls = stalls;
    const bool is_gradients = place == kGradients;
    if (is_gradients) task->transfer_ns = kGradientsNanos;
    // Gradients are those of the whole step, and the next one needs them.
    task->after = is_gradients ? (step + 1) * kTasksOf[kMain] : step * kTasksOf[kSide];
    Operation& operation = task->played.operation;
    operation.function = &function;
    operation.datatype = &kBfloat16;
    operation.count = is_gradients ? 1 << 22 : 1 << 20;
    operation.channels = kChannels;
    if (function.is_point_to_point) operation.peer = 1 - task->rank->communicator().rank;
    task->rank->Launch({&task->played});
    MutexLock lock(mutex_);
    streams_[is_gradients ? kSide : kMain].tasks.push_back(std::move(task));
    changed_.NotifyAll();
  }

  // Until so many steps are over.
  void WaitForSteps(uint64_t steps) {
    MutexLock lock(mutex_);
    while (streams_[kMain].done < steps * kTasksOf[kMain] || streams_[kSide].done < steps * kTasksOf[kSide]) {
      changed_.Wait(mutex_);
    }
  }

  // One stream of the GPU, and the thread that tells the plugin about it.
  [[noreturn]] void RunStream(StreamNumber which) {
    const StreamNumber other = which == kMain ? kSide : kMain;
    while (true) {
      Task* task = nullptr;
      int64_t ready_ns = 0;
      {
        MutexLock lock(mutex_);
        while (streams_[which].tasks.empty()) changed_.Wait(mutex_);
        task = streams_[which].tasks.front().get();
        while (streams_[other].done < task->after) changed_.Wait(mutex_);
        ready_ns = std::max({streams_[which].free_at_ns, streams_[other].free_at_ns, task->played.launched_ns});
      }
      const int64_t end_ns = Run(*task, ready_ns);
      MutexLock lock(mutex_);
      streams_[which].free_at_ns = end_ns;
      ++streams_[which].done;
      streams_[which].tasks.pop_front();
      changed_.NotifyAll();
    }
  }

  // When it was over.
  int64_t Run(Task& task, int64_t ready_ns) {
    if (task.stalls) StandStill();
    SleepUntil(ready_ns + task.compute_ns);
    const int64_t began_ns = Now();
    board_.Arrive(task.number, arguments_.rank, began_ns);
    for (int channel = 0; channel < kChannels; ++channel) {
      task.rank->BeginKernel(task.played, channel, GpuTime(began_ns));
    }
    int64_t both_ns = 0;
    while ((both_ns = BothBegan(task)) == 0) SleepUntil(Now() + kPollNanos);
    const int64_t end_ns = both_ns + task.transfer_ns;
    SleepUntil(end_ns);
    for (int channel = 0; channel < kChannels; ++channel) {
      task.rank->EndKernel(task.played, channel, GpuTime(end_ns));
    }
    return end_ns;
  }

  // 0 = one of them has not.
  int64_t BothBegan(const Task& task) const {
    const int64_t own_ns = board_.LastArrival(task.number, arguments_.rank, arguments_.rank);
    const int64_t peer_ns = board_.LastArrival(task.number, task.peer, task.peer);
    return own_ns == 0 || peer_ns == 0 ? 0 : std::max(own_ns, peer_ns);
  }

  const Arguments arguments_;
  ArrivalBoard board_;
  Random random_;
  int32_t mask_ = 0;
  std::unique_ptr<PlayedRank> pairs_[kFamilies];
  Mutex mutex_;
  CondVar changed_;
  Stream streams_[kStreams] ABSL_GUARDED_BY(mutex_);
};

int Run(int argc, char** argv) {
  if (argc < 7 || atoi(argv[4]) != kRanks) {
    fprintf(stderr, "usage: nccl_overlapped PLUGIN NEWEST_VERSION RANK %d BOARD_FILE CONTROL_FILE\n", kRanks);
    return 2;
  }
  const Arguments arguments = {argv[1], atoi(argv[2]), atoi(argv[3]), argv[5], argv[6]};
  const bool is_known = kOldestVersion <= arguments.version && arguments.version <= kNewestVersion;
  if (!is_known || arguments.rank < 0 || arguments.rank >= kRanks) return 2;
  nccl_release = kReleases[arguments.version];
  const auto library = PluginLibrary::Load(arguments.plugin, arguments.version);
  if (!library.ok()) {
    fprintf(stderr, "nccl_overlapped: %s\n", library.status().ToString().c_str());
    return 3;
  }
  EventCaller caller((*library)->table(), (*library)->version());
  OverlappedRank(arguments, caller).Train();
}

}  // namespace
}  // namespace lockstep::nccl

// What NCCL's own library exports, for plugins that ask which release it is.
extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  *version = lockstep::nccl::nccl_release;
  return 0;
}

int main(int argc, char** argv) { return lockstep::nccl::Run(argc, argv); }
