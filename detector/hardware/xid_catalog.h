// NVIDIA's Xids: what each number says and what has to be done about it.
//
// An Xid is a line of the GPU driver in the kernel log. Most report what a program did wrong and say nothing about the
// machine; only the actions that IsHard names accuse it. Actions follow NVIDIA's catalogue of Xids (October 2025), the
// meanings are ours. Immutable; thread-safe.

#ifndef LOCKSTEP_DETECTOR_HARDWARE_XID_CATALOG_H_
#define LOCKSTEP_DETECTOR_HARDWARE_XID_CATALOG_H_

#include <cstdint>

#include "absl/types/span.h"

namespace lockstep {

enum class XidAction : uint8_t {
  kUnknown,       // the catalogue gives none
  kIgnore,        // informational
  kRestartJob,    // the program was at fault, or has to start anew
  kFollowOthers,  // means what the Xids around it mean: 45 cleans up after another one
  kInvestigate,   // has a work flow of its own: depends on what comes with it
  kReadText,      // the action is in the line
  kCheckUnifiedMemory,
  kUpdateSoftware,
  kResetGpu,
  kRestartMachine,
  kCheckMechanics,  // power cable, seating
  kContactVendor,
};

struct XidInfo {
  int16_t code;
  XidAction action;
  const char* meaning;  // "" = the number says it all
};

// All known Xids, by rising code.
absl::Span<const XidInfo> XidCatalog();

// The entry of `code`, or nullptr. O(log n).
const XidInfo* FindXid(int64_t code);

// Whether the action means that the GPU or its machine is broken, whatever the job does.
bool IsHard(XidAction action);

// What to do, for people: "reset the GPU".
const char* Name(XidAction action);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HARDWARE_XID_CATALOG_H_
