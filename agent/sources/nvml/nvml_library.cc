#include "agent/sources/nvml/nvml_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

// Looks symbols up and remembers the first required one that is missing.
class SymbolFinder {
 public:
  explicit SymbolFinder(void* library) : library_(library) {}

  template <typename Function>
  void Require(const char* name, Function*& function) {
    Find(name, function);
    if (function == nullptr && missing_.empty()) missing_ = name;
  }

  template <typename Function>
  void Find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
  }

  const std::string& missing() const { return missing_; }

 private:
  void* const library_;
  std::string missing_;
};

}  // namespace

absl::StatusOr<NvmlApi> LoadNvml(const std::string& name) {
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::NotFoundError(absl::StrCat("no NVML: ", dlerror()));
  SymbolFinder finder(library);
  NvmlApi api = {};
  finder.Require("nvmlInit_v2", api.init);
  finder.Require("nvmlDeviceGetCount_v2", api.device_count);
  finder.Require("nvmlDeviceGetHandleByIndex_v2", api.device_by_index);
  finder.Require("nvmlErrorString", api.error_string);
  finder.Find("nvmlDeviceGetUUID", api.uuid);
  finder.Find("nvmlDeviceGetPciInfo_v3", api.pci_info);
  finder.Find("nvmlDeviceGetMinorNumber", api.minor_number);
  finder.Find("nvmlDeviceGetComputeRunningProcesses_v3", api.compute_processes);
  finder.Find("nvmlDeviceGetUtilizationRates", api.utilization);
  finder.Find("nvmlDeviceGetMemoryInfo", api.memory);
  finder.Find("nvmlDeviceGetTemperature", api.temperature);
  finder.Find("nvmlDeviceGetFieldValues", api.field_values);
  finder.Find("nvmlDeviceGetPowerUsage", api.power_usage);
  finder.Find("nvmlDeviceGetEnforcedPowerLimit", api.power_limit);
  finder.Find("nvmlDeviceGetClockInfo", api.clock);
  finder.Find("nvmlDeviceGetCurrentClocksEventReasons", api.clock_event_reasons);
  finder.Find("nvmlDeviceGetCurrentClocksThrottleReasons", api.clock_throttle_reasons);
  finder.Find("nvmlDeviceGetCurrPcieLinkGeneration", api.pcie_generation);
  finder.Find("nvmlDeviceGetCurrPcieLinkWidth", api.pcie_width);
  finder.Find("nvmlDeviceGetMaxPcieLinkGeneration", api.pcie_generation_max);
  finder.Find("nvmlDeviceGetMaxPcieLinkWidth", api.pcie_width_max);
  finder.Find("nvmlDeviceGetPcieReplayCounter", api.pcie_replays);
  finder.Find("nvmlDeviceGetPcieThroughput", api.pcie_throughput);
  finder.Find("nvmlDeviceGetTotalEccErrors", api.ecc_errors);
  finder.Find("nvmlDeviceGetRemappedRows", api.remapped_rows);
  finder.Find("nvmlDeviceGetTotalEnergyConsumption", api.energy);
  finder.Find("nvmlDeviceGetNvLinkState", api.link_state);
  finder.Find("nvmlDeviceGetNvLinkErrorCounter", api.link_errors);
  finder.Find("nvmlDeviceGetGpuFabricInfoV", api.fabric_info);
  finder.Find("nvmlDeviceGetGpuFabricInfo", api.fabric_info_v1);
  finder.Find("nvmlDeviceGetMigMode", api.mig_mode);
  finder.Find("nvmlDeviceGetMaxMigDeviceCount", api.max_mig_instances);
  finder.Find("nvmlDeviceGetMigDeviceHandleByIndex", api.mig_instance);
  finder.Find("nvmlDeviceGetGpuInstanceId", api.gpu_instance_id);
  finder.Find("nvmlEventSetCreate", api.event_set_create);
  finder.Find("nvmlEventSetFree", api.event_set_free);
  finder.Find("nvmlEventSetWait_v2", api.event_set_wait);
  finder.Find("nvmlDeviceRegisterEvents", api.register_events);
  finder.Find("nvmlDeviceGetSupportedEventTypes", api.supported_events);
  if (!finder.missing().empty()) {
    return absl::FailedPreconditionError(absl::StrCat(name, " lacks ", finder.missing()));
  }
  return api;
}

}  // namespace lockstep
