#include "agent/rooted_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

absl::Status ErrnoStatus(int error, absl::string_view action, absl::string_view path) {
  const std::string message = absl::StrCat(action, " ", path);
  // A path through a plain file leads nowhere, just as one through a missing folder.
  if (error == ENOTDIR) return absl::NotFoundError(absl::StrCat(message, ": ", std::strerror(error)));
  return absl::ErrnoToStatus(error, message);
}

// Nothing but names between single or repeated slashes, none of them "..".
absl::Status CheckPath(absl::string_view path) {
  const auto refuse = [path](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("path \"", path, "\" ", why));
  };
  if (path.empty()) return refuse("is empty");
  if (path.front() == '/') return refuse("is absolute");
  if (path.size() >= PATH_MAX) return refuse("is too long");
  if (path.find('\0') != absl::string_view::npos) return refuse("contains a NUL");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") return refuse("leaves the root");
    begin = end + 1;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RootedFs> RootedFs::Open(absl::string_view root) {
  std::string name(root);
  UniqueFd directory(open(name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return ErrnoStatus(errno, "open root", root);
  return RootedFs(std::move(name), std::move(directory));
}

absl::StatusOr<UniqueFd> RootedFs::OpenAt(absl::string_view path, int flags) const {
  RETURN_IF_ERROR(CheckPath(path));
  char name[PATH_MAX];  // CheckPath bounds the length
  std::memcpy(name, path.data(), path.size());
  name[path.size()] = '\0';
  const auto finish = [path](int fd) -> absl::StatusOr<UniqueFd> {
    if (fd < 0) return ErrnoStatus(errno, "open", path);
    return UniqueFd(fd);
  };
  if (root_ != "/") {
    open_how how = {};
    how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_IN_ROOT;
    const int fd = static_cast<int>(syscall(SYS_openat2, directory_.get(), name, &how, sizeof(how)));
    // EPERM: a container runtime older than the call forbids what it does not know.
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return finish(fd);
  }
  return finish(openat(directory_.get(), name, flags | O_CLOEXEC));
}

absl::StatusOr<UniqueFd> RootedFs::OpenFile(absl::string_view path, int flags) const { return OpenAt(path, flags); }

absl::StatusOr<std::string> RootedFs::ReadFile(absl::string_view path, size_t max_bytes) const {
  // Non-blocking: a named pipe planted among the files must not stop the agent.
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenAt(path, O_RDONLY | O_NOCTTY | O_NONBLOCK));
  std::string text;
  char piece[4096];
  while (true) {
    const ssize_t got = read(fd.get(), piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) return text;
    if (text.size() + static_cast<size_t>(got) > max_bytes) {
      return absl::OutOfRangeError(absl::StrCat("read ", path, ": longer than ", max_bytes, " bytes"));
    }
    text.append(piece, static_cast<size_t>(got));
  }
}

absl::StatusOr<std::vector<std::string>> RootedFs::ReadDir(absl::string_view path) const {
  ASSIGN_OR_RETURN(UniqueFd fd, OpenAt(path, O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fdopendir(fd.get()), closedir);
  if (directory == nullptr) return ErrnoStatus(errno, "list", path);
  fd.Release();  // closedir closes it
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(directory.get());
    if (entry == nullptr && errno != 0) return ErrnoStatus(errno, "list", path);
    if (entry == nullptr) break;
    const absl::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxDirectoryEntries) {
      return absl::OutOfRangeError(absl::StrCat("list ", path, ": more than ", kMaxDirectoryEntries, " entries"));
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::string> RootedFs::ReadLink(absl::string_view path) const {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenAt(path, O_PATH | O_NOFOLLOW));
  char target[PATH_MAX];
  const ssize_t length = readlinkat(fd.get(), "", target, sizeof(target));
  // With an empty path, "not a link" is said as ENOENT; the file is there all the same.
  if (length < 0) return absl::FailedPreconditionError(absl::StrCat("read link ", path, ": ", std::strerror(errno)));
  return std::string(target, static_cast<size_t>(length));
}

bool RootedFs::Exists(absl::string_view path) const { return OpenAt(path, O_PATH).ok(); }

}  // namespace lockstep
