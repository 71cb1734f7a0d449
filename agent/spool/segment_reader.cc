#include "agent/spool/segment_reader.h"

#include "base/status_macros.h"

namespace lockstep {

absl::StatusOr<SegmentReader> SegmentReader::Open(absl::string_view segment) {
  size_t bytes = 0;
  ASSIGN_OR_RETURN(SegmentHeader header, DecodeSegmentHeader(segment, &bytes));
  return SegmentReader(std::move(header), segment.substr(bytes));
}

bool SegmentReader::Next(SegmentRecord& record) {
  if (rest_.empty()) return false;
  RecordTry attempt = DecodeRecord(rest_);
  if (attempt.result != RecordTry::Result::kRecord && !Resynchronise(attempt)) return false;
  rest_.remove_prefix(attempt.bytes);
  record = std::move(attempt.record);
  return true;
}

bool SegmentReader::Resynchronise(RecordTry& attempt) {
  const bool is_end = attempt.result == RecordTry::Result::kCut || rest_.find_first_not_of('\0') == rest_.npos;
  size_t at = FindRecordMarker(rest_, 1);
  for (; at != rest_.npos && tries_ < kMaxTries; at = FindRecordMarker(rest_, at + 1), ++tries_) {
    attempt = DecodeRecord(rest_.substr(at));
    if (attempt.result != RecordTry::Result::kRecord) continue;
    ++corrupt_places_;
    corrupt_bytes_ += at;
    rest_.remove_prefix(at);
    return true;
  }
  if (is_end) {
    torn_bytes_ += rest_.size();
  } else {
    ++corrupt_places_;
    corrupt_bytes_ += rest_.size();
  }
  rest_ = {};
  return false;
}

}  // namespace lockstep
