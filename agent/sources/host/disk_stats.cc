#include "agent/sources/host/disk_stats.h"

#include "absl/types/optional.h"
#include "agent/text_fields.h"

namespace lockstep {
namespace {

// The unit of the file, whatever the sector size of the device.
constexpr uint64_t kBytesPerSector = 512;

// Columns after the name.
enum Column {
  kReads,
  kReadsMerged,
  kSectorsRead,
  kReadMs,
  kWrites,
  kWritesMerged,
  kSectorsWritten,
  kWriteMs,
  kInFlight,
  kBusyMs,
  kColumns
};

absl::optional<DiskStats> ParseLine(absl::string_view line) {
  TakeField(line);  // major number
  TakeField(line);  // minor number
  DiskStats disk;
  disk.name = TakeField(line);
  uint64_t columns[kColumns] = {};
  for (uint64_t& column : columns) {
    const absl::optional<uint64_t> value = ParseCount(TakeField(line));
    if (!value.has_value()) return absl::nullopt;
    column = *value;
  }
  disk.read_bytes = columns[kSectorsRead] * kBytesPerSector;
  disk.written_bytes = columns[kSectorsWritten] * kBytesPerSector;
  disk.in_flight = columns[kInFlight];
  disk.busy_ms = columns[kBusyMs];
  return disk;
}

}  // namespace

std::vector<DiskStats> ParseDiskStats(absl::string_view text) {
  std::vector<DiskStats> disks;
  while (!text.empty()) {
    const absl::optional<DiskStats> disk = ParseLine(TakeLine(text));
    if (disk.has_value() && disk->read_bytes + disk->written_bytes > 0) disks.push_back(*disk);
  }
  return disks;
}

}  // namespace lockstep
