// A file that appears whole or not at all, plain or compressed by the ending of its name: ".gz", ".zst", anything else.
//
// Writes under a temporary name beside `path`; the file gets its name in Close. Same bytes in, same bytes out: no time
// of day goes into the compressed file. Not thread-safe. FAILED_PRECONDITION when the file cannot be written.

#ifndef LOCKSTEP_FORMATS_FILE_WRITER_H_
#define LOCKSTEP_FORMATS_FILE_WRITER_H_

#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// Turns what is appended into the bytes of the file.
class Compressor {
 public:
  virtual ~Compressor() = default;

  // Appends to `out` what is ready; `end` is true once, last.
  virtual void Compress(absl::string_view bytes, bool end, std::string& out) = 0;
};

class FileWriter {
 public:
  static absl::StatusOr<std::unique_ptr<FileWriter>> Create(const std::string& path);
  ~FileWriter();  // removes a file that was not closed
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  absl::Status Append(absl::string_view bytes);

  // Call once, last.
  absl::Status Close();

 private:
  explicit FileWriter(const std::string& path);
  absl::Status Flush(bool end);

  const std::string path_;
  const std::string temporary_path_;
  std::ofstream file_;
  std::unique_ptr<Compressor> compressor_;  // null = plain
  std::string pending_;
  bool closed_ = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_FILE_WRITER_H_
