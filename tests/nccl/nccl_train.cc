// One rank of a training job that exists only as far as a profiler plugin can tell: its GPU computes by sleeping, its
// collectives end when all members have begun. Ranks come in pairs, as in tests/demo/train.cc.
//
//   nccl_train PLUGIN NEWEST_VERSION RANK RANKS BOARD_FILE CONTROL_FILE [network=0]
//
// A step: the host enqueues everything and waits; the GPU computes, runs an AllReduce in the pair, computes, and runs
// an AllReduce of all. `network=0` = no proxy events, as between GPUs of one host.
//
// CONTROL_FILE, looked at once per step, breaks the job: "slow RANK FACTOR" = that rank computes FACTOR times as long;
// "link RANK FACTOR" = transfers in the pair of that rank take FACTOR times as long; "hang RANK 1" = that rank's host
// enqueues nothing more. Empty or missing = healthy.

#include <fcntl.h>
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
#include "base/mutex.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "tests/nccl/arrival_board.h"
#include "tests/nccl/event.h"
#include "tests/nccl/played_rank.h"
#include "tests/nccl/plugin_library.h"
#include "tests/nccl/vocabulary.h"

namespace lockstep::nccl {
namespace {

constexpr int64_t kComputeNanos = 15 * kNanosPerMilli;  // before each of the two operations of a step
constexpr int64_t kPairTransferNanos = 2 * kNanosPerMilli;
constexpr int64_t kWorldTransferNanos = 3 * kNanosPerMilli;
constexpr int64_t kPollNanos = kNanosPerMilli / 5;
constexpr double kNoise = 0.01;  // of a computation, standard deviation
constexpr int kChannels = 2;
constexpr int kReleases[] = {0, 22304, 22501, 22606, 22706, 22809, 23007, 23102};
int nccl_release = 0;

int64_t Now() { return RealClock().MonotonicNanos(); }

void SleepUntil(int64_t at_ns) {
  StopSignal never;
  never.WaitFor(std::max<int64_t>(0, at_ns - Now()));
}

struct Fault {
  std::string kind;
  int rank = -1;
  double factor = 1;
};

Fault ReadFault(const std::string& path) {
  char text[64];
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return {};
  text[length] = '\0';
  char kind[16];
  Fault fault;
  if (sscanf(text, "%15s %d %lf", kind, &fault.rank, &fault.factor) != 3) return {};
  fault.kind = kind;
  return fault;
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

// An operation on its way through the GPU.
struct Task {
  PlayedRank* rank = nullptr;
  PlayedOperation played;
  uint64_t number = 0;  // on the board
  int first = 0;        // members
  int last = 0;
  int64_t compute_ns = 0;
  int64_t transfer_ns = 0;
  void* proxies[2] = {};
};

class TrainingRank {
 public:
  TrainingRank(const Arguments& arguments, EventCaller& caller)
      : arguments_(arguments),
        board_(arguments.board),
        random_(static_cast<uint64_t>(arguments.rank) + 1),
        pair_first_(arguments.rank / 2 * 2),
        world_(caller, &mask_,
               {.id = 0x770, .name = "world", .nodes = 1, .ranks = arguments.ranks, .rank = arguments.rank}),
        pair_(
            caller, &mask_,
            {.id = 0x771 + static_cast<uint64_t>(pair_first_), .name = "tp", .ranks = 2, .rank = arguments.rank % 2}) {}

  // Never returns.
  void Train() {
    world_.Init();
    pair_.Init();
    std::thread gpu([this] { RunGpu(); });
    while (true) {
      const Fault fault = ReadFault(arguments_.control);
      while (fault.kind == "hang" && fault.rank == arguments_.rank) SleepUntil(Now() + kNanosPerSecond);
      Enqueue(pair_, pair_first_, pair_first_ + 1, fault);
      Enqueue(world_, 0, arguments_.ranks - 1, fault);
      MutexLock lock(mutex_);
      while (!tasks_.empty()) changed_.Wait(mutex_);
    }
  }

 private:
  void Enqueue(PlayedRank& rank, int first, int last, const Fault& fault) {
    auto task = std::make_unique<Task>();
    task->rank = &rank;
    task->number = enqueued_++;
    task->first = first;
    task->last = last;
    const bool is_slow = fault.kind == "slow" && fault.rank == arguments_.rank;
    const double factor = (is_slow ? fault.factor : 1) * (1 + kNoise * random_.Gaussian());
    task->compute_ns = static_cast<int64_t>(factor * static_cast<double>(kComputeNanos));
    const bool is_pair = &rank == &pair_;
    const bool is_weak = is_pair && fault.kind == "link" && fault.rank / 2 * 2 == pair_first_;
    task->transfer_ns = static_cast<int64_t>((is_weak ? fault.factor : 1) *
                                             static_cast<double>(is_pair ? kPairTransferNanos : kWorldTransferNanos));
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
    SleepUntil(std::max(free_at_ns_, task.played.launched_ns) + task.compute_ns);
    const int64_t began_ns = Now();
    board_.Arrive(task.number, arguments_.rank, began_ns);
    for (int channel = 0; channel < kChannels; ++channel) {
      task.rank->BeginKernel(task.played, channel, GpuTime(began_ns));
    }
    StartProxies(task);
    int64_t last_ns = 0;
    while ((last_ns = board_.LastArrival(task.number, task.first, task.last)) == 0) SleepUntil(Now() + kPollNanos);
    free_at_ns_ = last_ns + task.transfer_ns;
    SleepUntil(free_at_ns_);
    StopProxies(task);
    for (int channel = 0; channel < kChannels; ++channel) {
      task.rank->EndKernel(task.played, channel, GpuTime(free_at_ns_));
    }
  }

  void StartProxies(Task& task) {
    if (!arguments_.has_network || !task.rank->Wants(task.played, kProxyOp | kProxyStep)) return;
    for (const bool is_send : {true, false}) {
      const Communicator& communicator = task.rank->communicator();
      const Event event = {.type = kProxyOp,
                           .parent = task.played.task_handle,
                           .communicator = &communicator,
                           .pid = getpid(),
                           .peer = (communicator.rank + (is_send ? 1 : communicator.ranks - 1)) % communicator.ranks,
                           .step = 1,
                           .is_send = is_send};
      task.proxies[is_send ? 1 : 0] = task.rank->caller().Start(task.rank->context(), event);
    }
  }
  void StopProxies(Task& task) {
    for (void* const proxy : task.proxies) task.rank->caller().Stop(proxy);
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
