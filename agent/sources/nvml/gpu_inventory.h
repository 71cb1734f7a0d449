// Which GPUs this machine has.

#ifndef LOCKSTEP_AGENT_SOURCES_NVML_GPU_INVENTORY_H_
#define LOCKSTEP_AGENT_SOURCES_NVML_GPU_INVENTORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/sources/nvml/nvml_api.h"

namespace lockstep {

// More than any machine has; a library that says more is not believed.
inline constexpr uint32_t kMaxGpus = 64;

struct GpuInfo {
  uint32_t index = 0;              // of NVML, which is the order of PCI addresses
  std::string device;              // of its metrics: "gpu0"
  std::string uuid;                // "GPU-..."; "" = unknown
  std::string pci_address;         // as in kernel events, "0000:3b:00.0"; "" = unknown
  int32_t minor = -1;              // of its device, /dev/nvidia<minor>; -1 = unknown
  NvmlDevice handle = nullptr;     // nullptr = it could not be opened
  int open_result = kNvmlSuccess;  // of opening it
};

// Asks the library, which must be initialised. Errors of single GPUs are in their entries; OUT_OF_RANGE beyond
// kMaxGpus. Not thread-safe.
absl::StatusOr<std::vector<GpuInfo>> ReadGpuInventory(const NvmlApi& api);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NVML_GPU_INVENTORY_H_
