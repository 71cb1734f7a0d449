// Walks through a JSON text of any size, value by value, without holding more than one of them.
//
// The caller steps into the outer objects and arrays itself (Peek, Skip) and takes whole values below. Values are found
// by brackets and quotes alone: a value may still be malformed inside, which whoever parses it notices.
//
// Memory: the longest value taken, at most kMaxJsonValueBytes. Not thread-safe. Errors: those of ByteSource, or
// DATA_LOSS "byte 17: expected ..., found ...".

#ifndef LOCKSTEP_FORMATS_JSON_STREAM_H_
#define LOCKSTEP_FORMATS_JSON_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/byte_source.h"

namespace lockstep {

inline constexpr size_t kMaxJsonValueBytes = size_t{64} << 20;
// Bytes that may be read behind a value, whatever they are: simdjson then parses in place.
inline constexpr size_t kJsonPadding = 64;

class JsonStream {
 public:
  // `source` is borrowed. A value beyond `most_value_bytes` (rounded up to a power of two times 4 MiB) is an error.
  explicit JsonStream(ByteSource& source, size_t most_value_bytes = kMaxJsonValueBytes);

  // The next byte that is not white space, which stays where it is; '\0' at the end (and for a zero byte: AtEnd()). A
  // byte order mark at the beginning is passed over.
  absl::StatusOr<char> Peek();

  // Whether the last Peek found the end of the data.
  bool AtEnd() const { return at_ == end_; }

  // Takes the byte of the last Peek.
  void Skip() { ++at_; }

  // Takes `wanted`, after white space.
  absl::Status Expect(char wanted);

  // Takes the whole value that begins here. Valid until the next call, with kJsonPadding readable bytes behind it.
  absl::StatusOr<absl::string_view> Value();

  // After a Value that was none, or that makes no sense: goes back to the first line within it that begins with
  // `wanted`, since what lacks its end swallows what follows. False when there is none; then nothing changes.
  bool BackToLine(char wanted);

  // In the plain text, of the next byte.
  uint64_t offset() const { return consumed_ + at_; }

 private:
  absl::StatusOr<bool> Fill();  // false at the end
  absl::Status Error(absl::string_view expected, absl::string_view found) const;

  ByteSource& source_;
  const size_t most_value_bytes_;
  std::vector<char> buffer_;
  size_t at_ = 0;
  size_t end_ = 0;
  size_t value_ = 0;       // where the last one begins
  uint64_t consumed_ = 0;  // before the buffer
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_JSON_STREAM_H_
