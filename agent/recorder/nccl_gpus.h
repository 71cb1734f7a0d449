// The GPUs of this process, each with one clock for all communicators that use it.
//
// NCCL does not tell which GPU a communicator is on. While it initializes one, that GPU is the calling thread's current
// device, which the driver's library tells (CUDA's, or HIP's for RCCL). Where neither can be asked, a thread stands for
// its GPU. A communicator that is told apart too often loses nothing but the exactness of gaps between its operations
// and others'; GpuClock notices when clocks of two GPUs are mixed up.
//
// Thread-compatible. Zeroed memory is ready. Allocates nothing.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_GPUS_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_GPUS_H_

#include <cstdint>

#include "agent/recorder/nccl_gpu_clock.h"

namespace lockstep::ring {

// Names the current GPU of the calling thread, never 0. Where no driver can be asked, `thread`, its id, stands for it,
// and `number` tells the GPUs of one thread apart.
uint64_t CurrentGpu(uint32_t thread, uint64_t number);

class NcclGpus {
 public:
  static constexpr uint32_t kMaxGpus = 64;

  constexpr NcclGpus() = default;
  NcclGpus(const NcclGpus&) = delete;
  NcclGpus& operator=(const NcclGpus&) = delete;

  // The clock of `gpu`, which keeps what it learned from communicators that have gone. Beyond kMaxGpus at a time two
  // share the last one.
  GpuClock& Claim(uint64_t gpu) {
    Place* place = FindOrNull(gpu);
    if (place == nullptr) place = FindOrNull(0);  // never used
    for (uint32_t i = 0; place == nullptr && i < kMaxGpus; ++i) {
      if (places_[i].users == 0) place = &places_[i];
    }
    if (place == nullptr) place = &places_[kMaxGpus - 1];
    if (place->gpu != gpu) {
      place->gpu = gpu;
      place->clock.Reset();
    }
    ++place->users;
    return place->clock;
  }

  void Release(const GpuClock* clock) {
    for (Place& place : places_) {
      if (&place.clock == clock && place.users > 0) --place.users;
    }
  }

 private:
  struct Place {
    uint64_t gpu;  // 0 = none yet
    uint32_t users;
    GpuClock clock;
  };

  Place* FindOrNull(uint64_t gpu) {
    for (Place& place : places_) {
      if (place.gpu == gpu) return &place;
    }
    return nullptr;
  }

  Place places_[kMaxGpus] = {};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_GPUS_H_
