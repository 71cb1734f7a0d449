// How metrics and events call the GPUs of a host: "gpu0", "gpu1", ... Pure.

#ifndef LOCKSTEP_DETECTOR_MODEL_GPU_DEVICE_H_
#define LOCKSTEP_DETECTOR_MODEL_GPU_DEVICE_H_

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace lockstep {

// Its number, -1 for another device.
inline int32_t GpuOfDevice(absl::string_view device) {
  int32_t gpu = -1;
  return absl::ConsumePrefix(&device, "gpu") && absl::SimpleAtoi(device, &gpu) && gpu >= 0 ? gpu : -1;
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_GPU_DEVICE_H_
