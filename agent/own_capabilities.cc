#include "agent/own_capabilities.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/log.h"

namespace lockstep {
namespace {

struct NeededCapability {
  int number;  // as linux/capability.h has it
  const char* name;
  const char* not_seen;  // without it
};

constexpr NeededCapability kNeeded[] = {
    {CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "how processes of other users ended, and their state where /proc hides it"},
    {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "the rings of other users, and with them their ranks"},
};

uint64_t Wide(const __user_cap_data_struct (&sets)[_LINUX_CAPABILITY_U32S_3], __u32 __user_cap_data_struct::*set) {
  return sets[0].*set | uint64_t{sets[1].*set} << 32;
}

}  // namespace

void UseOwnCapabilities() {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  bool ok = syscall(SYS_capget, &header, sets) == 0;
  // A service manager that gives all of them has no need to allow the call.
  if (ok && Wide(sets, &__user_cap_data_struct::effective) != Wide(sets, &__user_cap_data_struct::permitted)) {
    for (__user_cap_data_struct& set : sets) set.effective = set.permitted;
    ok = syscall(SYS_capset, &header, sets) == 0 && syscall(SYS_capget, &header, sets) == 0;
  }
  if (!ok) Log(LogLevel::kWarning, "capabilities cannot be taken into effect", {{"error", std::strerror(errno)}});
  const uint64_t effective = Wide(sets, &__user_cap_data_struct::effective);
  for (const NeededCapability& needed : kNeeded) {
    if ((effective >> needed.number & 1) != 0) continue;
    Log(LogLevel::kWarning, "a capability is missing", {{"capability", needed.name}, {"not_seen", needed.not_seen}});
  }
}

}  // namespace lockstep
