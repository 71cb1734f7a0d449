#include "agent/own_usage.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/synchronization/mutex.h"
#include "agent/text_fields.h"
#include "agent/unique_fd.h"
#include "base/clock.h"

namespace lockstep {
namespace {

int64_t Nanos(const timeval& time) { return time.tv_sec * kNanosPerSecond + time.tv_usec * kNanosPerMicro; }

int64_t ResidentBytes() {
  const UniqueFd file(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[256];
  const ssize_t length = file.valid() ? read(file.get(), text, sizeof(text)) : -1;
  if (length <= 0) return 0;
  absl::string_view line(text, static_cast<size_t>(length));
  TakeField(line);  // the whole address space
  return static_cast<int64_t>(ParseCount(TakeField(line)).value_or(0)) * sysconf(_SC_PAGESIZE);
}

}  // namespace

OwnUsage ReadOwnUsage() {
  OwnUsage usage;
  rusage resources;
  if (getrusage(RUSAGE_SELF, &resources) == 0) usage.cpu_ns = Nanos(resources.ru_utime) + Nanos(resources.ru_stime);
  usage.resident_bytes = ResidentBytes();
  return usage;
}

void KeepMemorySmall() {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 256 << 10);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace lockstep
