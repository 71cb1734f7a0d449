// What stays of a chunk when its points are gone.
//
//   format (1) = 1 · last time (8) · count (4) · min, max, sum, first, last (8 each)
//
// Pure. Bytes that do not decode are DATA_LOSS.

#ifndef LOCKSTEP_COLLECTOR_STORE_ROLLUP_H_
#define LOCKSTEP_COLLECTOR_STORE_ROLLUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collector/store/chunk.h"

namespace lockstep {

struct Rollup {
  int64_t last_wall_ns = 0;  // of the newest point
  uint32_t count = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  double first = 0;
  double last = 0;

  bool operator==(const Rollup&) const = default;
};

// `points` by time, at least one.
Rollup RollUp(const std::vector<Point>& points);

std::string EncodeRollup(const Rollup& rollup);
absl::StatusOr<Rollup> DecodeRollup(absl::string_view bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_ROLLUP_H_
