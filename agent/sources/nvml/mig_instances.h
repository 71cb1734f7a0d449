// The MIG instances that a GPU is divided into. Not thread-safe.

#ifndef LOCKSTEP_AGENT_SOURCES_NVML_MIG_INSTANCES_H_
#define LOCKSTEP_AGENT_SOURCES_NVML_MIG_INSTANCES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "agent/sources/nvml/nvml_api.h"

namespace lockstep {

// More than a GPU can be divided into; a library that says more is not believed.
inline constexpr uint32_t kMaxMigInstances = 64;

struct MigInstance {
  uint32_t index = 0;         // of the GPU's instances; there may be gaps
  std::string uuid;           // "MIG-...", as CUDA_VISIBLE_DEVICES names it; "" = unknown
  int32_t gpu_instance = -1;  // id of the GPU instance that it is in, or is all of; -1 = unknown
  NvmlDevice handle = nullptr;
};

// None where MIG is off; nothing where the GPU or the library has no MIG.
absl::optional<std::vector<MigInstance>> ReadMigInstances(const NvmlApi& api, NvmlDevice device);

// "GPU-..." or "MIG-..." of either; "" = unknown. Printable.
std::string ReadNvmlUuid(const NvmlApi& api, NvmlDevice device);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NVML_MIG_INSTANCES_H_
