#include "agent/recorder/nccl_gpus.h"

#include "agent/recorder/nccl_gpu_driver.h"

namespace lockstep::ring {
namespace {

constexpr uint64_t kByDevice = uint64_t{1} << 63;

}  // namespace

uint64_t CurrentGpu(uint32_t thread, uint64_t number) {
  const int device = CurrentDevice();
  return device >= 0 ? kByDevice | static_cast<uint64_t>(device) : number << 32 | thread;
}

}  // namespace lockstep::ring
