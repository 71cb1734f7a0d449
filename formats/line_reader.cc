#include "formats/line_reader.h"

#include <string.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr size_t kBufferBytes = 2 * kMaxLineBytes;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(ByteSource& source) : source_(source), buffer_(kBufferBytes) {}

absl::StatusOr<bool> LineReader::Fill() {
  if (at_ > 0) {
    memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
  }
  ASSIGN_OR_RETURN(const size_t count, source_.Read(buffer_.data() + end_, buffer_.size() - end_));
  end_ += count;
  return count > 0;
}

absl::StatusOr<bool> LineReader::Next(absl::string_view& line) {
  size_t searched = 0;
  while (true) {
    const char* begin = buffer_.data() + at_;
    const auto* newline = static_cast<const char*>(memchr(begin + searched, '\n', end_ - at_ - searched));
    size_t length = newline != nullptr ? static_cast<size_t>(newline - begin) : end_ - at_;
    if (length > kMaxLineBytes) {
      return absl::DataLossError(absl::StrCat("line ", line_number_ + 1, ": expected at most ", kMaxLineBytes,
                                              " bytes, found more without a line end"));
    }
    if (newline == nullptr) {
      searched = length;
      ASSIGN_OR_RETURN(const bool more, Fill());
      if (more) continue;
      if (length == 0) return false;
      begin = buffer_.data() + at_;
    }
    at_ += newline != nullptr ? length + 1 : length;
    if (length > 0 && begin[length - 1] == '\r') --length;
    line = absl::string_view(begin, length);
    if (++line_number_ == 1) line = absl::StripPrefix(line, kByteOrderMark);
    return true;
  }
}

}  // namespace lockstep
