// Recognises the lines of the kernel log that matter to a training job.
//
// What `code` of the event says, by kind:
//   XID            the Xid; 79 also for a GPU that "has fallen off the bus" without an Xid
//   SXID           the SXid
//   PCIE_AER       0 corrected, 1 non-fatal, 2 fatal (also: link contained by DPC)
//   MLX5           1 link down, 2 link up, 3 cable or module, 4 health of the adapter, 5 command timed out
//   OUT_OF_MEMORY  pid of the process that was killed, 0 = not said
//   EDAC           0 corrected, 1 uncorrected
//   CRASH          signal by which the kernel ended a program for a fault of its own (11 = SIGSEGV)
// `device` is a PCI address with its function ("0000:3b:00.0", lower case), or "MC0" for a memory controller.

#ifndef LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KERNEL_LINE_H_
#define LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KERNEL_LINE_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

inline constexpr size_t kMaxKernelLineBytes = 512;

// The event that `line` (the text of a record, without time stamp) tells of, or nothing. Sets kind, code, device, pid
// and text; fields of the event are always printable ASCII. Pure. Cost, for a line that is none of ours: a comparison
// of its first bytes, and a search for the words that tell of crashes.
absl::optional<wire::KernelEvent> ParseKernelLine(absl::string_view line);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KERNEL_LINE_H_
