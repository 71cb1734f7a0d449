// What a line of a kernel's log, or as much from another source of an agent, tells of. Pure values.

#ifndef LOCKSTEP_DETECTOR_MODEL_KERNEL_EVENT_KIND_H_
#define LOCKSTEP_DETECTOR_MODEL_KERNEL_EVENT_KIND_H_

#include <cstdint>

namespace lockstep {

enum class KernelEventKind : uint8_t {
  kUnknown,
  kXid,
  kSxid,
  kPcieAer,
  kMlx5,
  kOutOfMemory,
  kEdac,
  kNvml,    // no line: what NVML says of a GPU
  kSource,  // of findings alone: see SourceFailure
  kCrash,   // a program was ended by a fault of its own
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_KERNEL_EVENT_KIND_H_
