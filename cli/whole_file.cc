#include "cli/whole_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr mode_t kNewFileMode = 0644;

absl::Status Failed(absl::string_view what, absl::string_view path) {
  return absl::FailedPreconditionError(absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

// Where `path` leads; the path itself where nothing is.
std::string Target(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path target = std::filesystem::canonical(path, ignored);
  return target.empty() ? path : target.string();
}

bool WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFileOrEmpty(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && errno == ENOENT) return std::string();
  if (fd < 0) return Failed("read", path);
  const absl::Cleanup close_it = [fd] { close(fd); };
  std::string text;
  char piece[4096];
  while (true) {
    const ssize_t got = read(fd, piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) return text;
    text.append(piece, static_cast<size_t>(got));
    if (text.size() > kMaxWholeFileBytes) {
      return absl::FailedPreconditionError(absl::StrCat(path, " is longer than ", kMaxWholeFileBytes, " bytes"));
    }
  }
}

absl::Status ReplaceWholeFile(const std::string& path, absl::string_view text) {
  const std::string target = Target(path);
  struct stat before = {};
  const bool is_new = stat(target.c_str(), &before) != 0;
  std::string beside = absl::StrCat(target, ".XXXXXX");
  const int fd = mkostemp(beside.data(), O_CLOEXEC);
  if (fd < 0) return Failed("write beside", target);
  absl::Cleanup remove_it = [&beside] { unlink(beside.c_str()); };
  const absl::Cleanup close_it = [fd] { close(fd); };
  // Who may not give the file back to its owner may still replace it.
  if (!is_new && fchown(fd, before.st_uid, before.st_gid) != 0 && errno != EPERM) return Failed("own", beside);
  if (fchmod(fd, is_new ? kNewFileMode : before.st_mode & 07777) != 0) return Failed("set the mode of", beside);
  if (!WriteAll(fd, text) || fsync(fd) != 0) return Failed("write", beside);
  if (rename(beside.c_str(), target.c_str()) != 0) return Failed("replace", target);
  std::move(remove_it).Cancel();
  return absl::OkStatus();
}

}  // namespace lockstep
