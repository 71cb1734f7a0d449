// Preloaded into a daemon: writes and syncs of files below $HANGING_DISK do not come back while the file
// $HANGING_DISK_WHEN is there, as those of a disk whose driver hangs.
//
// Thread-safe.

#include <dlfcn.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr useconds_t kLookMicros = 10'000;

bool IsOnTheDisk(int fd) {
  const char* const disk = getenv("HANGING_DISK");
  if (disk == nullptr) return false;
  char link[64];
  char path[PATH_MAX];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return strncmp(path, disk, strlen(disk)) == 0;
}

void Hang(int fd) {
  const char* const when = getenv("HANGING_DISK_WHEN");
  while (when != nullptr && access(when, F_OK) == 0 && IsOnTheDisk(fd)) usleep(kLookMicros);
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* bytes, size_t count) {
  static auto* const next = Next<ssize_t(int, const void*, size_t)>("write");
  Hang(fd);
  return next(fd, bytes, count);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  static auto* const next = Next<ssize_t(int, const iovec*, int)>("writev");
  Hang(fd);
  return next(fd, parts, count);
}

ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t offset) {
  static auto* const next = Next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  Hang(fd);
  return next(fd, bytes, count, offset);
}

int fdatasync(int fd) {
  static auto* const next = Next<int(int)>("fdatasync");
  Hang(fd);
  return next(fd);
}

int fsync(int fd) {
  static auto* const next = Next<int(int)>("fsync");
  Hang(fd);
  return next(fd);
}

}  // extern "C"
