#include "tests/faults/spool_disk.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/spool/spool_directory.h"
#include "base/check.h"
#include "tests/faults/libc.h"
#include "tests/faults/trace.h"

namespace lockstep::faults {
namespace {

std::map<Machine, SpoolDisk*>& Disks() {
  static std::map<Machine, SpoolDisk*> disks;
  return disks;
}

// Segments, in the order of their names, which the kernel does not keep.
std::set<std::string> SegmentsIn(const std::string& folder) {
  std::set<std::string> paths;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (absl::EndsWith(entry.path().string(), SpoolDirectory::kSuffix)) paths.insert(entry.path().string());
  }
  return paths;
}

std::string PathOf(int file) {
  std::error_code ignored;
  return std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", file), ignored).string();
}

}  // namespace

SpoolDisk* OwnSpoolDisk() {
  const auto found = Disks().find(CurrentMachine());
  return found == Disks().end() ? nullptr : found->second;
}

SpoolDisk::SpoolDisk(Machine machine, std::string folder, bool forgets_syncs)
    : machine_(machine), folder_(std::move(folder)), forgets_syncs_(forgets_syncs) {
  CHECK(Disks().emplace(machine_, this).second);
}

SpoolDisk::~SpoolDisk() { Disks().erase(machine_); }

ssize_t SpoolDisk::Write(int file, const void* bytes, size_t count) {
  if (trouble_.slow_ns > 0) SleepFor(trouble_.slow_ns);
  if (trouble_.fails_writes) {
    errno = EIO;
    return -1;
  }
  if (!trouble_.is_full) return libc::Write(file, bytes, count);
  // A disk that has room for a half of it takes that first.
  has_taken_half_ = !has_taken_half_;
  if (has_taken_half_ && count > 1) return libc::Write(file, bytes, count / 2);
  errno = ENOSPC;
  return -1;
}

int SpoolDisk::Sync(int file) {
  if (trouble_.slow_ns > 0) SleepFor(trouble_.slow_ns);
  if (trouble_.fails_syncs) {
    errno = EIO;
    return -1;
  }
  struct stat status;
  if (forgets_syncs_ || fstat(file, &status) != 0) return 0;
  if (S_ISREG(status.st_mode)) {
    const std::string path = PathOf(file);
    const std::string segment(absl::StripSuffix(path, SpoolDirectory::kFreshSuffix));
    synced_bytes_[segment] = status.st_size;
    // It is about to be renamed, which a file system does as a whole: to the old file or to the new one.
    if (segment != path) synced_names_.insert(segment);
    return 0;
  }
  synced_names_ = SegmentsIn(folder_);
  for (auto known = synced_bytes_.begin(); known != synced_bytes_.end();) {
    known = synced_names_.count(known->first) == 0 ? synced_bytes_.erase(known) : std::next(known);
  }
  return 0;
}

void SpoolDisk::LosePower(Random& random) {
  off_t lost = 0;
  for (const std::string& segment : SegmentsIn(folder_)) {
    struct stat status;
    CHECK(stat(segment.c_str(), &status) == 0);
    const off_t synced = std::min(synced_bytes_[segment], status.st_size);
    const off_t kept = synced + static_cast<off_t>(random.Below(static_cast<uint64_t>(status.st_size - synced) + 1));
    const bool is_gone = synced_names_.count(segment) == 0 && random.Below(2) == 0;
    const bool is_zeroed = random.Below(2) == 0;
    lost += status.st_size - (is_gone ? 0 : kept);
    if (is_gone) {
      CHECK(unlink(segment.c_str()) == 0);
      continue;
    }
    CHECK(truncate(segment.c_str(), kept) == 0);
    if (is_zeroed) CHECK(truncate(segment.c_str(), status.st_size) == 0);
    synced_bytes_[segment] = status.st_size;
  }
  synced_names_ = SegmentsIn(folder_);
  Trace(absl::StrCat("the spool of machine ", machine_, " lost ", lost, " bytes"));
}

}  // namespace lockstep::faults
