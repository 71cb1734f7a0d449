#include "collector/store/history_backups.h"

#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPrefix = "history-";
constexpr char kTimeFormat[] = "%Y%m%dT%H%M%SZ";
constexpr absl::string_view kTimeShape = "00000000T000000Z";  // a digit stands for any digit
constexpr uint64_t kBlockBytes = 512;                         // of st_blocks
constexpr absl::string_view kUnfinished = ".tmp";             // RocksDB's, until a copy is whole

std::string NameAt(int64_t wall_ns) {
  return absl::StrCat(kPrefix, absl::FormatTime(kTimeFormat, absl::FromUnixNanos(wall_ns), absl::UTCTimeZone()));
}

bool IsBackupName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kPrefix) || name.size() != kTimeShape.size()) return false;
  return std::equal(name.begin(), name.end(), kTimeShape.begin(), [](char is, char shape) {
    return absl::ascii_isdigit(static_cast<unsigned char>(shape)) ? absl::ascii_isdigit(static_cast<unsigned char>(is))
                                                                  : is == shape;
  });
}

// Names of the entries of `directory` that end like this behind the name of a backup, oldest first.
std::vector<std::string> BackupsIn(const fs::path& directory, absl::string_view ending) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    absl::string_view stem = name;
    if (absl::ConsumeSuffix(&stem, ending) && IsBackupName(stem)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void Remove(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  Log(LogLevel::kError, "an old backup cannot be removed", {{"backup", path.string()}, {"error", error.message()}});
}

}  // namespace

absl::StatusOr<std::string> HistoryBackups::Take() {
  RETURN_IF_ERROR(PreparePlace());
  const std::string name = NameAt(clock_.WallNanos());
  const fs::path path = fs::path(options_.directory) / name;
  std::error_code error;
  if (fs::exists(fs::symlink_status(path, error))) {
    return absl::FailedPreconditionError(absl::StrCat("there is a backup ", path.string(), " already"));
  }
  const absl::Status copied = store_.WriteCopy(path.string());
  // To a client UNAVAILABLE would be a collector that cannot be reached.
  if (absl::IsUnavailable(copied)) return absl::InternalError(copied.message());
  RETURN_IF_ERROR(copied);
  RemoveOldest(name);
  return path.string();
}

absl::Status HistoryBackups::PreparePlace() const {
  if (options_.directory.empty()) {
    return absl::FailedPreconditionError("this collector has no place for backups: set backup.directory");
  }
  std::error_code error;
  fs::create_directory(options_.directory, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot keep backups in ", options_.directory, ": ", error.message()));
  }
  for (const std::string& left_over : BackupsIn(options_.directory, kUnfinished)) {
    Remove(fs::path(options_.directory) / left_over);
  }
  return absl::OkStatus();
}

void HistoryBackups::RemoveOldest(const std::string& newest) const {
  std::vector<std::string> others = BackupsIn(options_.directory, "");
  // Not by its name: the wall clock may have been set back.
  others.erase(std::remove(others.begin(), others.end(), newest), others.end());
  const auto remove_first = [&] {
    Remove(fs::path(options_.directory) / others.front());
    others.erase(others.begin());
  };
  while (others.size() >= options_.keep) remove_first();
  while (!others.empty() && BytesOfAll() > options_.max_bytes) remove_first();
}

uint64_t HistoryBackups::BytesOfAll() const {
  std::map<std::pair<dev_t, ino_t>, uint64_t> files;
  std::error_code error;
  for (const std::string& backup : BackupsIn(options_.directory, "")) {
    for (const auto& entry : fs::directory_iterator(fs::path(options_.directory) / backup, error)) {
      struct stat found = {};
      if (lstat(entry.path().c_str(), &found) != 0) continue;
      files[{found.st_dev, found.st_ino}] = static_cast<uint64_t>(found.st_blocks) * kBlockBytes;
    }
  }
  uint64_t bytes = 0;
  for (const auto& [file, size] : files) bytes += size;
  return bytes;
}

}  // namespace lockstep
