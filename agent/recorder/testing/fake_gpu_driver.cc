// A libcuda with as many functions as the recorder calls. Its GPUs are those of
// agent/sources/nvml/testing/fake_nvml.cc. Thread-safe.

#include <cstdio>
#include <cstdlib>

namespace {

// Which GPU of the machine, or which MIG instance of it, the current device 0 is.
struct Visible {
  unsigned gpu = 0;
  int instance = -1;  // -1 = the whole GPU
};

// What CUDA_VISIBLE_DEVICES says: a number alone, or the UUID of an instance.
Visible VisibleDevice() {
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  Visible visible;
  unsigned instance = 0;
  if (text != nullptr && std::sscanf(text, "MIG-00000000-0000-0000-%4u-%12u", &visible.gpu, &instance) == 2) {
    visible.instance = static_cast<int>(instance);
  } else if (text != nullptr) {
    visible.gpu = static_cast<unsigned>(std::atoi(text));
  }
  return visible;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}

__attribute__((visibility("default"))) int cuDeviceGetUuid(unsigned char* uuid, int /*device*/) {
  for (int i = 0; i < 16; ++i) uuid[i] = 0;
  uuid[15] = static_cast<unsigned char>(VisibleDevice().gpu);
  return 0;
}

__attribute__((visibility("default"))) int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  const Visible visible = VisibleDevice();
  cuDeviceGetUuid(uuid, device);
  if (visible.instance < 0) return 0;
  uuid[9] = static_cast<unsigned char>(visible.gpu);
  uuid[15] = static_cast<unsigned char>(visible.instance);
  return 0;
}

__attribute__((visibility("default"))) int cuDeviceGetPCIBusId(char* text, int size, int /*device*/) {
  std::snprintf(text, size, "0000:%02X:00.0", 0x3b + VisibleDevice().gpu);
  return 0;
}
}
