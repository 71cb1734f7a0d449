// A sealed chunk: some consecutive points of one series in one value.
//
//   format (1) = 1 · count (2) · times: zigzag varints, the first absolute, then differences · values (8 each)
//
// Pure. Bytes that do not decode are DATA_LOSS.

#ifndef LOCKSTEP_COLLECTOR_STORE_CHUNK_H_
#define LOCKSTEP_COLLECTOR_STORE_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// Time in nanoseconds since the Unix epoch, and value.
using Point = std::pair<int64_t, double>;

// Points of one chunk at most.
inline constexpr size_t kMaxChunkPoints = 4'096;

// `points` by time, between 1 and kMaxChunkPoints of them.
std::string EncodeChunk(const std::vector<Point>& points);

absl::StatusOr<std::vector<Point>> DecodeChunk(absl::string_view bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_CHUNK_H_
