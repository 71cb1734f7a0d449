#include "daemon/bounded_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace lockstep {

absl::StatusOr<std::string> ReadBoundedFile(const std::string& path) {
  const auto refuse = [&path](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read: ", why));
  };
  // A pipe that nobody writes must not hold up a daemon.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return refuse(std::strerror(errno));
  const absl::Cleanup close_it = [fd] { close(fd); };
  std::string text(kMaxBoundedFileBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(std::strerror(errno));
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > kMaxBoundedFileBytes) return refuse(absl::StrCat("is longer than ", kMaxBoundedFileBytes, " bytes"));
  text.resize(size);
  text.shrink_to_fit();
  return text;
}

}  // namespace lockstep
