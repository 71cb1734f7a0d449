#include "agent/recorder/mpi_recorder.h"

#include <stdlib.h>
#include <string.h>

#include "agent/recorder/job_identity.h"
#include "agent/recorder/visible_gpu.h"

namespace lockstep::ring {

constinit MpiRecorder g_recorder;
constinit thread_local int MpiCall::depth_ = 0;

namespace {

constexpr char kSwitchVariable[] = "LOCKSTEP_RECORDER";  // "off" = leave a ring that says so, and nothing else

bool IsSwitchedOff() {
  const char* value = getenv(kSwitchVariable);
  return value != nullptr && strcmp(value, "off") == 0;
}

// MPI_COMM_WORLD is the authority on rank and size; the environment knows the rest.
void OpenRecorder() {
  JobIdentity identity = ReadJobIdentity();
  int rank = -1;
  int size = -1;
  if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS) identity.rank = rank;
  if (PMPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS) identity.world_size = size;
  RingOptions options;
  options.kind = RecorderKind::kMpi;
  options.library_version = MPI_VERSION * 100 + MPI_SUBVERSION;
  int threads = MPI_THREAD_MULTIPLE;
  PMPI_Query_thread(&threads);
  options.calls_come_one_at_a_time = threads < MPI_THREAD_MULTIPLE;
  options.rank = identity.rank;
  options.world_size = identity.world_size;
  options.local_rank = identity.local_rank;
  options.job = identity.job;
  options.gpu_uuid = UuidOfOnlyGpu(getenv("CUDA_VISIBLE_DEVICES"));
  RingWriter& writer = g_recorder.writer;
  if (!writer.Open(options)) return;
  if (IsSwitchedOff()) return writer.Disable(DisabledReason::kByEnvironment);
  g_recorder.communicators.Add(MPI_COMM_WORLD, "MPI_COMM_WORLD", &writer);
  g_recorder.communicators.Add(MPI_COMM_SELF, "MPI_COMM_SELF", &writer);
}

}  // namespace

LOCKSTEP_MPI_ENTRY MPI_Init(int* argc, char*** argv) {
  MpiCall scope;
  const int result = PMPI_Init(argc, argv);
  if (result == MPI_SUCCESS) OpenRecorder();
  return result;
}

LOCKSTEP_MPI_ENTRY MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  MpiCall scope;
  const int result = PMPI_Init_thread(argc, argv, required, provided);
  if (result == MPI_SUCCESS) OpenRecorder();
  return result;
}

// Recording ends before the library does: what other ranks still have to do is not this rank's progress any more.
LOCKSTEP_MPI_ENTRY MPI_Finalize() {
  MpiCall scope;
  g_recorder.writer.Finalize();
  return PMPI_Finalize();
}

}  // namespace lockstep::ring
