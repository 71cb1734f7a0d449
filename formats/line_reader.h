// The lines of an input, one at a time, without their line ends ("\n" or "\r\n").
//
// Memory: one block and the longest line, at most kMaxLineBytes. Not thread-safe.

#ifndef LOCKSTEP_FORMATS_LINE_READER_H_
#define LOCKSTEP_FORMATS_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/byte_source.h"

namespace lockstep {

inline constexpr size_t kMaxLineBytes = size_t{1} << 20;

class LineReader {
 public:
  // `source` is borrowed.
  explicit LineReader(ByteSource& source);

  // False at the end. `line` is valid until the next call. A byte order mark before the first line is left out. Errors
  // are those of ByteSource, or DATA_LOSS for a line that is too long.
  absl::StatusOr<bool> Next(absl::string_view& line);

  uint64_t line_number() const { return line_number_; }  // of the last line, from 1

 private:
  absl::StatusOr<bool> Fill();  // false at the end

  ByteSource& source_;
  std::vector<char> buffer_;
  size_t at_ = 0;
  size_t end_ = 0;
  uint64_t line_number_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_LINE_READER_H_
