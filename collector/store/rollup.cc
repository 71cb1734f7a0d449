#include "collector/store/rollup.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "collector/store/byte_codec.h"

namespace lockstep {
namespace {

constexpr uint8_t kFormat = 1;  // DO NOT CHANGE: written to disk

}  // namespace

Rollup RollUp(const std::vector<Point>& points) {
  CHECK(!points.empty());
  const auto [smallest, largest] = std::minmax_element(
      points.begin(), points.end(), [](const Point& a, const Point& b) { return a.second < b.second; });
  Rollup rollup{.last_wall_ns = points.back().first,
                .count = static_cast<uint32_t>(points.size()),
                .min = smallest->second,
                .max = largest->second,
                .first = points.front().second,
                .last = points.back().second};
  for (const Point& point : points) rollup.sum += point.second;
  return rollup;
}

std::string EncodeRollup(const Rollup& rollup) {
  std::string bytes;
  AppendU8(bytes, kFormat);
  AppendOrderedI64(bytes, rollup.last_wall_ns);
  AppendU32(bytes, rollup.count);
  for (double value : {rollup.min, rollup.max, rollup.sum, rollup.first, rollup.last}) AppendDouble(bytes, value);
  return bytes;
}

absl::StatusOr<Rollup> DecodeRollup(absl::string_view bytes) {
  ByteReader reader(bytes);
  uint8_t format = 0;
  if (!reader.ReadU8(format)) return absl::DataLossError("empty roll-up");
  if (format != kFormat) return absl::DataLossError(absl::StrCat("roll-up of unknown format ", format));
  Rollup rollup;
  bool whole = reader.ReadOrderedI64(rollup.last_wall_ns) && reader.ReadU32(rollup.count);
  for (double* value : {&rollup.min, &rollup.max, &rollup.sum, &rollup.first, &rollup.last}) {
    whole = whole && reader.ReadDouble(*value);
  }
  if (!whole || !reader.empty() || rollup.count == 0) return absl::DataLossError("malformed roll-up");
  return rollup;
}

}  // namespace lockstep
