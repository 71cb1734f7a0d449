#include "tests/bench/nccl_bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/gpu_names.h"
#include "agent/recorder/ring_format.h"
#include "agent/recorder/testing/ring_directory.h"
#include "agent/rooted_fs.h"
#include "agent/source.h"
#include "agent/sources/rings/ring_report.h"
#include "agent/sources/rings/rings_source.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/stop_signal.h"
#include "proto/telemetry.pb.h"
#include "tests/bench/json_reporter.h"
#include "tests/nccl/abi_values.h"
#include "tests/nccl/abi_versions.h"
#include "tests/nccl/plugin_library.h"

namespace lockstep {
namespace {

using nccl::PluginTable;
using Descriptor = nccl::Abi<5>::Descriptor;

constexpr int32_t kMask = nccl::kColl | nccl::kP2p | nccl::kKernelCh;
// Of an operation: inside of a machine, and across many.
constexpr int kUsualChannels = 2;
constexpr int kMostChannels = 16;
constexpr int kRuns = 5;
constexpr int kOperations = 200'000;
constexpr int64_t kFastPeriodNanos = 2'000;  // 500,000 operations per second
constexpr int64_t kFastNanos = 10 * kNanosPerSecond;

inline int64_t Now() { return RealClock().MonotonicNanos(); }

// One communicator whose launching thread is the caller. The descriptors are made once: only the plugin is measured.
class Player {
 public:
  explicit Player(const PluginTable& table) : table_(table) {
    coll_.type = nccl::kColl;
    coll_.body.coll = {.function = "AllReduce",
                       .count = 1024,
                       .datatype = "ncclFloat32",
                       .channels = kUsualChannels,
                       .warps = 8,
                       .algorithm = "RING",
                       .protocol = "SIMPLE"};
    group_api_.type = nccl::kGroupApi;
    group_api_.body.group_api = {.depth = 1};
    coll_api_.type = nccl::kCollApi;
    coll_api_.body.coll_api = {.function = "AllReduce", .count = 1024, .datatype = "ncclFloat32"};
    group_.type = nccl::kGroup;
    kernel_.type = nccl::kKernelCh;
  }

  bool Init() {
    const auto init = reinterpret_cast<nccl::InitV5>(table_.init);
    return init(&context_, 0xC0FFEE, &mask_, "bench", 1, 8, 0, nullptr) == nccl::kSuccess;
  }
  void Finalize() { table_.finalize(context_); }
  int32_t mask() const { return mask_; }
  void set_channels(int channels) { coll_.body.coll.channels = static_cast<uint8_t>(channels); }

  void Enqueue() {
    void* const group_api = Start(&group_api_);
    coll_api_.parent = group_api;
    void* const coll_api = Start(&coll_api_);
    Stop(coll_api);
    void* const group = Start(&group_);
    coll_.parent = coll_api;
    coll_.body.coll.parent_group = group;
    EnqueueCollOnly();
    Stop(group);
    Stop(group_api);
  }

  void EnqueueCollOnly() {
    ++coll_.body.coll.sequence;
    task_ = Start(&coll_);
    Stop(task_);
  }

  // The kernel of the newest operation, all channels at the same time.
  void RunKernel(int channels, int64_t now_ns) {
    kernel_.parent = task_;
    kernel_.body.kernel_channel.gpu_time = static_cast<uint64_t>(now_ns);
    for (int channel = 0; channel < channels; ++channel) {
      kernel_.body.kernel_channel.channel = static_cast<uint8_t>(channel);
      kernels_[channel] = Start(&kernel_);
    }
    for (int channel = 0; channel < channels; ++channel) {
      if (kernels_[channel] == nullptr) continue;
      // No later than its delivery: a GPU that seemed to be ahead of the host would be another experiment.
      nccl::NewState stop = {.gpu_time = static_cast<uint64_t>(now_ns) + 1};
      table_.record_event_state(kernels_[channel], nccl::kKernelChStop, &stop);
      table_.stop_event(kernels_[channel]);
    }
  }

 private:
  void* Start(Descriptor* descriptor) {
    void* handle = nullptr;
    table_.start_event(context_, &handle, descriptor);
    return handle;
  }
  void Stop(void* handle) {
    if (handle != nullptr) table_.stop_event(handle);
  }

  const PluginTable& table_;
  void* context_ = nullptr;
  int32_t mask_ = 0;
  Descriptor group_api_ = {};
  Descriptor coll_api_ = {};
  Descriptor group_ = {};
  Descriptor coll_ = {};
  Descriptor kernel_ = {};
  void* task_ = nullptr;
  void* kernels_[kMostChannels] = {};
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// What one run sees of its operations, nanoseconds each.
struct Percentiles {
  double p50 = 0;
  double p99 = 0;
};

// The kernels run between two enqueues, outside of what is timed, so that operations finish as in a job.
template <typename Enqueue>
Percentiles TimeEnqueue(Player& player, int channels, Enqueue enqueue) {
  player.set_channels(channels);
  std::vector<uint32_t> nanos(kOperations);
  for (uint32_t& taken : nanos) {
    const int64_t begin_ns = Now();
    enqueue();
    const int64_t end_ns = Now();
    taken = static_cast<uint32_t>(std::min<int64_t>(end_ns - begin_ns, std::numeric_limits<uint32_t>::max()));
    player.RunKernel(channels, end_ns);
  }
  player.set_channels(kUsualChannels);
  std::sort(nanos.begin(), nanos.end());
  return {static_cast<double>(nanos[kOperations / 2]), static_cast<double>(nanos[kOperations / 100 * 99])};
}

// CPU time of the calling thread: what else runs on the machine is not the recorder's cost.
double ThreadCpuNanos() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  const auto nanos = [](const timeval& time) { return 1e9 * static_cast<double>(time.tv_sec) + 1e3 * time.tv_usec; };
  return nanos(usage.ru_utime) + nanos(usage.ru_stime);
}

double TimeAllCallbacks(Player& player, int channels) {
  player.set_channels(channels);
  const double begin_ns = ThreadCpuNanos();
  for (int i = 0; i < kOperations; ++i) {
    player.Enqueue();
    player.RunKernel(channels, Now());
  }
  const double nanos = ThreadCpuNanos() - begin_ns;
  player.set_channels(kUsualChannels);
  return nanos / kOperations;
}

// One reading of the clock that every figure contains, to tell a slow machine from a slow recorder.
double TimeClock() {
  const double begin_ns = ThreadCpuNanos();
  int64_t sum = 0;
  for (int i = 0; i < kOperations; ++i) sum += Now();
  return sum == 0 ? 0 : (ThreadCpuNanos() - begin_ns) / kOperations;
}

constexpr uint64_t kPassesPerRun = 5;  // of kOperations operations each

void MeasureCallbacks(Player& player) {
  std::vector<double> p50, p99, p99_of_most, coll_only, two, sixteen, clock;
  for (int run = 0; run < kRuns; ++run) {
    const Percentiles enqueue = TimeEnqueue(player, kUsualChannels, [&] { player.Enqueue(); });
    p50.push_back(enqueue.p50);
    p99.push_back(enqueue.p99);
    p99_of_most.push_back(TimeEnqueue(player, kMostChannels, [&] { player.Enqueue(); }).p99);
    coll_only.push_back(TimeEnqueue(player, kUsualChannels, [&] { player.EnqueueCollOnly(); }).p50);
    two.push_back(TimeAllCallbacks(player, kUsualChannels));
    sixteen.push_back(TimeAllCallbacks(player, kMostChannels));
    clock.push_back(TimeClock());
  }
  PrintMeasurement("driver_clock_ns", Median(clock), "ns");
  PrintMeasurement("enqueue_ns_p50", Median(p50), "ns");
  PrintMeasurement("enqueue_ns_p99", Median(p99), "ns");
  PrintMeasurement("enqueue_ns_p99_16ch", Median(p99_of_most), "ns");
  PrintMeasurement("enqueue_coll_only_ns_p50", Median(coll_only), "ns");
  PrintMeasurement("all_callbacks_ns_per_op_2ch", Median(two), "ns");
  PrintMeasurement("all_callbacks_ns_per_op_16ch", Median(sixteen), "ns");
}

// Sends operations at a fixed rate; after a pause it catches up, as a launching thread does.
uint64_t PlayFast(Player& player) {
  uint64_t sent = 0;
  const int64_t begin_ns = Now();
  for (int64_t now_ns = begin_ns; now_ns < begin_ns + kFastNanos; now_ns = Now()) {
    const auto due = static_cast<uint64_t>((now_ns - begin_ns) / kFastPeriodNanos);
    for (; sent < due; ++sent) {
      player.Enqueue();
      player.RunKernel(kUsualChannels, Now());
    }
  }
  return sent;
}

// What the agent does with the rings of its host, at its own pace.
class LiveAgent {
 public:
  LiveAgent(const std::string& ring_directory, RootedFs root)
      : source_(ring_directory, std::move(root), Now(), std::make_shared<GpuNames>(), RealClock()),
        thread_([this] { Run(); }) {}

  // Ends with a last look at the rings.
  const RingTally& Stop() {
    stop_.Stop();
    thread_.join();
    Collect();
    return source_.total();
  }

  // Longest from one look to the next, so far; once stopped.
  int64_t longest_pause_ns() const { return longest_pause_ns_; }

 private:
  void Run() {
    // As the agent does: a look at busy rings between the ticks.
    for (;;) {
      Collect();
      for (int64_t passed_ns = 0; passed_ns < kTickNanos;) {
        const int64_t pause_ns = KeepUp();
        if (stop_.WaitFor(pause_ns)) return;
        passed_ns += pause_ns;
      }
    }
  }

  // A look begins.
  void NoteLook() {
    const int64_t now_ns = Now();
    if (last_look_ns_ != 0) longest_pause_ns_ = std::max(longest_pause_ns_, now_ns - last_look_ns_);
    last_look_ns_ = now_ns;
  }

  int64_t KeepUp() {
    NoteLook();
    return source_.KeepUp();
  }

  void Collect() {
    NoteLook();
    wire::AgentReport report;
    Tick tick;
    tick.monotonic_ns = Now();
    source_.Collect(tick, report).IgnoreError();
  }

  static constexpr int64_t kTickNanos = kNanosPerSecond;  // the agent's default
  RingsSource source_;
  StopSignal stop_;
  int64_t last_look_ns_ = 0;
  int64_t longest_pause_ns_ = 0;
  std::thread thread_;
};

// The ring of this process; the bytes are a copy.
absl::StatusOr<ring::RingHeader> ReadHeader(const std::string& ring_directory, uint64_t* file_bytes) {
  ring::RingHeader header;
  for (const auto& entry : std::filesystem::directory_iterator(ring_directory)) {
    const std::string bytes = ring::ReadFile(entry.path().string());
    if (bytes.size() < sizeof(header)) continue;
    memcpy(&header, bytes.data(), sizeof(header));
    *file_bytes = bytes.size();
    return header;
  }
  return absl::NotFoundError(absl::StrCat("the plugin made no ring in ", ring_directory));
}

absl::Status MeasureLoss(Player& player, const std::string& ring_directory) {
  uint64_t file_bytes = 0;
  ASSIGN_OR_RETURN(RootedFs root, RootedFs::Open("/"));
  ASSIGN_OR_RETURN(const ring::RingHeader before, ReadHeader(ring_directory, &file_bytes));
  LiveAgent agent(ring_directory, std::move(root));
  const uint64_t sent = PlayFast(player);
  const RingTally total = agent.Stop();
  ASSIGN_OR_RETURN(const ring::RingHeader after, ReadHeader(ring_directory, &file_bytes));
  const uint64_t recorded = after.counters.enqueued - before.counters.enqueued;
  if (recorded != sent) return absl::DataLossError(absl::StrCat("recorded ", recorded, " of ", sent, " operations"));
  const uint64_t lost = after.counters.lost - before.counters.lost;
  PrintMeasurement("lost_records", static_cast<double>(total.overwritten + total.malformed + lost), "records");
  PrintMeasurement("lost_records_of", static_cast<double>(sent), "records");
  PrintMeasurement("agent_longest_pause", static_cast<double>(agent.longest_pause_ns()) / 1e6, "ms");
  PrintMeasurement("ring_bytes_per_process", static_cast<double>(file_bytes), "B");
  return absl::OkStatus();
}

// Figures of a recorder that recorded less would look better.
absl::Status CheckAllRecorded(const std::string& ring_directory) {
  constexpr uint64_t kSent = uint64_t{kRuns} * kOperations * kPassesPerRun;
  uint64_t file_bytes = 0;
  ASSIGN_OR_RETURN(const ring::RingHeader header, ReadHeader(ring_directory, &file_bytes));
  if (header.counters.enqueued == kSent && header.counters.finished == kSent) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("sent ", kSent, " operations, but ", header.counters.enqueued,
                                          " were enqueued and ", header.counters.finished, " finished"));
}

}  // namespace

absl::Status RunNcclBenchmarks(const std::string& plugin, const std::string& ring_directory) {
  // Playing without pause is what its governor is there to prevent.
  setenv("LOCKSTEP_RECORDER_BUDGET", "100", 1);
  ASSIGN_OR_RETURN(const auto library, nccl::PluginLibrary::Load(plugin, 5));
  if (library->version() != 5) return absl::NotFoundError("the plugin has no v5");
  Player player(library->table());
  if (!player.Init()) return absl::UnavailableError("the plugin declined");
  if (player.mask() != kMask) return absl::FailedPreconditionError(absl::StrCat("asks for ", player.mask()));
  MeasureCallbacks(player);
  absl::Status status = CheckAllRecorded(ring_directory);
  if (status.ok()) status = MeasureLoss(player, ring_directory);
  player.Finalize();
  return status;
}

}  // namespace lockstep
