#include "agent/recorder/nccl_gpu_driver.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/recorder/glibc_floor.h"
#include "agent/recorder/visible_gpu.h"

namespace lockstep::ring {
namespace {

struct Uuid {
  uint8_t bytes[16];
};

// A library that may be in the process already, and its functions. All of them return 0 for success.
struct Driver {
  const char* library;
  const char* current_device;  // int (int* device)
  const char* uuid;            // int (Uuid*, int device), of the whole GPU; nullptr = says it otherwise than the agent
  const char* instance_uuid;   // likewise of a MIG instance, and of a GPU without such the same as `uuid`
  const char* pci_address;     // int (char* text, int size, int device)
};
constexpr Driver kDrivers[] = {
    {"libcuda.so.1", "cuCtxGetDevice", "cuDeviceGetUuid", "cuDeviceGetUuid_v2", "cuDeviceGetPCIBusId"},
    {"libamdhip64.so", "hipGetDevice", nullptr, nullptr, "hipDeviceGetPCIBusId"},
};

template <typename Function>
Function* Find(void* library, const char* name) {
  return name == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

int DeviceFrom(void* library, const Driver& driver) {
  auto* const current = Find<int(int*)>(library, driver.current_device);
  int device = -1;
  return current != nullptr && current(&device) == 0 ? device : -1;
}

void WriteUuid(const char* prefix, const Uuid& uuid, GpuIdentity* identity) {
  int at = snprintf(identity->uuid, sizeof(identity->uuid), "%s", prefix);
  for (int i = 0; i < 16; ++i) {
    const bool begins_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    at += snprintf(identity->uuid + at, sizeof(identity->uuid) - at, begins_group ? "-%02x" : "%02x", uuid.bytes[i]);
  }
}

void Identify(void* library, const Driver& driver, int device, GpuIdentity* identity) {
  auto* const get_uuid = Find<int(Uuid*, int)>(library, driver.uuid);
  auto* const get_address = Find<int(char*, int, int)>(library, driver.pci_address);
  auto* const get_instance = Find<int(Uuid*, int)>(library, driver.instance_uuid);
  Uuid uuid, instance;
  if (get_uuid != nullptr && get_uuid(&uuid, device) == 0) {
    const bool is_instance =
        get_instance != nullptr && get_instance(&instance, device) == 0 && memcmp(&uuid, &instance, sizeof(uuid)) != 0;
    WriteUuid(is_instance ? "MIG" : "GPU", is_instance ? instance : uuid, identity);
  }
  constexpr int kSize = sizeof(identity->pci_address);
  if (get_address != nullptr && get_address(identity->pci_address, kSize, device) != 0) identity->pci_address[0] = '\0';
  identity->pci_address[kSize - 1] = '\0';
}

// Asks the first driver that has a current device; `identity` may be null.
int AskDrivers(GpuIdentity* identity) {
  for (const Driver& driver : kDrivers) {
    void* library = dlopen(driver.library, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const int device = DeviceFrom(library, driver);
    if (device >= 0 && identity != nullptr) Identify(library, driver, device, identity);
    dlclose(library);
    if (device >= 0) return device;
  }
  return -1;
}

}  // namespace

int CurrentDevice() { return AskDrivers(nullptr); }

GpuIdentity IdentifyCurrentGpu() {
  GpuIdentity identity;
  AskDrivers(&identity);
  if (identity.uuid[0] == '\0' && identity.pci_address[0] == '\0') {
    const char* const only = UuidOfOnlyGpu(getenv("CUDA_VISIBLE_DEVICES"));
    strncpy(identity.uuid, only, sizeof(identity.uuid) - 1);
  }
  return identity;
}

}  // namespace lockstep::ring
