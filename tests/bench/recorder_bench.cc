// What the recorders cost their caller per operation: the NCCL recorder through NCCL's own interface (nccl_bench.h),
// and what the MPI recorder is made of, target 100 ns median.

#include <benchmark/benchmark.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "agent/recorder/ring_writer.h"
#include "agent/recorder/testing/ring_directory.h"
#include "tests/bench/json_reporter.h"
#include "tests/bench/nccl_bench.h"

namespace lockstep::ring {
namespace {

constexpr int kRepetitions = 9;

// nullptr = no ring can be made here.
RingWriter* OpenWriter(bool calls_come_one_at_a_time) {
  static RingDirectory directory("/dev/shm");
  static RingWriter writers[2];
  RingWriter& writer = writers[calls_come_one_at_a_time ? 1 : 0];
  const bool is_open = writer.active() || writer.Open({.directory = directory.path().c_str(),
                                                       .kind = RecorderKind::kMpi,
                                                       .calls_come_one_at_a_time = calls_come_one_at_a_time});
  return is_open ? &writer : nullptr;
}

uint32_t World(RingWriter* writer) {
  return writer->FindOrAddCommunicator({.id = 1, .size = 4, .rank = 0, .name = "world"}, MonotonicNs());
}

OperationDescription AllReduce(uint32_t communicator) {
  return {.kind = OperationKind::kAllReduce, .communicator = communicator, .bytes = 4096, .datatype_bytes = 4};
}

// A recorder of asynchronous operations: three events, each with its own time stamp.
void BeginStartFinish(benchmark::State& state, bool calls_come_one_at_a_time) {
  RingWriter* writer = OpenWriter(calls_come_one_at_a_time);
  if (writer == nullptr) return state.SkipWithError("no ring");
  const OperationDescription operation = AllReduce(World(writer));
  for (auto _ : state) {
    const OperationHandle handle = writer->Begin(operation, MonotonicNs());
    writer->Start(handle, MonotonicNs());
    writer->Finish(handle, {}, MonotonicNs());
  }
}
void recorder_begin_start_finish(benchmark::State& state) { BeginStartFinish(state, true); }
BENCHMARK(recorder_begin_start_finish)->Repetitions(kRepetitions)->MinTime(0.1);
void recorder_begin_start_finish_thread_safe(benchmark::State& state) { BeginStartFinish(state, false); }
BENCHMARK(recorder_begin_start_finish_thread_safe)->Repetitions(kRepetitions)->MinTime(0.1);

// A blocking call, as the MPI recorder records it.
void BlockingCall(benchmark::State& state, bool calls_come_one_at_a_time) {
  RingWriter* writer = OpenWriter(calls_come_one_at_a_time);
  if (writer == nullptr) return state.SkipWithError("no ring");
  OperationDescription operation = AllReduce(World(writer));
  operation.started = true;
  for (auto _ : state) {
    const OperationHandle handle = writer->Begin(operation, MonotonicNs());
    writer->Finish(handle, {}, MonotonicNs());
  }
}
void recorder_blocking_call(benchmark::State& state) { BlockingCall(state, true); }
BENCHMARK(recorder_blocking_call)->Repetitions(kRepetitions)->MinTime(0.1);
void recorder_blocking_call_thread_safe(benchmark::State& state) { BlockingCall(state, false); }
BENCHMARK(recorder_blocking_call_thread_safe)->Repetitions(kRepetitions)->MinTime(0.1);

// What of that is the clock: one time stamp.
void recorder_clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(MonotonicNs());
}
BENCHMARK(recorder_clock)->Repetitions(kRepetitions)->MinTime(0.1);

// Where no ring could be made.
void recorder_inert(benchmark::State& state) {
  static RingWriter writer;
  const OperationDescription operation = AllReduce(kNoCommunicator);
  for (auto _ : state) {
    const OperationHandle handle = writer.Begin(operation, 1);
    writer.Finish(handle, {}, 2);
  }
}
BENCHMARK(recorder_inert)->Repetitions(kRepetitions)->MinTime(0.1);

// The NCCL recorder of this build, unless --plugin=PATH names another one.
std::string PluginPath(int argc, char** argv) {
  constexpr char kFlag[] = "--plugin=";
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], kFlag, strlen(kFlag)) == 0) return argv[i] + strlen(kFlag);
  }
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  return self.parent_path() / "../../agent/recorder/libnccl-profiler-lockstep.so";
}

int MeasureNccl(const std::string& plugin) {
  const RingDirectory directory("/dev/shm");
  setenv(kDirectoryVariable, directory.path().c_str(), 1);
  const absl::Status status = RunNcclBenchmarks(plugin, directory.path());
  if (status.ok()) return 0;
  fprintf(stderr, "recorder_bench: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace lockstep::ring

int main(int argc, char** argv) {
  const int failed = lockstep::ring::MeasureNccl(lockstep::ring::PluginPath(argc, argv));
  argc = static_cast<int>(
      std::remove_if(argv, argv + argc, [](const char* argument) { return strncmp(argument, "--plugin=", 9) == 0; }) -
      argv);
  return lockstep::RunBenchmarks(argc, argv) | failed;
}
