// The signals of Linux by their numbers, as far as they end processes. Pure.

#ifndef LOCKSTEP_DETECTOR_VERDICT_SIGNAL_NAMES_H_
#define LOCKSTEP_DETECTOR_VERDICT_SIGNAL_NAMES_H_

#include <cstdint>

namespace lockstep {

inline constexpr int32_t kSignalKill = 9;  // SIGKILL

// "SIGSEGV"; "" for one that has no name.
const char* SignalName(int32_t signal);

// One by which launchers, schedulers and people ask a process to end.
bool IsRequestToEnd(int32_t signal);

// One that the processor or the kernel raises because of what the program did.
bool IsCrash(int32_t signal);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_SIGNAL_NAMES_H_
