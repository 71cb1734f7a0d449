#include "agent/recorder/preload_recorder.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "agent/recorder/job_identity.h"
#include "agent/recorder/nccl_gpu_driver.h"
#include "agent/recorder/preload_next_function.h"

namespace lockstep::ring {

constinit PreloadRecorder g_preload_recorder;
constinit thread_local int NcclCall::depth_ = 0;

namespace {

constexpr char kSwitchVariable[] = "LOCKSTEP_RECORDER";  // "off" = leave a ring that says so, and nothing else
constexpr char kProfilerPlugin[] = "/libnccl-profiler-lockstep";
constexpr uint32_t kOpened = 2;

constinit NextFunction<int*> g_next_get_version("ncclGetVersion");
constinit NextFunction<nccl::Communicator, int*> g_next_count("ncclCommCount");
constinit NextFunction<nccl::Communicator, int*> g_next_user_rank("ncclCommUserRank");

bool IsSwitchedOff() {
  const char* value = getenv(kSwitchVariable);
  return value != nullptr && strcmp(value, "off") == 0;
}

int IsProfilerPlugin(dl_phdr_info* info, size_t, void*) {
  return info->dlpi_name != nullptr && strstr(info->dlpi_name, kProfilerPlugin) != nullptr ? 1 : 0;
}

bool IsProfilerPluginLoaded() { return dl_iterate_phdr(IsProfilerPlugin, nullptr) != 0; }

void OpenRing(const NcclMember& first, uint32_t library_version) {
  JobIdentity identity = ReadJobIdentity();
  RingOptions options;
  options.kind = RecorderKind::kNcclPreload;
  options.library_version = library_version;
  options.rank = identity.rank >= 0 ? identity.rank : first.rank;
  options.world_size = identity.rank >= 0 ? identity.world_size : first.size;
  options.local_rank = identity.local_rank;
  options.job = identity.job;
  const GpuIdentity gpu = IdentifyCurrentGpu();
  options.gpu_uuid = gpu.uuid;
  options.gpu_pci_address = gpu.pci_address;
  RingWriter& writer = g_preload_recorder.writer;
  if (writer.Open(options) && IsSwitchedOff()) writer.Disable(DisabledReason::kByEnvironment);
}

}  // namespace

void OpenPreloadRecorder(const NcclMember& first) {
  std::atomic<uint32_t>& opening = g_preload_recorder.opening;
  // The plugin comes and goes with NCCL's communicators, and there is none without an NCCL that knows plugins.
  int version = 0;
  g_next_get_version(g_preload_recorder.caller.load(std::memory_order_relaxed), &version);
  const bool stays_out = version >= nccl::kFirstVersionWithProfiler && IsProfilerPluginLoaded();
  if (opening.load(std::memory_order_acquire) == kOpened) {
    if (stays_out) g_preload_recorder.writer.Disable(DisabledReason::kOtherRecorder);
    return;
  }
  uint32_t expected = 0;
  if (!opening.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) return;
  if (!stays_out) OpenRing(first, version > 0 ? static_cast<uint32_t>(version) : 0);
  opening.store(kOpened, std::memory_order_release);
}

bool AskNccl(nccl::Communicator communicator, NcclMember* member) {
  int size = 0;
  int rank = -1;
  const void* const caller = g_preload_recorder.caller.load(std::memory_order_relaxed);
  if (g_next_count(caller, communicator, &size) != nccl::kSuccess) return false;
  if (g_next_user_rank(caller, communicator, &rank) != nccl::kSuccess) return false;
  member->size = size;
  member->rank = rank;
  return size > 0;
}

}  // namespace lockstep::ring
