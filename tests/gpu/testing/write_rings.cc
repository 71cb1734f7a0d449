// Writes the rings of a scripted job of two ranks, as recorders would: for the tests of the checks in tests/gpu.
// Arguments: DIRECTORY SCENARIO QUALITY, where the scenario is healthy, slow (rank 1 late), stuck (rank 0 never arrives
// in step 20) or lossy, and the quality a number of ring::TimingQuality; with a fourth, RANK, only that rank's ring.
// One ring per process: it forks.

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "agent/recorder/ring_format.h"
#include "agent/recorder/ring_writer.h"

namespace lockstep::ring {
namespace {

constexpr int kRanks = 2;
constexpr int kSteps = 60;
constexpr int kStuckStep = 20;
constexpr uint64_t kPayload = 4'000'012;  // that of tests/gpu/drive.py
constexpr int64_t kStepNs = 10'000'000;
constexpr int64_t kWaitNs = 2'000'000;

// Static storage, as in a recorder.
RingWriter g_writer;

bool WriteRing(const char* directory, const char* scenario, TimingQuality quality, int rank) {
  RingOptions options;
  options.directory = directory;
  options.kind = RecorderKind::kNcclProfiler;
  options.abi_version = 5;
  options.operation_capacity = strcmp(scenario, "lossy") == 0 ? 32 : 256;
  options.communicator_capacity = 8;
  options.transfer_capacity = 4;
  options.rank = rank;
  options.world_size = kRanks;
  options.local_rank = rank;
  options.job = "gpu-test";
  if (!g_writer.Open(options)) return false;
  const uint32_t world = g_writer.FindOrAddCommunicator(
      {.id = 0xABCDEF, .size = kRanks, .rank = rank, .node_count = 1, .name = "world"}, 1);
  // PyTorch's own barrier, which no check may count.
  g_writer.Finish(g_writer.Begin({.kind = OperationKind::kAllReduce, .communicator = world, .bytes = 4}, 10), {}, 20);
  const bool is_slow = strcmp(scenario, "slow") == 0;
  const bool hangs = strcmp(scenario, "stuck") == 0;
  for (int step = 0; step < kSteps; ++step) {
    if (hangs && step == kStuckStep && rank == 0) break;
    // All leave together; who comes last waits least.
    const bool is_late = rank == (is_slow ? 1 : step % 2);
    const int64_t entered_ns = kStepNs * (step + 1) + (is_late ? kWaitNs : 0);
    const OperationHandle operation = g_writer.Begin({.kind = OperationKind::kAllReduce,
                                                      .timing_quality = quality,
                                                      .communicator = world,
                                                      .bytes = kPayload,
                                                      .datatype_bytes = 4},
                                                     entered_ns);
    g_writer.Start(operation, entered_ns + 1000);
    if (hangs && step == kStuckStep) break;
    const bool is_lost = strcmp(scenario, "lossy") == 0 && step == 3;
    if (!is_lost) g_writer.Finish(operation, {}, kStepNs * (step + 1) + 2 * kWaitNs);
  }
  if (!hangs) g_writer.Finalize();
  return true;
}

}  // namespace
}  // namespace lockstep::ring

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const auto quality = static_cast<lockstep::ring::TimingQuality>(atoi(argv[3]));
  for (int rank = 0; rank < lockstep::ring::kRanks; ++rank) {
    if (argc == 5 && rank != atoi(argv[4])) continue;
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) _exit(lockstep::ring::WriteRing(argv[1], argv[2], quality, rank) ? 0 : 1);
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
  }
  return 0;
}
