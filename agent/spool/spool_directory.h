// The folder of a spool: files by number, for one agent alone.
//
// Nobody else may write there: the folder belongs to the user of the agent and has mode 0700, files have 0600 and one
// name; links are not followed. A lock on the file "lock" keeps a second agent out, and ends with its process.

#ifndef LOCKSTEP_AGENT_SPOOL_SPOOL_DIRECTORY_H_
#define LOCKSTEP_AGENT_SPOOL_SPOOL_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/unique_fd.h"

namespace lockstep {

// Not thread-safe. Movable. Every call may block as long as the disk likes.
class SpoolDirectory {
 public:
  static constexpr size_t kMaxFiles = 65'536;  // that are listed
  static constexpr size_t kMaxFileBytes = 64 << 20;
  static constexpr char kSuffix[] = ".segment";     // of the names of files
  static constexpr char kFreshSuffix[] = ".fresh";  // added to the name of a file that is about to take its place

  // Makes the last folder of `path` if it is missing. PERMISSION_DENIED where it belongs to somebody else,
  // ALREADY_EXISTS where another agent uses it; otherwise what the errno says.
  static absl::StatusOr<SpoolDirectory> Open(const std::string& path);

  const std::string& path() const { return path_; }
  // As messages name it.
  std::string PathOf(uint64_t number) const;

  // Numbers of the files that there are, rising; removes what an interrupted Replace has left.
  absl::StatusOr<std::vector<uint64_t>> List() const;

  // A new file, for appending. ALREADY_EXISTS if there is one.
  absl::StatusOr<UniqueFd> Create(uint64_t number) const;

  // All of it. DATA_LOSS beyond kMaxFileBytes.
  absl::StatusOr<std::string> Read(uint64_t number) const;

  // Puts `bytes` in the place of a file: afterwards, and after a crash, there is the old or the new one.
  absl::Status Replace(uint64_t number, absl::string_view bytes) const;

  absl::Status Remove(uint64_t number) const;

  // A descriptor of the folder, to be synced: names are then on the disk.
  UniqueFd Duplicate() const;

 private:
  SpoolDirectory(std::string path, UniqueFd directory, UniqueFd lock)
      : path_(std::move(path)), directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::string path_;
  UniqueFd directory_;
  UniqueFd lock_;
};

// Writes all of `bytes`. On an error some may have been written.
absl::Status WriteAll(const UniqueFd& file, absl::string_view bytes, const std::string& name);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SPOOL_SPOOL_DIRECTORY_H_
