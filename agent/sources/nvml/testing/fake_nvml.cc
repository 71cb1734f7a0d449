// A libnvidia-ml that does what a script tells it, so that tests load and call it just like the real one.
//
// LOCKSTEP_FAKE_NVML names the script, read at every call, one word pair per line:
//   gpus N              number of GPUs (2 if not said)
//   unsupported NAME    that function answers NOT_SUPPORTED
//   hang NAME           that function does not return while the script says so
//   fail NAME           that function answers UNKNOWN
//   lost INDEX          that GPU is lost
//   driver gone         the driver is not loaded
//   xid INDEX:CODE      that GPU has this Xid; told once by each event set
//   ecc INDEX           that GPU has a double-bit error, likewise
//   links N             NVLinks of each GPU (4 if not said); the third is down
//   nvlink 5            the fields of NVLink 5 are answered, and those before it are not
//   fabric STATE        done, failed, degraded or waiting; a GPU without a fabric if not said
//   mig INDEX           that GPU is in two MIG instances, 0 and 2
// Not thread-safe, like the one thread that calls it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

// The declarations of the caller: the sanitizers compare the types on both sides of a call.
#include "agent/sources/nvml/nvml_api.h"

using lockstep::NvmlDevice;
using lockstep::NvmlEventData;
using lockstep::NvmlEventSet;
using lockstep::NvmlFabricInfo;
using lockstep::NvmlFabricInfoV1;
using lockstep::NvmlFieldValue;
using lockstep::NvmlMemory;
using lockstep::NvmlPciInfo;
using lockstep::NvmlProcess;
using lockstep::NvmlUtilization;

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kDriverNotLoaded = 9, kTimeout = 10,
              kGpuIsLost = 15, kUnknown = 999;

bool Says(const std::string& verb, const std::string& object) {
  const char* const path = std::getenv("LOCKSTEP_FAKE_NVML");
  std::ifstream script(path != nullptr ? path : "");
  std::string a, b;
  while (script >> a >> b) {
    if (a == verb && b == object) return true;
  }
  return false;
}

uint32_t NumberAfter(const std::string& verb, uint32_t otherwise) {
  const char* const path = std::getenv("LOCKSTEP_FAKE_NVML");
  std::ifstream script(path != nullptr ? path : "");
  std::string a, b;
  while (script >> a >> b) {
    if (a == verb) return static_cast<uint32_t>(std::atoi(b.c_str()));
  }
  return otherwise;
}

uint32_t GpuCount() { return NumberAfter("gpus", 2); }

// Handles of GPUs are 1 + the index; of their MIG instances, 1000 times (1 + the instance's) more.
constexpr uintptr_t kInstance = 1000;
uint32_t IndexOf(NvmlDevice device) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(device) % kInstance - 1);
}
// -1 = a whole GPU.
int InstanceOf(NvmlDevice device) { return static_cast<int>(reinterpret_cast<uintptr_t>(device) / kInstance) - 1; }
NvmlDevice DeviceOf(uint32_t index) { return reinterpret_cast<NvmlDevice>(static_cast<uintptr_t>(index) + 1); }
bool IsMig(NvmlDevice device) { return Says("mig", std::to_string(IndexOf(device))); }

int Enter(const char* function, NvmlDevice device) {
  while (Says("hang", function)) {
    const timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  if (Says("lost", std::to_string(IndexOf(device)))) return kGpuIsLost;
  if (Says("unsupported", function)) return kNotSupported;
  if (Says("fail", function)) return kUnknown;
  return kSuccess;
}

template <typename T>
int Answer(const char* function, NvmlDevice device, T* out, T value) {
  const int result = Enter(function, device);
  if (result == kSuccess) *out = value;
  return result;
}

}  // namespace

#define ANSWER(function, type, value) \
  extern "C" int function(NvmlDevice device, type* out) { return Answer<type>(#function, device, out, value); }

extern "C" int nvmlInit_v2() { return Says("driver", "gone") ? kDriverNotLoaded : kSuccess; }
extern "C" int nvmlDeviceGetCount_v2(uint32_t* count) {
  *count = GpuCount();
  return kSuccess;
}
extern "C" int nvmlDeviceGetHandleByIndex_v2(uint32_t index, NvmlDevice* device) {
  if (index >= GpuCount()) return kInvalidArgument;
  *device = DeviceOf(index);
  return Enter("nvmlDeviceGetHandleByIndex_v2", *device);
}
extern "C" const char* nvmlErrorString(int result) {
  return result == kGpuIsLost ? "GPU is lost" : result == kUnknown ? "Unknown Error" : "some error";
}
extern "C" int nvmlDeviceGetUUID(NvmlDevice device, char* out, uint32_t size) {
  if (InstanceOf(device) < 0) {
    std::snprintf(out, size, "GPU-00000000-0000-0000-0000-%012u", IndexOf(device));
  } else {
    std::snprintf(out, size, "MIG-00000000-0000-0000-%04u-%012u", IndexOf(device), InstanceOf(device));
  }
  return kSuccess;
}

extern "C" int nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPciInfo* out) {
  *out = {};
  std::snprintf(out->bus_id, sizeof(out->bus_id), "00000000:%02X:00.0", 0x3b + IndexOf(device));
  return kSuccess;
}

// Devices are not numbered as the GPUs are.
extern "C" int nvmlDeviceGetMinorNumber(NvmlDevice device, uint32_t* out) {
  *out = 10 + IndexOf(device);
  return kSuccess;
}

// One process on each, another one on all of them; of MIG instances one on each, which the GPU does not list.
extern "C" int nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice device, uint32_t* count, NvmlProcess* out) {
  if (InstanceOf(device) >= 0 || IsMig(device)) {
    *count = InstanceOf(device) >= 0 ? 1 : 0;
    out[0] = {.pid = static_cast<uint32_t>(200 + InstanceOf(device)),
              .used_memory_bytes = 0,
              .gpu_instance = 0,
              .compute_instance = 0};
    return Enter("nvmlDeviceGetComputeRunningProcesses_v3", device);
  }
  *count = 2;
  out[0] = {.pid = 100 + IndexOf(device), .used_memory_bytes = 0, .gpu_instance = 0, .compute_instance = 0};
  out[1] = {.pid = 99, .used_memory_bytes = 0, .gpu_instance = 0, .compute_instance = 0};
  return Enter("nvmlDeviceGetComputeRunningProcesses_v3", device);
}

ANSWER(nvmlDeviceGetUtilizationRates, NvmlUtilization, (NvmlUtilization{97, 40}))
ANSWER(nvmlDeviceGetMemoryInfo, NvmlMemory,
       (InstanceOf(device) < 0 ? NvmlMemory{1000, 400, 600} : NvmlMemory{500, 200, 300}))
ANSWER(nvmlDeviceGetPowerUsage, uint32_t, 650'500)
ANSWER(nvmlDeviceGetEnforcedPowerLimit, uint32_t, 700'000)
ANSWER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, 0x44)
ANSWER(nvmlDeviceGetCurrPcieLinkGeneration, uint32_t, 4)
ANSWER(nvmlDeviceGetCurrPcieLinkWidth, uint32_t, 8)
ANSWER(nvmlDeviceGetMaxPcieLinkGeneration, uint32_t, 5)
ANSWER(nvmlDeviceGetMaxPcieLinkWidth, uint32_t, 16)
ANSWER(nvmlDeviceGetPcieReplayCounter, uint32_t, 3)
ANSWER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, 123'456)

extern "C" int nvmlDeviceGetTemperature(NvmlDevice device, int, uint32_t* out) {
  return Answer<uint32_t>("nvmlDeviceGetTemperature", device, out, 60 + IndexOf(device));
}
extern "C" int nvmlDeviceGetClockInfo(NvmlDevice device, int type, uint32_t* out) {
  return Answer<uint32_t>("nvmlDeviceGetClockInfo", device, out, type == 1 ? 1980 : 2619);
}
extern "C" int nvmlDeviceGetPcieThroughput(NvmlDevice device, int counter, uint32_t* out) {
  return Answer<uint32_t>("nvmlDeviceGetPcieThroughput", device, out, counter == 0 ? 10 : 20);
}
extern "C" int nvmlDeviceGetTotalEccErrors(NvmlDevice device, int type, int, unsigned long long* out) {
  return Answer<unsigned long long>("nvmlDeviceGetTotalEccErrors", device, out, type == 0 ? 5 : 1);
}
extern "C" int nvmlDeviceGetRemappedRows(NvmlDevice device, uint32_t* corrected, uint32_t* uncorrected,
                                         uint32_t* pending, uint32_t* failed) {
  *corrected = 1;
  *uncorrected = 2;
  *failed = 0;
  return Answer<uint32_t>("nvmlDeviceGetRemappedRows", device, pending, 1);
}

// Four links, one of them down; every counter of link n says n + 1.
uint32_t Links() { return NumberAfter("links", 4); }
extern "C" int nvmlDeviceGetNvLinkState(NvmlDevice device, uint32_t link, uint32_t* out) {
  if (link >= Links()) return kInvalidArgument;
  return Answer<uint32_t>("nvmlDeviceGetNvLinkState", device, out, link == 2 ? 0 : 1);
}
extern "C" int nvmlDeviceGetNvLinkErrorCounter(NvmlDevice device, uint32_t link, int, unsigned long long* out) {
  if (link >= Links()) return kInvalidArgument;
  return Answer<unsigned long long>("nvmlDeviceGetNvLinkErrorCounter", device, out, link + 1);
}

// What the fields say; those of NVLink 5 and those before it never together.
struct Field {
  uint32_t id;
  int32_t type;
  uint64_t value;
  enum { kAlways, kBefore, kNvlink5 } when = kAlways;
};
constexpr Field kFields[] = {
    {38, 3, 12, Field::kBefore},     {45, 3, 8, Field::kBefore},
    {52, 3, 10, Field::kBefore},     {59, 3, 10, Field::kBefore},
    {74, 3, 1'500'000'000},          {75, 3, 2'500'000'000},
    {76, 3, 3'500'000'000},          {77, 3, 4'500'000'000},
    {79, 3, 5'500'000'000},          {82, 1, 88},
    {138, 3, 3, Field::kBefore},     {139, 3, 5, Field::kBefore},
    {202, 3, 1000, Field::kNvlink5}, {204, 3, 2000, Field::kNvlink5},
    {206, 3, 11, Field::kNvlink5},   {207, 3, 12, Field::kNvlink5},
    {208, 3, 13, Field::kNvlink5},   {211, 3, 14, Field::kNvlink5},
    {212, 3, 15, Field::kNvlink5},   {214, 3, 2, Field::kNvlink5},
    {215, 3, 4, Field::kNvlink5},
};

extern "C" int nvmlDeviceGetFieldValues(NvmlDevice device, int count, NvmlFieldValue* values) {
  const int result = Enter("nvmlDeviceGetFieldValues", device);
  const bool is_nvlink5 = Says("nvlink", "5");
  for (int i = 0; result == kSuccess && i < count; ++i) {
    values[i].nvml_return = kNotSupported;
    for (const Field& field : kFields) {
      if (field.id != values[i].field_id || field.when == (is_nvlink5 ? Field::kBefore : Field::kNvlink5)) continue;
      values[i].nvml_return = kSuccess;
      values[i].value_type = field.type;
      values[i].value.as_uint64 = field.value;
    }
  }
  return result;
}

template <typename Info>
int Fabric(const char* function, NvmlDevice device, Info* out) {
  const bool failed = Says("fabric", "failed");
  const bool done = Says("fabric", "done") || Says("fabric", "degraded") || failed;
  if (!done && !Says("fabric", "waiting")) return kNotSupported;
  out->state = done ? 3 : 2;
  out->status = failed ? kUnknown : kSuccess;
  return Enter(function, device);
}
extern "C" int nvmlDeviceGetGpuFabricInfo(NvmlDevice device, NvmlFabricInfoV1* out) {
  return Fabric("nvmlDeviceGetGpuFabricInfo", device, out);
}
extern "C" int nvmlDeviceGetGpuFabricInfoV(NvmlDevice device, NvmlFabricInfo* out) {
  if (out->version != (36 | 2u << 24)) return kInvalidArgument;
  // Bandwidth is fine, or not; a route does not recover; nothing is told of the others.
  out->health = (Says("fabric", "degraded") ? 1 : 2) | 2 << 2;
  return Fabric("nvmlDeviceGetGpuFabricInfoV", device, out);
}

extern "C" int nvmlDeviceGetMigMode(NvmlDevice device, uint32_t* current, uint32_t* pending) {
  *pending = IsMig(device) ? 1 : 0;
  return Answer<uint32_t>("nvmlDeviceGetMigMode", device, current, IsMig(device) ? 1 : 0);
}
ANSWER(nvmlDeviceGetMaxMigDeviceCount, uint32_t, 7)
extern "C" int nvmlDeviceGetMigDeviceHandleByIndex(NvmlDevice device, uint32_t instance, NvmlDevice* out) {
  if (instance != 0 && instance != 2) return kNotFound;
  const uintptr_t handle = reinterpret_cast<uintptr_t>(device) + kInstance * (instance + 1);
  return Answer<NvmlDevice>("nvmlDeviceGetMigDeviceHandleByIndex", device, out, reinterpret_cast<NvmlDevice>(handle));
}

extern "C" int nvmlDeviceGetGpuInstanceId(NvmlDevice device, uint32_t* out) {
  if (InstanceOf(device) < 0) return kInvalidArgument;
  return Answer<uint32_t>("nvmlDeviceGetGpuInstanceId", device, out, static_cast<uint32_t>(7 + InstanceOf(device)));
}

// What the script tells of events, in its order.
static std::vector<NvmlEventData> Events() {
  const char* const path = std::getenv("LOCKSTEP_FAKE_NVML");
  std::ifstream script(path != nullptr ? path : "");
  std::vector<NvmlEventData> events;
  std::string a, b;
  while (script >> a >> b) {
    if (a != "xid" && a != "ecc") continue;
    const NvmlDevice device = DeviceOf(static_cast<uint32_t>(std::atoi(b.c_str())));
    const size_t colon = b.find(':');
    events.push_back({.device = device,
                      .type = a == "xid" ? 8u : 2u,
                      .data = colon == std::string::npos ? 0u : static_cast<unsigned>(std::atoi(&b[colon + 1])),
                      .gpu_instance = 0,
                      .compute_instance = 0});
  }
  return events;
}

// One set at a time, of which all that counts is how many events it has told.
static size_t g_events_told = 0;
extern "C" int nvmlEventSetCreate(NvmlEventSet* set) {
  g_events_told = 0;
  *set = reinterpret_cast<NvmlEventSet>(&g_events_told);
  return Enter("nvmlEventSetCreate", DeviceOf(0));
}
extern "C" int nvmlEventSetFree(NvmlEventSet) { return kSuccess; }
ANSWER(nvmlDeviceGetSupportedEventTypes, unsigned long long, 0xff)
extern "C" int nvmlDeviceRegisterEvents(NvmlDevice device, unsigned long long types, NvmlEventSet) {
  // Whoever asks for what a GPU does not have gets nothing; and one who asks for clocks is told of them all day.
  if (types != (types & 0xa)) return kInvalidArgument;
  return Enter("nvmlDeviceRegisterEvents", device);
}
extern "C" int nvmlEventSetWait_v2(NvmlEventSet, NvmlEventData* out, uint32_t timeout_ms) {
  if (const int result = Enter("nvmlEventSetWait_v2", DeviceOf(0)); result != kSuccess) return result;
  const std::vector<NvmlEventData> events = Events();
  if (g_events_told < events.size()) {
    *out = events[g_events_told++];
    return kSuccess;
  }
  const timespec pause = {timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
  nanosleep(&pause, nullptr);
  return kTimeout;
}
