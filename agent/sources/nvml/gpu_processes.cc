#include "agent/sources/nvml/gpu_processes.h"

#include <algorithm>

namespace lockstep {

absl::optional<std::vector<int32_t>> ReadGpuProcesses(const NvmlApi& api, NvmlDevice device) {
  if (api.compute_processes == nullptr) return absl::nullopt;
  std::vector<NvmlProcess> processes(kMaxProcessesPerGpu);
  uint32_t count = kMaxProcessesPerGpu;
  if (api.compute_processes(device, &count, processes.data()) != kNvmlSuccess) return absl::nullopt;
  processes.resize(std::min<size_t>(count, processes.size()));
  std::vector<int32_t> pids;
  for (const NvmlProcess& process : processes) pids.push_back(static_cast<int32_t>(process.pid));
  // A GPU in instances lists a process once for each of them.
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

}  // namespace lockstep
