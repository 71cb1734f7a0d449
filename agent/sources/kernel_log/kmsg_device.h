// The kernel log as a device to read from, so that tests can play one.

#ifndef LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KMSG_DEVICE_H_
#define LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KMSG_DEVICE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/rooted_fs.h"

namespace lockstep {

// What became of one read.
enum class KmsgRead {
  kRecord,
  kNothingNew,
  kOverwritten,  // records were lost before they could be read; the next read gives the oldest one that is left
  kUnreadable,   // one record was skipped
};

// Not thread-safe.
class KmsgDevice {
 public:
  virtual ~KmsgDevice() = default;

  // Opens the log before the oldest record that the kernel still has. NOT_FOUND and PERMISSION_DENIED as they are.
  virtual absl::Status Open() = 0;

  // Reads the next record without waiting. To be called after Open only. An error = the log itself is of no use any
  // more; Open may heal it.
  virtual absl::StatusOr<KmsgRead> Read(std::string& record) = 0;
};

// The standard input, if that is the kernel log: a service manager has opened it, and no capability is needed. Else
// /dev/kmsg, which needs CAP_SYSLOG where the kernel restricts it (kernel.dmesg_restrict).
std::unique_ptr<KmsgDevice> MakeKmsgDevice(RootedFs fs);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KMSG_DEVICE_H_
