#include "collector/store/chunk.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "collector/store/byte_codec.h"

namespace lockstep {
namespace {

constexpr uint8_t kFormat = 1;  // DO NOT CHANGE: written to disk

}  // namespace

std::string EncodeChunk(const std::vector<Point>& points) {
  CHECK(!points.empty() && points.size() <= kMaxChunkPoints);
  std::string bytes;
  bytes.reserve(3 + points.size() * 13);
  AppendU8(bytes, kFormat);
  AppendU16(bytes, static_cast<uint16_t>(points.size()));
  uint64_t before = 0;  // unsigned: differences wrap instead of overflowing
  for (const Point& point : points) {
    AppendZigzag(bytes, static_cast<int64_t>(static_cast<uint64_t>(point.first) - before));
    before = static_cast<uint64_t>(point.first);
  }
  for (const Point& point : points) AppendDouble(bytes, point.second);
  return bytes;
}

absl::StatusOr<std::vector<Point>> DecodeChunk(absl::string_view bytes) {
  ByteReader reader(bytes);
  uint8_t format = 0;
  uint16_t count = 0;
  if (!reader.ReadU8(format)) return absl::DataLossError("empty chunk");
  if (format != kFormat) return absl::DataLossError(absl::StrCat("chunk of unknown format ", format));
  if (!reader.ReadU16(count) || count == 0 || count > kMaxChunkPoints) {
    return absl::DataLossError(absl::StrCat("chunk with an impossible count of ", count));
  }
  std::vector<Point> points(count);
  uint64_t before = 0;
  for (Point& point : points) {
    int64_t difference = 0;
    if (!reader.ReadZigzag(difference)) return absl::DataLossError("chunk ends within its times");
    before += static_cast<uint64_t>(difference);
    point.first = static_cast<int64_t>(before);
  }
  for (Point& point : points) {
    if (!reader.ReadDouble(point.second)) return absl::DataLossError("chunk ends within its values");
  }
  if (!reader.empty()) return absl::DataLossError("chunk with bytes after its end");
  return points;
}

}  // namespace lockstep
