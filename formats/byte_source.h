// The bytes of an input, decompressed on the way when they begin as gzip or zstd do, whatever the file is called.
//
// Streams: memory is two blocks, whatever the size. A compressed file may grow by kMaxExpansion beyond a first
// kFreeExpansionBytes, so that a small hostile file cannot keep a reader busy for hours. Not thread-safe.
//
// Errors: FAILED_PRECONDITION when a file cannot be opened, DATA_LOSS with the byte offset in the compressed file when
// it is damaged, cut short or expands beyond the limit. Messages do not name the file: whoever opened it knows.

#ifndef LOCKSTEP_FORMATS_BYTE_SOURCE_H_
#define LOCKSTEP_FORMATS_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

inline constexpr uint64_t kFreeExpansionBytes = uint64_t{1} << 30;
inline constexpr uint64_t kMaxExpansion = 2000;  // gzip cannot exceed 1032; counters compress by about 30

// One compression format: consumes from a block of compressed bytes, fills a block of plain ones.
class Decompressor {
 public:
  struct Step {
    size_t consumed = 0;
    size_t produced = 0;
    bool between_frames = false;  // the input may end here
  };
  virtual ~Decompressor() = default;

  // INVALID_ARGUMENT with the library's word for what is wrong.
  virtual absl::StatusOr<Step> Advance(const char* in, size_t in_size, char* out, size_t out_size) = 0;
};

class ByteSource {
 public:
  static absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path);

  // The same for bytes from anywhere.
  static absl::StatusOr<std::unique_ptr<ByteSource>> FromStream(std::unique_ptr<std::istream> stream);

  // Up to `size` plain bytes; 0 at the end only.
  absl::StatusOr<size_t> Read(char* out, size_t size);

  // Calls `progress` with how far the file itself has been read, whenever another block was.
  void ReportProgress(std::function<void(uint64_t file_bytes_read)> progress) { progress_ = std::move(progress); }

 private:
  explicit ByteSource(std::unique_ptr<std::istream> stream);
  void Refill();
  absl::StatusOr<size_t> Decompress(char* out, size_t size);
  absl::Status Damaged(absl::string_view why) const;

  const std::unique_ptr<std::istream> stream_;
  std::vector<char> block_;
  size_t block_at_ = 0;
  size_t block_end_ = 0;
  std::unique_ptr<Decompressor> decompressor_;  // null = plain
  bool between_frames_ = true;
  uint64_t file_bytes_read_ = 0;
  uint64_t plain_bytes_ = 0;
  std::function<void(uint64_t)> progress_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_BYTE_SOURCE_H_
