#include "collector/store/space_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace lockstep {
namespace {

constexpr char kName[] = "reserve";  // no name of RocksDB's, which leaves it alone
constexpr mode_t kMode = 0600;

}  // namespace

SpaceReserve::SpaceReserve(const std::string& directory, uint64_t bytes)
    : path_((std::filesystem::path(directory) / kName).string()), bytes_(bytes) {
  struct stat found = {};
  is_held_ = bytes_ > 0 && stat(path_.c_str(), &found) == 0 && static_cast<uint64_t>(found.st_size) >= bytes_;
}

bool SpaceReserve::Take() {
  MutexLock lock(mutex_);
  if (is_held_ || bytes_ == 0) return is_held_;
  const int file = open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (file < 0) return false;
  is_held_ = posix_fallocate(file, 0, static_cast<off_t>(bytes_)) == 0;
  close(file);
  if (!is_held_) unlink(path_.c_str());
  return is_held_;
}

void SpaceReserve::GiveUp() {
  MutexLock lock(mutex_);
  unlink(path_.c_str());
  is_held_ = false;
}

}  // namespace lockstep
