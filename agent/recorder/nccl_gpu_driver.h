// What the GPU driver's library, where the process has loaded it, says of the calling thread's current GPU.
//
// A number inside of the process (0, 1, ...) names another GPU in each process that CUDA_VISIBLE_DEVICES or a container
// shows other GPUs to. The UUID and the PCI address name one for the whole machine: NVML and the kernel log use them.
// Where no driver says it, the environment may (visible_gpu.h).
// Thread-safe. Allocates nothing of its own.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_GPU_DRIVER_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_GPU_DRIVER_H_

namespace lockstep::ring {

// Negative = there is no driver, or it does not say.
int CurrentDevice();

struct GpuIdentity {
  char uuid[48] = {};         // "GPU-..." as NVML says it, "MIG-..." of an instance; "" = unknown
  char pci_address[24] = {};  // "0000:3B:00.0"; "" = unknown
};
GpuIdentity IdentifyCurrentGpu();

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_GPU_DRIVER_H_
