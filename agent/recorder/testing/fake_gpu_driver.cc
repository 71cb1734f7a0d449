// A libcuda with as many functions as the recorder calls. Its GPUs are those of
// agent/sources/nvml/testing/fake_nvml.cc. Thread-safe.

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Which GPU of the machine the current device 0 is: what CUDA_VISIBLE_DEVICES says, a number alone.
int VisibleGpu() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? 0 : std::atoi(visible);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}

__attribute__((visibility("default"))) int cuDeviceGetUuid(unsigned char* uuid, int /*device*/) {
  for (int i = 0; i < 16; ++i) uuid[i] = 0;
  uuid[15] = static_cast<unsigned char>(VisibleGpu());
  return 0;
}

// Whoever is shown "MIG-..." has the second instance of the first GPU.
__attribute__((visibility("default"))) int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  cuDeviceGetUuid(uuid, device);
  if (visible != nullptr && std::strncmp(visible, "MIG-", 4) == 0) uuid[9] = 2;
  return 0;
}

__attribute__((visibility("default"))) int cuDeviceGetPCIBusId(char* text, int size, int /*device*/) {
  std::snprintf(text, size, "0000:%02X:00.0", 0x3b + VisibleGpu());
  return 0;
}
}
