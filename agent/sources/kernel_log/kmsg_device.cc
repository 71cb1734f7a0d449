#include "agent/sources/kernel_log/kmsg_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "agent/unique_fd.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

bool IsKernelLog(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 11);
}

// The log where a service manager that may open it has put it; else not a descriptor.
UniqueFd DuplicateOfStandardInput() {
  if (!IsKernelLog(STDIN_FILENO)) return UniqueFd();
  UniqueFd fd(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  const int flags = fd.get() < 0 ? -1 : fcntl(fd.get(), F_GETFL);
  if (flags < 0 || fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) return UniqueFd();
  return fd;
}

class RealKmsgDevice final : public KmsgDevice {
 public:
  explicit RealKmsgDevice(RootedFs fs) : fs_(std::move(fs)) {}

  absl::Status Open() override {
    UniqueFd fd = DuplicateOfStandardInput();
    if (!fd.valid()) {
      ASSIGN_OR_RETURN(fd, fs_.OpenFile("dev/kmsg", O_RDONLY | O_NONBLOCK));
    }
    // Containers are often given /dev/null, the console or a plain file under this name, which keep no records.
    if (!IsKernelLog(fd.get())) return absl::NotFoundError("/dev/kmsg is not the kernel log");
    if (lseek(fd.get(), 0, SEEK_SET) < 0) return absl::ErrnoToStatus(errno, "seek in /dev/kmsg");
    fd_ = std::move(fd);
    return absl::OkStatus();
  }

  absl::StatusOr<KmsgRead> Read(std::string& record) override {
    while (true) {
      const ssize_t got = read(fd_.get(), buffer_, sizeof(buffer_));
      if (got > 0) {
        record.assign(buffer_, static_cast<size_t>(got));
        return KmsgRead::kRecord;
      }
      if (got == 0 || errno == EAGAIN) return KmsgRead::kNothingNew;
      if (errno == EINTR) continue;
      if (errno == EPIPE) return KmsgRead::kOverwritten;
      // Longer than the buffer; the kernel steps over it.
      if (errno == EINVAL) return KmsgRead::kUnreadable;
      return absl::ErrnoToStatus(errno, "read /dev/kmsg");
    }
  }

 private:
  // The kernel's limit for one record with its dictionary (PRINTKRB_RECORD_MAX and CONSOLE_EXT_LOG_MAX are below it).
  static constexpr size_t kMaxRecordBytes = 16 * 1024;

  const RootedFs fs_;
  UniqueFd fd_;
  char buffer_[kMaxRecordBytes];
};

}  // namespace

std::unique_ptr<KmsgDevice> MakeKmsgDevice(RootedFs fs) { return std::make_unique<RealKmsgDevice>(std::move(fs)); }

}  // namespace lockstep
