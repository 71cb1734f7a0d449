#include "agent/spool/spool_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace lockstep {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

std::string NameOf(uint64_t number) { return absl::StrFormat("%016x%s", number, SpoolDirectory::kSuffix); }

// Ours alone, and a regular file with no other name.
absl::Status CheckFile(const UniqueFd& file, const std::string& name) {
  struct stat status;
  if (fstat(file.get(), &status) != 0) return absl::ErrnoToStatus(errno, name);
  if (S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(name, " is no file of this agent's own"));
}

absl::Status CheckFolder(const UniqueFd& directory, const std::string& path) {
  struct stat status;
  if (fstat(directory.get(), &status) != 0) return absl::ErrnoToStatus(errno, path);
  if (status.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " belongs to user ", status.st_uid, ", must belong to user ", geteuid(), " of this agent"));
  }
  if ((status.st_mode & 0777) != kFolderMode && fchmod(directory.get(), kFolderMode) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteAll(const UniqueFd& file, absl::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, name);
    if (written == 0) return absl::ResourceExhaustedError(name);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::StatusOr<SpoolDirectory> SpoolDirectory::Open(const std::string& path) {
  if (mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST) return absl::ErrnoToStatus(errno, path);
  UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return absl::ErrnoToStatus(errno, path);
  if (const absl::Status folder = CheckFolder(directory, path); !folder.ok()) return folder;
  const std::string lock_name = path + "/lock";
  UniqueFd lock(openat(directory.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kFileMode));
  if (!lock.valid()) return absl::ErrnoToStatus(errno, lock_name);
  if (const absl::Status file = CheckFile(lock, lock_name); !file.ok()) return file;
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, lock_name);
    return absl::AlreadyExistsError(absl::StrCat(path, " is in use by another agent"));
  }
  return SpoolDirectory(path, std::move(directory), std::move(lock));
}

std::string SpoolDirectory::PathOf(uint64_t number) const { return absl::StrCat(path_, "/", NameOf(number)); }

absl::StatusOr<std::vector<uint64_t>> SpoolDirectory::List() const {
  UniqueFd again(openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(again.valid() ? fdopendir(again.get()) : nullptr, closedir);
  if (listing == nullptr) return absl::ErrnoToStatus(errno, path_);
  again.Release();
  std::vector<uint64_t> numbers;
  while (const dirent* entry = readdir(listing.get())) {
    absl::string_view name = entry->d_name;
    uint64_t number = 0;
    if (absl::EndsWith(name, kFreshSuffix)) unlinkat(directory_.get(), entry->d_name, 0);
    const bool is_ours = absl::ConsumeSuffix(&name, kSuffix) && name.size() == 16 && absl::SimpleHexAtoi(name, &number);
    if (is_ours && numbers.size() < kMaxFiles) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

absl::StatusOr<UniqueFd> SpoolDirectory::Create(uint64_t number) const {
  UniqueFd file(openat(directory_.get(), NameOf(number).c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file.valid()) return absl::ErrnoToStatus(errno, PathOf(number));
  return file;
}

absl::StatusOr<std::string> SpoolDirectory::Read(uint64_t number) const {
  const std::string name = PathOf(number);
  const UniqueFd file(openat(directory_.get(), NameOf(number).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return absl::ErrnoToStatus(errno, name);
  if (const absl::Status checked = CheckFile(file, name); !checked.ok()) return checked;
  struct stat status;
  if (fstat(file.get(), &status) != 0) return absl::ErrnoToStatus(errno, name);
  if (static_cast<size_t>(status.st_size) > kMaxFileBytes) return absl::DataLossError(name + " is too large");
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = pread(file.get(), bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, name);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

absl::Status SpoolDirectory::Replace(uint64_t number, absl::string_view bytes) const {
  const std::string fresh = NameOf(number) + kFreshSuffix;
  unlinkat(directory_.get(), fresh.c_str(), 0);
  {
    const UniqueFd file(
        openat(directory_.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (!file.valid()) return absl::ErrnoToStatus(errno, PathOf(number));
    absl::Status written = WriteAll(file, bytes, PathOf(number));
    if (written.ok() && fdatasync(file.get()) != 0) written = absl::ErrnoToStatus(errno, PathOf(number));
    if (!written.ok()) {
      unlinkat(directory_.get(), fresh.c_str(), 0);
      return written;
    }
  }
  if (renameat(directory_.get(), fresh.c_str(), directory_.get(), NameOf(number).c_str()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, PathOf(number));
}

absl::Status SpoolDirectory::Remove(uint64_t number) const {
  if (unlinkat(directory_.get(), NameOf(number).c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, PathOf(number));
}

UniqueFd SpoolDirectory::Duplicate() const { return UniqueFd(fcntl(directory_.get(), F_DUPFD_CLOEXEC, 0)); }

}  // namespace lockstep
