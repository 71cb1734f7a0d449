#include "agent/sources/nvml/gpu_inventory.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/sources/nvml/mig_instances.h"
#include "base/pci_address.h"

namespace lockstep {

absl::StatusOr<std::vector<GpuInfo>> ReadGpuInventory(const NvmlApi& api) {
  uint32_t count = 0;
  const int counted = api.device_count(&count);
  if (counted != kNvmlSuccess) return absl::UnavailableError(absl::StrCat("GPU count: ", api.error_string(counted)));
  if (count > kMaxGpus) return absl::OutOfRangeError(absl::StrCat(count, " GPUs, at most ", kMaxGpus));
  std::vector<GpuInfo> gpus(count);
  for (uint32_t i = 0; i < gpus.size(); ++i) {
    GpuInfo& gpu = gpus[i];
    gpu.index = i;
    gpu.device = absl::StrCat("gpu", i);
    gpu.open_result = api.device_by_index(i, &gpu.handle);
    if (gpu.open_result != kNvmlSuccess) {
      gpu.handle = nullptr;
      continue;
    }
    gpu.uuid = ReadNvmlUuid(api, gpu.handle);
    uint32_t minor = 0;
    if (api.minor_number != nullptr && api.minor_number(gpu.handle, &minor) == kNvmlSuccess) {
      gpu.minor = static_cast<int32_t>(minor);
    }
    NvmlPciInfo pci = {};
    if (api.pci_info != nullptr && api.pci_info(gpu.handle, &pci) == kNvmlSuccess) {
      gpu.pci_address = NormalizePciAddress(absl::string_view(pci.bus_id, strnlen(pci.bus_id, sizeof(pci.bus_id))));
    }
  }
  return gpus;
}

}  // namespace lockstep
