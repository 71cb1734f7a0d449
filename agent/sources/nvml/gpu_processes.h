// Which processes compute on a GPU.

#ifndef LOCKSTEP_AGENT_SOURCES_NVML_GPU_PROCESSES_H_
#define LOCKSTEP_AGENT_SOURCES_NVML_GPU_PROCESSES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "agent/sources/nvml/nvml_api.h"

namespace lockstep {

// Of one GPU. Training has one each; beyond this nobody is told from another anyway.
inline constexpr size_t kMaxProcessesPerGpu = 256;

// Pids as the agent sees them, each once, of a GPU or of a MIG instance; nothing where NVML does not say, or there are
// more than kMaxProcessesPerGpu.
absl::optional<std::vector<int32_t>> ReadGpuProcesses(const NvmlApi& api, NvmlDevice device);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NVML_GPU_PROCESSES_H_
