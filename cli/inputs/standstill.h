// What a person knows of a recording and its files do not say: that the job was standing still when they were written.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_CLI_INPUTS_STANDSTILL_H_
#define LOCKSTEP_CLI_INPUTS_STANDSTILL_H_

#include <cstdint>

#include "base/clock.h"
#include "detector/model/trace.h"

namespace lockstep {

// What `lockstep diagnose --stuck` promises: nothing has moved for at least so long.
inline constexpr int64_t kStandstillNanos = 60 * kNanosPerSecond;

// Every host was last looked at kStandstillNanos after its last record, by its own clock. A trace of which some rank
// says when it was looked at stays as it is: what files say counts more.
void AssumeStandstill(Trace& trace);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_INPUTS_STANDSTILL_H_
