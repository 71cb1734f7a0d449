// How a process ended, as its host's agent tells. Plain values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_MODEL_PROCESS_END_H_
#define LOCKSTEP_DETECTOR_MODEL_PROCESS_END_H_

#include <cstdint>

namespace lockstep {

// Who told the agent. kNone: nobody, so that code and signal mean nothing. kKernelLog: the detector has it from there.
enum class EndSource : uint8_t { kNone, kPidfd, kZombie, kConnector, kKernelLog };

struct ProcessEnd {
  EndSource source = EndSource::kNone;
  int32_t code = 0;    // exit code; 0 as well where a signal ended it
  int32_t signal = 0;  // 0 = it ended by itself
  bool core_dumped = false;
  int64_t age_ns = 0;        // when the report was made
  int64_t uncertain_ns = 0;  // it may have ended this much earlier

  bool known() const { return source != EndSource::kNone; }
  bool operator==(const ProcessEnd&) const = default;
};

// Whether a kernel killed a process because memory ran out.
enum class MemoryKill : uint8_t {
  kNone,
  kCounted,  // its host's kernel counted such a kill at that moment, and whom it killed nobody could read
  kNamed,    // the log of its kernel names it
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_PROCESS_END_H_
