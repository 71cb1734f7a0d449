#include "agent/sources/rings/ring_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/unique_fd.h"
#include "base/log.h"

namespace lockstep {
namespace {

constexpr mode_t kMode = 01777;
constexpr mode_t kModeBits = 07777;

const char* NameOf(RingPlaceFault fault) { return kRingPlaceFaultNames[static_cast<size_t>(fault)]; }

// Of the folder that is there, not of one that takes its place meanwhile.
int SetOwnerAndMode(const std::string& path) {
  const UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status;
  if (!folder.valid() || fstat(folder.get(), &status) != 0) return errno;
  if (status.st_uid != geteuid() && fchown(folder.get(), geteuid(), static_cast<gid_t>(-1)) != 0) return errno;
  return fchmod(folder.get(), kMode) == 0 ? 0 : errno;
}

int Make(const std::string& path) {
  // A job may be faster.
  if (mkdir(path.c_str(), kMode) != 0 && errno != EEXIST) return errno;
  return SetOwnerAndMode(path);
}

}  // namespace

void RingPlace::Keep() {
  fault_ = Look();
  if (fault_ == RingPlaceFault::kNone) return told_error_.Clear();
  const RingPlaceFault found = fault_;
  const int error = Mend(found);
  fault_ = Look();
  if (fault_ == RingPlaceFault::kNone) {
    ++mended_[static_cast<size_t>(found)];
    told_error_.Clear();
    Log(LogLevel::kInfo, "the ring directory is as jobs need it again", {{"path", path_}, {"it_was", NameOf(found)}});
    return;
  }
  const std::string why = absl::StrCat(NameOf(fault_), ": ", error == 0 ? "still so" : std::strerror(error));
  if (!told_error_.IsNews(why)) return;
  Log(LogLevel::kWarning, "the ring directory is wrong and cannot be mended: jobs may go unrecorded",
      {{"path", path_}, {"wrong", why}});
}

RingPlaceFault RingPlace::Look() const {
  struct stat status;
  if (lstat(path_.c_str(), &status) != 0) {
    return errno == ENOENT ? RingPlaceFault::kMissing : RingPlaceFault::kUnreachable;
  }
  const bool is_followed = S_ISLNK(status.st_mode) && status.st_uid == 0;
  if (is_followed && stat(path_.c_str(), &status) != 0) return RingPlaceFault::kUnreachable;
  if (!S_ISDIR(status.st_mode)) return RingPlaceFault::kNotAFolder;
  if (status.st_nlink == 0) return RingPlaceFault::kDeleted;
  if (status.st_uid != geteuid()) return RingPlaceFault::kOwner;
  return (status.st_mode & kModeBits) == kMode ? RingPlaceFault::kNone : RingPlaceFault::kMode;
}

int RingPlace::Mend(RingPlaceFault fault) const {
  if (fault == RingPlaceFault::kOwner || fault == RingPlaceFault::kMode) return SetOwnerAndMode(path_);
  const bool is_in_the_way = fault == RingPlaceFault::kNotAFolder;
  if (is_in_the_way && rename(path_.c_str(), absl::StrCat(path_, ".aside").c_str()) != 0) return errno;
  return is_in_the_way || fault == RingPlaceFault::kMissing ? Make(path_) : 0;
}

}  // namespace lockstep
