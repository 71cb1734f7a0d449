// A libnvidia-ml that does what a script tells it, so that tests load and call it just like the real one.
//
// LOCKSTEP_FAKE_NVML names the script, read at every call, one word pair per line:
//   gpus N              number of GPUs (2 if not said)
//   unsupported NAME    that function answers NOT_SUPPORTED
//   hang NAME           that function does not return while the script says so
//   fail NAME           that function answers UNKNOWN
//   lost INDEX          that GPU is lost
//   driver gone         the driver is not loaded
// Not thread-safe, like the one thread that calls it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>

// The declarations of the caller: the sanitizers compare the types on both sides of a call.
#include "agent/sources/nvml/nvml_api.h"

using lockstep::NvmlDevice;
using lockstep::NvmlFieldValue;
using lockstep::NvmlMemory;
using lockstep::NvmlPciInfo;
using lockstep::NvmlProcess;
using lockstep::NvmlUtilization;

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kDriverNotLoaded = 9, kGpuIsLost = 15,
              kUnknown = 999;

bool Says(const std::string& verb, const std::string& object) {
  const char* const path = std::getenv("LOCKSTEP_FAKE_NVML");
  std::ifstream script(path != nullptr ? path : "");
  std::string a, b;
  while (script >> a >> b) {
    if (a == verb && b == object) return true;
  }
  return false;
}

uint32_t GpuCount() {
  const char* const path = std::getenv("LOCKSTEP_FAKE_NVML");
  std::ifstream script(path != nullptr ? path : "");
  std::string a, b;
  while (script >> a >> b) {
    if (a == "gpus") return static_cast<uint32_t>(std::atoi(b.c_str()));
  }
  return 2;
}

// Handles are 1 + the index.
uint32_t IndexOf(NvmlDevice device) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(device) - 1); }

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
  *device = reinterpret_cast<NvmlDevice>(static_cast<uintptr_t>(index) + 1);
  return Enter("nvmlDeviceGetHandleByIndex_v2", *device);
}
extern "C" const char* nvmlErrorString(int result) {
  return result == kGpuIsLost ? "GPU is lost" : result == kUnknown ? "Unknown Error" : "some error";
}
extern "C" int nvmlDeviceGetUUID(NvmlDevice device, char* out, uint32_t size) {
  std::snprintf(out, size, "GPU-00000000-0000-0000-0000-%012u", IndexOf(device));
  return kSuccess;
}

extern "C" int nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPciInfo* out) {
  *out = {};
  std::snprintf(out->bus_id, sizeof(out->bus_id), "00000000:%02X:00.0", 0x3b + IndexOf(device));
  return kSuccess;
}

// One process on each, another one on all of them.
extern "C" int nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice device, uint32_t* count, NvmlProcess* out) {
  *count = 2;
  out[0] = {.pid = 100 + IndexOf(device), .used_memory_bytes = 0, .gpu_instance = 0, .compute_instance = 0};
  out[1] = {.pid = 99, .used_memory_bytes = 0, .gpu_instance = 0, .compute_instance = 0};
  return Enter("nvmlDeviceGetComputeRunningProcesses_v3", device);
}

ANSWER(nvmlDeviceGetUtilizationRates, NvmlUtilization, (NvmlUtilization{97, 40}))
ANSWER(nvmlDeviceGetMemoryInfo, NvmlMemory, (NvmlMemory{1000, 400, 600}))
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
constexpr uint32_t kLinks = 4;
extern "C" int nvmlDeviceGetNvLinkState(NvmlDevice device, uint32_t link, uint32_t* out) {
  if (link >= kLinks) return kInvalidArgument;
  return Answer<uint32_t>("nvmlDeviceGetNvLinkState", device, out, link == 2 ? 0 : 1);
}
extern "C" int nvmlDeviceGetNvLinkErrorCounter(NvmlDevice device, uint32_t link, int, unsigned long long* out) {
  if (link >= kLinks) return kInvalidArgument;
  return Answer<unsigned long long>("nvmlDeviceGetNvLinkErrorCounter", device, out, link + 1);
}

extern "C" int nvmlDeviceGetFieldValues(NvmlDevice device, int count, NvmlFieldValue* values) {
  const int result = Enter("nvmlDeviceGetFieldValues", device);
  for (int i = 0; result == kSuccess && i < count; ++i) {
    values[i].nvml_return = values[i].field_id == 82 ? kSuccess : kNotSupported;
    values[i].value_type = 1;
    values[i].value.as_uint32 = 88;
  }
  return result;
}
