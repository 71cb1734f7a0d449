// The part of NVIDIA's management library that we call, declared in our own words from its public documentation, so
// that neither its header nor the library is needed to build. Names and layouts are its ABI. Immutable once loaded.

#ifndef LOCKSTEP_AGENT_SOURCES_NVML_NVML_API_H_
#define LOCKSTEP_AGENT_SOURCES_NVML_NVML_API_H_

#include <cstdint>

namespace lockstep {

// Return codes that mean something to us.
enum NvmlReturn : int {
  kNvmlSuccess = 0,
  kNvmlUninitialized = 1,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNoPermission = 4,
  kNvmlNotFound = 6,
  kNvmlDriverNotLoaded = 9,
  kNvmlFunctionNotFound = 13,
  kNvmlGpuIsLost = 15,
};

using NvmlDevice = struct NvmlDeviceOpaque*;

struct NvmlPciInfo {
  char bus_id_legacy[16];
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t pci_device_id;
  uint32_t pci_subsystem_id;
  char bus_id[32];
};

struct NvmlUtilization {
  uint32_t gpu_percent;
  uint32_t memory_percent;
};

struct NvmlMemory {
  uint64_t total_bytes;
  uint64_t free_bytes;
  uint64_t used_bytes;
};

struct NvmlProcess {
  uint32_t pid;
  uint64_t used_memory_bytes;
  uint32_t gpu_instance;
  uint32_t compute_instance;
};

struct NvmlFieldValue {
  uint32_t field_id;
  uint32_t scope_id;
  int64_t timestamp_us;
  int64_t latency_us;
  int32_t value_type;
  int32_t nvml_return;
  union {
    double as_double;
    uint32_t as_uint32;
    uint64_t as_uint64;
  } value;
};
static_assert(sizeof(NvmlPciInfo) == 68 && sizeof(NvmlProcess) == 24 && sizeof(NvmlFieldValue) == 40,
              "layouts of the library");

inline constexpr int kNvmlTemperatureGpu = 0;
inline constexpr uint32_t kNvmlFieldMemoryTemperature = 82;
inline constexpr int32_t kNvmlValueUint32 = 1;
inline constexpr int kNvmlClockSm = 1;
inline constexpr int kNvmlClockMemory = 2;
inline constexpr int kNvmlPcieTransmit = 0;
inline constexpr int kNvmlPcieReceive = 1;
inline constexpr int kNvmlEccCorrected = 0;
inline constexpr int kNvmlEccUncorrected = 1;
inline constexpr int kNvmlEccVolatile = 0;
inline constexpr uint32_t kNvmlMaxLinks = 18;
inline constexpr int kNvmlLinkReplay = 0;
inline constexpr int kNvmlLinkRecovery = 1;
inline constexpr int kNvmlLinkCrcFlit = 2;
inline constexpr int kNvmlLinkCrcData = 3;

// Functions of the library; those that an old driver lacks are null.
struct NvmlApi {
  int (*init)();
  int (*device_count)(uint32_t*);
  int (*device_by_index)(uint32_t, NvmlDevice*);
  const char* (*error_string)(int);

  int (*uuid)(NvmlDevice, char*, uint32_t);
  int (*pci_info)(NvmlDevice, NvmlPciInfo*);
  int (*compute_processes)(NvmlDevice, uint32_t* count, NvmlProcess*);
  int (*utilization)(NvmlDevice, NvmlUtilization*);
  int (*memory)(NvmlDevice, NvmlMemory*);
  int (*temperature)(NvmlDevice, int, uint32_t*);
  int (*field_values)(NvmlDevice, int, NvmlFieldValue*);
  int (*power_usage)(NvmlDevice, uint32_t*);
  int (*power_limit)(NvmlDevice, uint32_t*);
  int (*clock)(NvmlDevice, int, uint32_t*);
  int (*clock_event_reasons)(NvmlDevice, unsigned long long*);
  int (*clock_throttle_reasons)(NvmlDevice, unsigned long long*);  // the same under the name before driver 535
  int (*pcie_generation)(NvmlDevice, uint32_t*);
  int (*pcie_width)(NvmlDevice, uint32_t*);
  int (*pcie_generation_max)(NvmlDevice, uint32_t*);
  int (*pcie_width_max)(NvmlDevice, uint32_t*);
  int (*pcie_replays)(NvmlDevice, uint32_t*);
  int (*pcie_throughput)(NvmlDevice, int, uint32_t*);
  int (*ecc_errors)(NvmlDevice, int, int, unsigned long long*);
  int (*remapped_rows)(NvmlDevice, uint32_t*, uint32_t*, uint32_t*, uint32_t*);
  int (*energy)(NvmlDevice, unsigned long long*);
  int (*link_state)(NvmlDevice, uint32_t, uint32_t*);
  int (*link_errors)(NvmlDevice, uint32_t, int, unsigned long long*);
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NVML_NVML_API_H_
