#include "agent/spool/segment_format.h"

#include <isa-l/crc.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr absl::string_view kMagic("LSSPOOL\n", 8);
constexpr absl::string_view kMarker("\xA5LSR", 4);
constexpr size_t kFrameBytes = 12;  // marker, length, checksum

template <typename Integer>
void AppendInteger(Integer value, std::string& to) {
  for (size_t i = 0; i < sizeof(value); ++i) to.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
}

void AppendText(absl::string_view text, std::string& to) {
  AppendInteger(static_cast<uint16_t>(text.size()), to);
  absl::StrAppend(&to, text);
}

// Takes integers and texts off the front; once something is missing, all that follows is as well.
class Fields {
 public:
  explicit Fields(absl::string_view data) : data_(data) {}

  template <typename Integer>
  Integer Take() {
    uint64_t value = 0;
    const absl::string_view bytes = TakeBytes(sizeof(Integer));
    for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return static_cast<Integer>(value);
  }
  absl::string_view TakeBytes(size_t size) {
    if (size > data_.size()) ok_ = false;
    if (!ok_) return {};
    const absl::string_view taken = data_.substr(0, size);
    data_.remove_prefix(size);
    return taken;
  }
  std::string TakeText() { return std::string(TakeBytes(Take<uint16_t>())); }

  absl::string_view rest() const { return data_; }
  bool ok() const { return ok_; }

 private:
  absl::string_view data_;
  bool ok_ = true;
};

std::string Frame(absl::string_view body) {
  std::string length;
  AppendInteger(static_cast<uint32_t>(body.size()), length);
  std::string record;
  record.reserve(kFrameBytes + body.size());
  absl::StrAppend(&record, kMarker, length);
  AppendInteger(Crc32c(length, body), record);
  absl::StrAppend(&record, body);
  return record;
}

// False = too short for its type.
bool DecodeBody(absl::string_view body, SegmentRecord& record) {
  Fields fields(body);
  const auto type = static_cast<RecordType>(fields.Take<uint8_t>());
  if (type == RecordType::kReport) {
    SpooledReport& report = record.report.emplace();
    report.sequence = fields.Take<uint64_t>();
    report.wall_ns = fields.Take<int64_t>();
    report.boot_ns = fields.Take<int64_t>();
    report.resume = std::string(fields.TakeBytes(fields.Take<uint32_t>()));
    report.bytes = std::string(fields.rest());
    return fields.ok() && report.sequence != 0;
  }
  if (type == RecordType::kAcknowledged) {
    SpooledAck& ack = record.ack.emplace();
    ack.incarnation = fields.Take<uint64_t>();
    ack.sequence = fields.Take<uint64_t>();
  }
  return fields.ok();
}

}  // namespace

uint32_t Crc32c(absl::string_view first, absl::string_view second) {
  uint32_t state = ~0u;
  for (const absl::string_view bytes : {first, second}) {
    // The library takes an int and does not write.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(bytes.size()), state);
  }
  return ~state;
}

std::string EncodeSegmentHeader(const SegmentHeader& header) {
  std::string body;
  AppendInteger(header.incarnation, body);
  AppendInteger(header.first_sequence, body);
  AppendInteger(header.thinning, body);
  AppendText(absl::string_view(header.host).substr(0, kMaxSegmentNameBytes), body);
  AppendText(absl::string_view(header.boot_id).substr(0, kMaxSegmentNameBytes), body);
  std::string bytes(kMagic);
  AppendInteger(kSegmentVersion, bytes);
  AppendInteger(static_cast<uint32_t>(body.size()), bytes);
  absl::StrAppend(&bytes, body);
  AppendInteger(Crc32c(bytes), bytes);
  return bytes;
}

absl::StatusOr<SegmentHeader> DecodeSegmentHeader(absl::string_view segment, size_t* bytes) {
  Fields fields(segment);
  if (fields.TakeBytes(kMagic.size()) != kMagic) return absl::DataLossError("is no spool segment: no magic number");
  const auto version = fields.Take<uint32_t>();
  if (fields.ok() && version > kSegmentVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("has version ", version, ", this agent reads up to ", kSegmentVersion, ": left alone"));
  }
  const auto size = fields.Take<uint32_t>();
  Fields body(fields.TakeBytes(size));
  const auto checksum = fields.Take<uint32_t>();
  if (!fields.ok() || version == 0 || size > kMaxSegmentHeaderBytes) return absl::DataLossError("has a cut header");
  *bytes = segment.size() - fields.rest().size();
  if (Crc32c(segment.substr(0, *bytes - sizeof(checksum))) != checksum) {
    return absl::DataLossError("has a header whose checksum does not match");
  }
  SegmentHeader header;
  header.incarnation = body.Take<uint64_t>();
  header.first_sequence = body.Take<uint64_t>();
  header.thinning = body.Take<uint32_t>();
  header.host = body.TakeText();
  header.boot_id = body.TakeText();
  if (!body.ok() || header.incarnation == 0) return absl::DataLossError("has a header that lacks fields");
  return header;
}

std::string EncodeReport(const SpooledReport& report) {
  std::string body;
  body.reserve(32 + report.resume.size() + report.bytes.size());
  AppendInteger(static_cast<uint8_t>(RecordType::kReport), body);
  AppendInteger(report.sequence, body);
  AppendInteger(report.wall_ns, body);
  AppendInteger(report.boot_ns, body);
  AppendInteger(static_cast<uint32_t>(report.resume.size()), body);
  absl::StrAppend(&body, report.resume, report.bytes);
  return Frame(body);
}

std::string EncodeAck(const SpooledAck& ack) {
  std::string body;
  AppendInteger(static_cast<uint8_t>(RecordType::kAcknowledged), body);
  AppendInteger(ack.incarnation, body);
  AppendInteger(ack.sequence, body);
  return Frame(body);
}

RecordTry DecodeRecord(absl::string_view data) {
  RecordTry attempt;
  Fields fields(data);
  const size_t prefix = std::min(data.size(), kMarker.size());
  if (data.substr(0, prefix) != kMarker.substr(0, prefix)) return attempt;
  fields.TakeBytes(kMarker.size());
  const auto size = fields.Take<uint32_t>();
  const auto checksum = fields.Take<uint32_t>();
  if (fields.ok() && size > kMaxRecordBodyBytes) return attempt;
  const absl::string_view body = fields.TakeBytes(size);
  if (!fields.ok()) {
    attempt.result = RecordTry::Result::kCut;
    return attempt;
  }
  // The checksum covers the length and the body, between which it stands.
  if (Crc32c(data.substr(kMarker.size(), sizeof(size)), body) != checksum) return attempt;
  if (!DecodeBody(body, attempt.record)) return attempt;
  attempt.bytes = kFrameBytes + size;
  attempt.result = RecordTry::Result::kRecord;
  return attempt;
}

size_t FindRecordMarker(absl::string_view data, size_t from) { return data.find(kMarker, from); }

}  // namespace lockstep
