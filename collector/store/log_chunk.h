// A chunk of the input log of one job: entries in the order in which the detector saw them, compressed.
//
//   format (1) = 1 · last time (8) · count (4) · size of the payload (4) · zstd of the payload
//   payload: for each entry a length (4) and a CaptureEntry
//
// Pure. Bytes that do not decode are DATA_LOSS; nothing larger than kMaxLogPayloadBytes is ever unpacked.

#ifndef LOCKSTEP_COLLECTOR_STORE_LOG_CHUNK_H_
#define LOCKSTEP_COLLECTOR_STORE_LOG_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/capture.pb.h"

namespace lockstep {

inline constexpr size_t kMaxLogPayloadBytes = size_t{16} << 20;
inline constexpr size_t kMaxLogEntryBytes = kMaxLogPayloadBytes / 2;

// The job and the time that an entry is about; "" and 0 for an entry without content.
const std::string& JobOf(const wire::CaptureEntry& entry);
int64_t WallNanosOf(const wire::CaptureEntry& entry);

// Collects entries of one job until they are sealed as one chunk. Not thread-safe.
class LogChunkBuilder {
 public:
  // False, and nothing is added, if the chunk must be sealed first: it would grow too large or span too long.
  // REQUIRES: the entry serializes to at most kMaxLogEntryBytes.
  bool Add(const wire::CaptureEntry& entry);

  bool empty() const { return count_ == 0; }
  int64_t first_wall_ns() const { return first_wall_ns_; }

  // The value to store. The builder is empty afterwards.
  std::string Seal();

 private:
  int64_t first_wall_ns_ = 0;
  int64_t last_wall_ns_ = 0;
  uint32_t count_ = 0;
  std::string payload_;
};

// No entry of a chunk is later than the first one by more than this, so that a reader knows how far to look back.
inline constexpr int64_t kMaxLogChunkSpanNanos = 60'000'000'000;

// Time of the newest entry, without unpacking.
absl::StatusOr<int64_t> LogChunkLastWallNanos(absl::string_view bytes);

absl::StatusOr<std::vector<wire::CaptureEntry>> DecodeLogChunk(absl::string_view bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_LOG_CHUNK_H_
