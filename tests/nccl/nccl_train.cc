// One rank of a training job that exists only as far as a profiler plugin can tell: its GPU computes by sleeping, its
// collectives end when all members have begun. Ranks come in pairs, as in tests/demo/train.cc.
//
//   nccl_train PLUGIN NEWEST_VERSION RANK RANKS BOARD_FILE CONTROL_FILE [network=0]
//
// A step: the host enqueues everything and waits; the GPU computes, runs an AllReduce in the pair, computes, and runs
// an AllReduce of all. `network=0` = no proxy events, as between GPUs of one host.
//
// CONTROL_FILE, looked at once per step, breaks the job: "slow RANK FACTOR" = that rank computes FACTOR times as long;
// "link RANK FACTOR" = transfers in the pair of that rank take FACTOR times as long; "wire RANK FACTOR" = whatever goes
// between that rank, which is even, and the next takes FACTOR times as long, so that the rings of which it is part turn
// slower; "hang RANK 1" = that rank's host enqueues nothing more. Empty or missing = healthy.
//
// The network, where somebody asks for its steps: an operation is one chunk to the next rank of the ring and one from
// the rank before. A chunk sent waits for the own GPU to begin, then on the wire; a chunk received waits for data, then
// for the own GPU to begin.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fnv1a.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "tests/nccl/arrival_board.h"
#include "tests/nccl/event.h"
#include "tests/nccl/played_rank.h"
#include "tests/nccl/plugin_library.h"
#include "tests/nccl/train_fault.h"
#include "tests/nccl/vocabulary.h"

namespace lockstep::nccl {
namespace {

constexpr int64_t kComputeNanos = 15 * kNanosPerMilli;  // before each of the two operations of a step
constexpr int64_t kPairTransferNanos = 2 * kNanosPerMilli;
constexpr int64_t kWorldTransferNanos = 3 * kNanosPerMilli;
constexpr int64_t kPollNanos = kNanosPerMilli / 5;
constexpr uint64_t kChunkBytes = 1 << 20;
constexpr double kNoise = 0.01;  // of a computation, standard deviation
constexpr int kChannels = 2;
int nccl_release = 0;

int64_t Now() { return RealClock().MonotonicNanos(); }

void SleepUntil(int64_t at_ns) {
  StopSignal never;
  never.WaitFor(std::max<int64_t>(0, at_ns - Now()));
}

struct Arguments {
  std::string plugin;
  int version = 0;
  int rank = 0;
  int ranks = 0;
  std::string board;
  std::string control;
  bool has_network = true;
};

// One direction of the network's part in an operation.
struct Flow {
  bool is_send = false;
  int peer = 0;         // rank of the job
  int64_t wire_ns = 0;  // that a chunk is under way
  void* operation = nullptr;
  void* step = nullptr;
  bool has_arrived = false;  // a chunk received lies in the buffer
  int64_t sent_ns = 0;       // 0 = not yet
};

// An operation on its way through the GPU.
struct Task {
  PlayedRank* rank = nullptr;
  PlayedOperation played;
  uint64_t number = 0;  // on the board
  int first = 0;        // members
  int last = 0;
  int64_t compute_ns = 0;
  int64_t transfer_ns = 0;
  Flow flows[2];
};

// As in NCCL, ranks that meet make the same number, and other jobs another one.
uint64_t WorldIdOf(const Arguments& arguments) { return Fnv1a(arguments.board); }

class TrainingRank {
 public:
  TrainingRank(const Arguments& arguments, EventCaller& caller)
      : arguments_(arguments),
        board_(arguments.board),
        random_(static_cast<uint64_t>(arguments.rank) + 1),
        pair_first_(arguments.rank / 2 * 2),
        world_(caller, &mask_,
               {.id = WorldIdOf(arguments),
                .name = "world",
                .nodes = 1,
                .ranks = arguments.ranks,
                .rank = arguments.rank}),
        pair_(caller, &mask_,
              {.id = WorldIdOf(arguments) + 1 + static_cast<uint64_t>(pair_first_),
               .name = "tp",
               .ranks = 2,
               .rank = arguments.rank % 2}) {}

  // Never returns.
  void Train() {
    world_.Init();
    pair_.Init();
    std::thread gpu([this] { RunGpu(); });
    while (true) {
      const TrainFault fault = ReadTrainFault(arguments_.control);
      while (fault.Is("hang", arguments_.rank)) SleepUntil(Now() + kNanosPerSecond);
      Enqueue(pair_, pair_first_, pair_first_ + 1, fault);
      Enqueue(world_, 0, arguments_.ranks - 1, fault);
      MutexLock lock(mutex_);
      while (!tasks_.empty()) changed_.Wait(mutex_);
    }
  }

 private:
  void Enqueue(PlayedRank& rank, int first, int last, const TrainFault& fault) {
    auto task = std::make_unique<Task>();
    task->rank = &rank;
    task->number = enqueued_++;
    task->first = first;
    task->last = last;
    const bool is_slow = fault.Is("slow", arguments_.rank);
    const double factor = (is_slow ? fault.factor : 1) * (1 + kNoise * random_.Gaussian());
    task->compute_ns = static_cast<int64_t>(factor * static_cast<double>(kComputeNanos));
    const bool is_pair = &rank == &pair_;
    const bool is_weak = is_pair && fault.kind == "link" && fault.rank / 2 * 2 == pair_first_;
    // A ring turns at the speed of its slowest link.
    const bool has_weak = fault.kind == "wire" && first <= fault.rank && fault.rank < last;
    const auto healthy_ns = static_cast<double>(is_pair ? kPairTransferNanos : kWorldTransferNanos);
    task->transfer_ns = static_cast<int64_t>((is_weak || has_weak ? fault.factor : 1) * healthy_ns);
    for (Flow& flow : task->flows) {
      const int members = last - first + 1;
      flow.is_send = &flow == &task->flows[0];
      flow.peer = first + (arguments_.rank - first + (flow.is_send ? 1 : members - 1)) % members;
      const bool is_between =
          std::min(flow.peer, arguments_.rank) == fault.rank && std::max(flow.peer, arguments_.rank) == fault.rank + 1;
      flow.wire_ns = static_cast<int64_t>((has_weak && is_between ? fault.factor : 1) * healthy_ns);
    }
    Operation& operation = task->played.operation;
    operation.function = &kAllReduce;
    operation.datatype = &kBfloat16;
    operation.count = is_pair ? 1 << 20 : 1 << 22;
    operation.channels = kChannels;
    rank.Launch({&task->played});
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.NotifyAll();
  }

  // The GPU and the thread that tells the plugin about it.
  void RunGpu() {
    while (true) {
      Task* task = nullptr;
      {
        MutexLock lock(mutex_);
        while (tasks_.empty()) changed_.Wait(mutex_);
        task = tasks_.front().get();
      }
      Run(*task);
      MutexLock lock(mutex_);
      tasks_.pop_front();
      changed_.NotifyAll();
    }
  }

  void Run(Task& task) {
    // Where steps are told, their waits begin when the host has enqueued the operation.
    const bool tells_steps = task.rank->Wants(task.played, kProxyStep);
    if (tells_steps) StartProxies(task);
    const int64_t begin_ns = std::max(free_at_ns_, task.played.launched_ns) + task.compute_ns;
    WatchNetwork(task, [begin_ns] { return Now() >= begin_ns; });
    SleepUntil(begin_ns);
    const int64_t began_ns = Now();
    board_.Arrive(task.number, arguments_.rank, began_ns);
    for (int channel = 0; channel < kChannels; ++channel) {
      task.rank->BeginKernel(task.played, channel, GpuTime(began_ns));
    }
    if (!tells_steps) StartProxies(task);
    SendChunk(task, began_ns);
    int64_t last_ns = 0;
    WatchNetwork(task, [&] { return board_.LastArrival(task.number, task.first, task.last) != 0; });
    while ((last_ns = board_.LastArrival(task.number, task.first, task.last)) == 0) SleepUntil(Now() + kPollNanos);
    free_at_ns_ = last_ns + task.transfer_ns;
    WatchNetwork(task, [this] { return Now() >= free_at_ns_; });
    SleepUntil(free_at_ns_);
    StopProxies(task);
    for (int channel = 0; channel < kChannels; ++channel) {
      task.rank->EndKernel(task.played, channel, GpuTime(free_at_ns_));
    }
  }

  void StartProxies(Task& task) {
    if (!arguments_.has_network || !task.rank->Wants(task.played, kProxyOp | kProxyStep)) return;
    const Communicator& communicator = task.rank->communicator();
    EventCaller& caller = task.rank->caller();
    for (Flow& flow : task.flows) {
      const Event operation = {.type = kProxyOp,
                               .parent = task.played.task_handle,
                               .communicator = &communicator,
                               .pid = getpid(),
                               .peer = flow.peer - task.first,
                               .step = 1,
                               .is_send = flow.is_send};
      flow.operation = caller.Start(task.rank->context(), operation);
      if (!task.rank->Wants(task.played, kProxyStep)) continue;
      const Event step = {.type = kProxyStep, .parent = flow.operation, .communicator = &communicator, .step = 0};
      flow.step = caller.Start(task.rank->context(), step);
      caller.Record(flow.step, flow.is_send ? kProxyStepSendGpuWait : kProxyStepRecvWait, kChunkBytes);
    }
  }

  // The own GPU has begun: it fills the buffer, and the peer has room.
  static void SendChunk(Task& task, int64_t now_ns) {
    Flow& flow = task.flows[0];
    flow.sent_ns = now_ns;
    if (flow.step == nullptr) return;
    task.rank->caller().Record(flow.step, kProxyStepSendPeerWait, kChunkBytes);
    task.rank->caller().Record(flow.step, kProxyStepSendWait, kChunkBytes);
  }

  // Tells what becomes of the chunks until `is_over`; at once where nobody asks for them.
  template <typename IsOver>
  void WatchNetwork(Task& task, const IsOver& is_over) {
    while ((task.flows[0].step != nullptr || task.flows[1].step != nullptr) && !is_over()) {
      for (Flow& flow : task.flows) MoveChunk(task, flow);
      SleepUntil(Now() + kPollNanos);
    }
  }

  void MoveChunk(Task& task, Flow& flow) {
    if (flow.step == nullptr) return;
    EventCaller& caller = task.rank->caller();
    const bool own_gpu_runs = task.flows[0].sent_ns != 0;
    if (flow.is_send) {
      if (own_gpu_runs && Now() >= flow.sent_ns + flow.wire_ns) StopStep(caller, flow);
      return;
    }
    const int64_t sent_ns = board_.LastArrival(task.number, flow.peer, flow.peer);
    if (!flow.has_arrived && sent_ns != 0 && Now() >= sent_ns + flow.wire_ns) {
      flow.has_arrived = true;
      caller.Record(flow.step, kProxyStepRecvFlushWait, kChunkBytes);
      caller.Record(flow.step, kProxyStepRecvGpuWait, kChunkBytes);
    }
    if (flow.has_arrived && own_gpu_runs) StopStep(caller, flow);
  }

  static void StopStep(EventCaller& caller, Flow& flow) {
    caller.Stop(flow.step);
    flow.step = nullptr;
  }

  static void StopProxies(Task& task) {
    EventCaller& caller = task.rank->caller();
    for (Flow& flow : task.flows) {
      if (flow.step != nullptr) StopStep(caller, flow);
      if (flow.operation != nullptr) caller.Stop(flow.operation);
    }
  }

  const Arguments arguments_;
  ArrivalBoard board_;
  Random random_;
  const int pair_first_;
  int32_t mask_ = 0;
  PlayedRank world_;
  PlayedRank pair_;
  uint64_t enqueued_ = 0;
  int64_t free_at_ns_ = 0;  // the GPU
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::unique_ptr<Task>> tasks_ ABSL_GUARDED_BY(mutex_);
};

int Run(int argc, char** argv) {
  if (argc < 7) {
    fprintf(stderr, "usage: nccl_train PLUGIN NEWEST_VERSION RANK RANKS BOARD_FILE CONTROL_FILE [network=0]\n");
    return 2;
  }
  Arguments arguments = {argv[1], atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), argv[5], argv[6]};
  arguments.has_network = argc < 8 || strcmp(argv[7], "network=0") != 0;
  if (arguments.version < kOldestVersion || arguments.version > kNewestVersion) return 2;
  nccl_release = kReleases[arguments.version];
  const auto library = PluginLibrary::Load(arguments.plugin, arguments.version);
  if (!library.ok()) {
    fprintf(stderr, "nccl_train: %s\n", library.status().ToString().c_str());
    return 3;
  }
  EventCaller caller((*library)->table(), (*library)->version());
  TrainingRank(arguments, caller).Train();
  return 0;
}

}  // namespace
}  // namespace lockstep::nccl

// What NCCL's own library exports, for plugins that ask which release it is.
extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  *version = lockstep::nccl::nccl_release;
  return 0;
}

int main(int argc, char** argv) { return lockstep::nccl::Run(argc, argv); }
