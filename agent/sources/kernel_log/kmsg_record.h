// One record as /dev/kmsg gives it out: "6,1234,5678901,-;text\n KEY=value\n", priority, sequence, microseconds, flags.

#ifndef LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KMSG_RECORD_H_
#define LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KMSG_RECORD_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace lockstep {

struct KmsgRecord {
  uint64_t sequence = 0;      // counts all records since boot
  uint64_t monotonic_us = 0;  // since boot
  absl::string_view text;     // points into the record; line breaks inside are escaped by the kernel as "\x0a"
};

// The record, without the continuation lines that name its device, or nothing if it is not one. Pure.
absl::optional<KmsgRecord> ParseKmsgRecord(absl::string_view record);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KMSG_RECORD_H_
