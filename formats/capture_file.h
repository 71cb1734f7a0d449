// The file that `lockstep capture` writes and `lockstep replay` reads. docs/cli.md describes the bytes:
//
//   skippable zstd frame: 50 2A 4D 18 | 0C 00 00 00 | "LOCKCAP\n" | format version, 4 bytes little-endian
//   zstd frame with content checksum: (length as varint | CaptureEntry)*
//
// The header hides in a skippable frame, so that `zstd -dc` and `zstd -t` work on the file. The end of the zstd frame
// is the end of the capture: a file without it was cut short.
//
// Errors: FAILED_PRECONDITION when a file cannot be opened or written, DATA_LOSS with the byte offset in the file when
// it is not a capture, of a newer format, damaged or cut short.

#ifndef LOCKSTEP_FORMATS_CAPTURE_FILE_H_
#define LOCKSTEP_FORMATS_CAPTURE_FILE_H_

#include <cstdint>
#include <fstream>
#include <functional>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/capture.pb.h"

struct ZSTD_CCtx_s;

namespace lockstep {

inline constexpr uint32_t kCaptureFormatVersion = 1;
// No report that a collector accepts comes near this.
inline constexpr uint32_t kMaxCaptureEntryBytes = 16 << 20;

// Writes under a temporary name beside `path`; the file gets its name in Close, so that a capture that was interrupted
// never looks like a whole one. Not thread-safe.
class CaptureFileWriter {
 public:
  static absl::StatusOr<std::unique_ptr<CaptureFileWriter>> Create(const std::string& path);
  ~CaptureFileWriter();
  CaptureFileWriter(const CaptureFileWriter&) = delete;
  CaptureFileWriter& operator=(const CaptureFileWriter&) = delete;

  absl::Status Append(const wire::CaptureEntry& entry);

  // Ends the frame and gives the file its name. Call once, last; without it the file is removed.
  absl::Status Close();

  uint64_t entries() const { return entries_; }
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  explicit CaptureFileWriter(const std::string& path);
  absl::Status Compress(const std::string& bytes, bool end);
  absl::Status Write(const char* bytes, size_t size);

  const std::string path_;
  const std::string temporary_path_;
  std::ofstream file_;
  ZSTD_CCtx_s* compressor_ = nullptr;  // owned
  std::vector<char> output_;
  uint64_t entries_ = 0;
  uint64_t file_bytes_ = 0;
  bool closed_ = false;
};

// Calls `visit` for every entry of the file in order. An error of `visit` ends the reading and is returned. Memory:
// one entry and two zstd buffers, whatever the file's size.
absl::Status ReadCaptureFile(const std::string& path,
                             const std::function<absl::Status(const wire::CaptureEntry&)>& visit);

// The same for the bytes of a file from anywhere; `name` is what errors call it.
absl::Status ReadCapture(const std::string& name, std::istream& bytes,
                         const std::function<absl::Status(const wire::CaptureEntry&)>& visit);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_CAPTURE_FILE_H_
