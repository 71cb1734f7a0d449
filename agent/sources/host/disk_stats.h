// /proc/diskstats: what each block device did.

#ifndef LOCKSTEP_AGENT_SOURCES_HOST_DISK_STATS_H_
#define LOCKSTEP_AGENT_SOURCES_HOST_DISK_STATS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace lockstep {

// Since boot, except `in_flight`: requests at this moment.
struct DiskStats {
  absl::string_view name;  // points into the parsed text
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t busy_ms = 0;
  uint64_t in_flight = 0;
};

// Block devices, partitions included, that have ever read or written anything. Malformed lines are skipped. Pure.
std::vector<DiskStats> ParseDiskStats(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_HOST_DISK_STATS_H_
