#include "agent/own_system_calls.h"

#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

// As a man page has them. A call that this architecture does not have is passed over.
constexpr const char* kForbidden[] = {
    // processes of others: changed, told
    "process_vm_writev",
#ifndef LOCKSTEP_SANITIZED
    "ptrace",  // by which AddressSanitizer looks for leaks
#endif
    "process_madvise",
    "pidfd_send_signal",
    "pidfd_getfd",
    "tkill",
    "kcmp",
    // their share of the machine
    "sched_setaffinity",
    "sched_setattr",
    "sched_setparam",
    "sched_setscheduler",
    "setpriority",
    "ioprio_set",
    "migrate_pages",
    "move_pages",
    "mbind",
    "set_mempolicy",
    "set_mempolicy_home_node",
    // other programs, and who this one is
    "execve",
    "execveat",
    "setuid",
    "setgid",
    "setreuid",
    "setregid",
    "setresuid",
    "setresgid",
    "setfsuid",
    "setfsgid",
    "setgroups",
    "capset",
    // other views of the file system, and ways around them
    "mount",
    "umount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "unshare",
    "setns",
    "open_by_handle_at",
    "mknod",
    "mknodat",
    // the machine
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "quotactl_fd",
    "settimeofday",
    "clock_settime",
    "clock_settime64",
    "clock_adjtime",
    "clock_adjtime64",
    "adjtimex",
    "stime",
    "sethostname",
    "setdomainname",
    "iopl",
    "ioperm",
    "vhangup",
    "lookup_dcookie",
    // what the kernel itself is attacked by
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "add_key",
    "request_key",
    "keyctl",
    "modify_ldt",
    "uselib",
    "personality",
};

// Their first argument is who is told; this process may tell itself, as abort(3) does.
constexpr const char* kToItselfOnly[] = {"kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"};

struct ReleaseFilter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, ReleaseFilter>;

// 0, or a negative errno.
int Forbid(const Filter& filter, const char* name, const scmp_arg_cmp* condition) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number < 0) return 0;
  return seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(EPERM), number, condition == nullptr ? 0 : 1, condition);
}

int ForbidAll(const Filter& filter) {
  const scmp_arg_cmp somebody_else = {0, SCMP_CMP_NE, static_cast<uint64_t>(getpid()), 0};
  int failed = seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
  for (const char* name : kForbidden) {
    if (failed == 0) failed = Forbid(filter, name, nullptr);
  }
  for (const char* name : kToItselfOnly) {
    if (failed == 0) failed = Forbid(filter, name, &somebody_else);
  }
  return failed;
}

}  // namespace

absl::Status GiveUpSystemCalls() {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW));
  int failed = filter == nullptr ? -ENOMEM : ForbidAll(filter);
  if (failed == 0) failed = seccomp_load(filter.get());
  if (failed == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the kernel takes no filter of system calls: ", std::strerror(-failed)));
}

}  // namespace lockstep
