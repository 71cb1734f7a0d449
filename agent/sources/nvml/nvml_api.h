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
  kNvmlTimeout = 10,
  kNvmlFunctionNotFound = 13,
  kNvmlGpuIsLost = 15,
};

using NvmlDevice = struct NvmlDeviceOpaque*;  // a GPU, or a MIG instance of one
using NvmlEventSet = struct NvmlEventSetOpaque*;

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

struct NvmlEventData {
  NvmlDevice device;
  unsigned long long type;
  unsigned long long data;  // the Xid, of kNvmlEventXid
  uint32_t gpu_instance;
  uint32_t compute_instance;
};

// `status` counts only in the state kNvmlFabricCompleted.
struct NvmlFabricInfoV1 {
  uint8_t cluster_uuid[16];
  int32_t status;
  uint32_t clique;
  uint8_t state;
};

struct NvmlFabricInfo {
  uint32_t version;  // set by the caller: kNvmlFabricInfoVersion
  uint8_t cluster_uuid[16];
  int32_t status;
  uint32_t clique;
  uint8_t state;
  uint32_t health;  // kNvmlFabricHealthBits for each thing that may be wrong: 0 = not told, 1 = it is, 2 = it is not
};
static_assert(sizeof(NvmlPciInfo) == 68 && sizeof(NvmlProcess) == 24 && sizeof(NvmlFieldValue) == 40 &&
                  sizeof(NvmlEventData) == 32 && sizeof(NvmlFabricInfoV1) == 28 && sizeof(NvmlFabricInfo) == 36,
              "layouts of the library");

inline constexpr int kNvmlTemperatureGpu = 0;
inline constexpr uint32_t kNvmlFieldMemoryTemperature = 82;
inline constexpr uint32_t kNvmlFieldCrcFlitErrors = 38;  // this and the next three: of all links
inline constexpr uint32_t kNvmlFieldCrcDataErrors = 45;
inline constexpr uint32_t kNvmlFieldReplayErrors = 52;
inline constexpr uint32_t kNvmlFieldRecoveryErrors = 59;
inline constexpr uint32_t kNvmlFieldPowerViolation = 74;  // this and the next four: nanoseconds
inline constexpr uint32_t kNvmlFieldThermalViolation = 75;
inline constexpr uint32_t kNvmlFieldSyncBoostViolation = 76;
inline constexpr uint32_t kNvmlFieldBoardLimitViolation = 77;
inline constexpr uint32_t kNvmlFieldReliabilityViolation = 79;
inline constexpr uint32_t kNvmlFieldThroughputTransmit = 138;  // KiB since the driver was loaded
inline constexpr uint32_t kNvmlFieldThroughputReceive = 139;
inline constexpr uint32_t kNvmlFieldTransmitBytes = 202;  // this and those up to 215: NVLink 5 and newer
inline constexpr uint32_t kNvmlFieldReceiveBytes = 204;
inline constexpr uint32_t kNvmlFieldMalformedPackets = 206;  // part of the receive errors, as far as is documented
inline constexpr uint32_t kNvmlFieldBufferOverruns = 207;
inline constexpr uint32_t kNvmlFieldReceiveErrors = 208;
inline constexpr uint32_t kNvmlFieldIntegrityErrors = 211;
inline constexpr uint32_t kNvmlFieldTransmitDiscards = 212;
inline constexpr uint32_t kNvmlFieldRecoveryFailures = 214;  // of the recovery events
inline constexpr uint32_t kNvmlFieldRecoveryEvents = 215;
inline constexpr uint32_t kNvmlScopeAllLinks = 0xffffffff;
// Types of the values of fields, which are also the positions in its union.
inline constexpr int32_t kNvmlValueDouble = 0;
inline constexpr int32_t kNvmlValueUint32 = 1;
inline constexpr int32_t kNvmlValueUnsignedLong = 2;
inline constexpr int32_t kNvmlValueUint64 = 3;
inline constexpr int kNvmlClockSm = 1;
inline constexpr int kNvmlClockMemory = 2;
inline constexpr int kNvmlPcieTransmit = 0;
inline constexpr int kNvmlPcieReceive = 1;
inline constexpr int kNvmlEccCorrected = 0;
inline constexpr int kNvmlEccUncorrected = 1;
inline constexpr int kNvmlEccVolatile = 0;
inline constexpr unsigned long long kNvmlEventDoubleBitEcc = 0x2;
inline constexpr unsigned long long kNvmlEventXid = 0x8;
inline constexpr uint8_t kNvmlFabricNotSupported = 0;
inline constexpr uint8_t kNvmlFabricCompleted = 3;
inline constexpr uint32_t kNvmlFabricInfoVersion = sizeof(NvmlFabricInfo) | 2u << 24;
inline constexpr int kNvmlFabricHealthBits = 2;
inline constexpr uint32_t kNvmlMigEnabled = 1;
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
  int (*minor_number)(NvmlDevice, uint32_t*);
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
  int (*fabric_info)(NvmlDevice, NvmlFabricInfo*);
  int (*fabric_info_v1)(NvmlDevice, NvmlFabricInfoV1*);  // before driver 545

  int (*mig_mode)(NvmlDevice, uint32_t* current, uint32_t* pending);
  int (*max_mig_instances)(NvmlDevice, uint32_t*);
  int (*mig_instance)(NvmlDevice, uint32_t, NvmlDevice*);
  int (*gpu_instance_id)(NvmlDevice, uint32_t*);  // of a MIG instance

  int (*event_set_create)(NvmlEventSet*);
  int (*event_set_free)(NvmlEventSet);
  int (*event_set_wait)(NvmlEventSet, NvmlEventData*, uint32_t timeout_ms);
  int (*register_events)(NvmlDevice, unsigned long long types, NvmlEventSet);
  int (*supported_events)(NvmlDevice, unsigned long long* types);
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NVML_NVML_API_H_
