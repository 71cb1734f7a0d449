// A libcuda that has two GPUs of two processes to show: as many functions as the recorder calls. Pure.

#include <cstdio>
#include <cstdlib>

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
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(16 * VisibleGpu() + i);
  return 0;
}

__attribute__((visibility("default"))) int cuDeviceGetPCIBusId(char* text, int size, int /*device*/) {
  std::snprintf(text, size, "0000:%02X:00.0", 0x3a + VisibleGpu());
  return 0;
}

}
