#include "collector/store/log_chunk.h"

#include <zstd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "collector/store/byte_codec.h"

namespace lockstep {
namespace {

constexpr uint8_t kFormat = 1;                           // DO NOT CHANGE: written to disk
constexpr size_t kSealAtPayloadBytes = size_t{1} << 20;  // larger chunks compress no better and scan worse
constexpr int kCompressionLevel = 1;                     // the writer must keep up with the fleet
constexpr uint32_t kMinEntryBytes = 4;                   // its length

struct Header {
  int64_t last_wall_ns = 0;
  uint32_t count = 0;
  uint32_t payload_bytes = 0;
};

absl::StatusOr<Header> ReadHeader(ByteReader& reader) {
  uint8_t format = 0;
  if (!reader.ReadU8(format)) return absl::DataLossError("empty log chunk");
  if (format != kFormat) return absl::DataLossError(absl::StrCat("log chunk of unknown format ", format));
  Header header;
  if (!reader.ReadOrderedI64(header.last_wall_ns) || !reader.ReadU32(header.count) ||
      !reader.ReadU32(header.payload_bytes)) {
    return absl::DataLossError("log chunk ends within its header");
  }
  if (header.count == 0 || header.payload_bytes > kMaxLogPayloadBytes ||
      header.count > header.payload_bytes / kMinEntryBytes) {
    return absl::DataLossError(absl::StrCat("log chunk with an impossible size: ", header.count, " entries in ",
                                            header.payload_bytes, " bytes"));
  }
  return header;
}

// One table for the content of an entry: its job and its time.
std::pair<const std::string*, int64_t> Identity(const wire::CaptureEntry& entry) {
  static const std::string* const kNone = new std::string();
  switch (entry.entry_case()) {
    case wire::CaptureEntry::kInput:
      return {&entry.input().job(), entry.input().received_wall_ns()};
    case wire::CaptureEntry::kWatermark:
      return {&entry.watermark().job(), entry.watermark().wall_ns()};
    case wire::CaptureEntry::kReset:
      return {&entry.reset().job(), entry.reset().wall_ns()};
    case wire::CaptureEntry::kConclusion:
      return {&entry.conclusion().job(), entry.conclusion().wall_ns()};
    case wire::CaptureEntry::ENTRY_NOT_SET:
      break;
  }
  return {kNone, 0};
}

}  // namespace

const std::string& JobOf(const wire::CaptureEntry& entry) { return *Identity(entry).first; }
int64_t WallNanosOf(const wire::CaptureEntry& entry) { return Identity(entry).second; }

bool LogChunkBuilder::Add(const wire::CaptureEntry& entry) {
  const size_t bytes = entry.ByteSizeLong();
  const int64_t wall_ns = WallNanosOf(entry);
  CHECK(bytes <= kMaxLogEntryBytes);
  if (count_ > 0) {
    if (payload_.size() + bytes + kMinEntryBytes > kSealAtPayloadBytes) return false;
    if (wall_ns < last_wall_ns_ || wall_ns - first_wall_ns_ > kMaxLogChunkSpanNanos) return false;
  } else {
    first_wall_ns_ = wall_ns;
  }
  last_wall_ns_ = wall_ns;
  ++count_;
  AppendU32(payload_, static_cast<uint32_t>(bytes));
  CHECK(entry.AppendToString(&payload_));
  return true;
}

std::string LogChunkBuilder::Seal() {
  CHECK(count_ > 0);
  std::string bytes;
  AppendU8(bytes, kFormat);
  AppendOrderedI64(bytes, last_wall_ns_);
  AppendU32(bytes, count_);
  AppendU32(bytes, static_cast<uint32_t>(payload_.size()));
  const size_t header = bytes.size();
  bytes.resize(header + ZSTD_compressBound(payload_.size()));
  const size_t packed =
      ZSTD_compress(bytes.data() + header, bytes.size() - header, payload_.data(), payload_.size(), kCompressionLevel);
  CHECK(!ZSTD_isError(packed));
  bytes.resize(header + packed);
  *this = LogChunkBuilder();
  return bytes;
}

absl::StatusOr<int64_t> LogChunkLastWallNanos(absl::string_view bytes) {
  ByteReader reader(bytes);
  absl::StatusOr<Header> header = ReadHeader(reader);
  if (!header.ok()) return header.status();
  return header->last_wall_ns;
}

absl::StatusOr<std::vector<wire::CaptureEntry>> DecodeLogChunk(absl::string_view bytes) {
  ByteReader reader(bytes);
  absl::StatusOr<Header> header = ReadHeader(reader);
  if (!header.ok()) return header.status();
  const absl::string_view packed = reader.rest();
  // The frame must announce the same size before anything of it is allocated.
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != header->payload_bytes) {
    return absl::DataLossError("log chunk whose compressed size disagrees with its header");
  }
  std::string payload(header->payload_bytes, '\0');
  const size_t unpacked = ZSTD_decompress(payload.data(), payload.size(), packed.data(), packed.size());
  if (ZSTD_isError(unpacked) || unpacked != payload.size()) return absl::DataLossError("log chunk does not unpack");

  std::vector<wire::CaptureEntry> entries;
  ByteReader content(payload);
  for (uint32_t i = 0; i < header->count; ++i) {
    uint32_t size = 0;
    if (!content.ReadU32(size) || content.rest().size() < size) {
      return absl::DataLossError(absl::StrCat("log chunk ends within entry ", i));
    }
    if (!entries.emplace_back().ParseFromArray(content.rest().data(), static_cast<int>(size))) {
      return absl::DataLossError(absl::StrCat("log chunk with a malformed entry ", i));
    }
    content = ByteReader(content.rest().substr(size));
  }
  if (!content.empty()) return absl::DataLossError("log chunk with bytes after its end");
  return entries;
}

}  // namespace lockstep
