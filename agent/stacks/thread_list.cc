#include "agent/stacks/thread_list.h"

#include <sys/syscall.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/printable_text.h"
#include "agent/sources/rings/process_stat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr size_t kMaxSmallFile = 4'096;
constexpr size_t kMaxStackFile = 16'384;
constexpr size_t kMaxFunctionBytes = 80;
constexpr size_t kMaxThreadName = 16;

// Calls in which a thread of a job may stand for long.
struct SyscallName {
  long number;
  const char* name;
};
constexpr SyscallName kSyscalls[] = {
    {SYS_futex, "futex"},
    {SYS_read, "read"},
    {SYS_pread64, "pread64"},
    {SYS_readv, "readv"},
    {SYS_write, "write"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_writev, "writev"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_recvmmsg, "recvmmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_connect, "connect"},
    {SYS_ioctl, "ioctl"},
    {SYS_openat, "openat"},
    {SYS_close, "close"},
    {SYS_newfstatat, "newfstatat"},
    {SYS_statx, "statx"},
    {SYS_getdents64, "getdents64"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_madvise, "madvise"},
    {SYS_sched_yield, "sched_yield"},
    {SYS_io_getevents, "io_getevents"},
    {SYS_io_uring_enter, "io_uring_enter"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_semtimedop, "semtimedop"},
    {SYS_msgrcv, "msgrcv"},
    {SYS_restart_syscall, "restart_syscall"},
#ifdef __x86_64__
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
    {SYS_open, "open"},
    {SYS_stat, "stat"},
#endif
};

// What it waits in, as far as that may be read.
void ReadFrames(const RootedFs& root, const std::string& task, KernelThread& thread, ThreadList& list) {
  const absl::StatusOr<std::string> syscall = root.ReadFile(task + "syscall", kMaxSmallFile);
  if (syscall.ok()) {
    const std::string name = DescribeSyscall(*syscall);
    if (!name.empty()) thread.frames.push_back(name);
    thread.place = ParseThreadPlace(*syscall);
  } else if (absl::IsPermissionDenied(syscall.status())) {
    list.has_syscalls = false;
  }
  const absl::StatusOr<std::string> stack = root.ReadFile(task + "stack", kMaxStackFile);
  if (stack.ok() && !stack->empty()) {
    std::vector<std::string> functions = ParseKernelStack(*stack);
    std::move(functions.begin(), functions.end(), std::back_inserter(thread.frames));
    return;
  }
  if (!stack.ok() && !absl::IsNotFound(stack.status())) list.has_stacks = false;
  const absl::StatusOr<std::string> channel = root.ReadFile(task + "wchan", kMaxSmallFile);
  if (channel.ok() && !channel->empty() && *channel != "0") {
    thread.frames.push_back(PrintableText(*channel, kMaxFunctionBytes));
  }
}

}  // namespace

int32_t ParseTracer(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int32_t pid = 0;
    if (absl::ConsumePrefix(&line, "TracerPid:") && absl::SimpleAtoi(line, &pid)) return pid;
  }
  return 0;
}

ThreadPlace ParseThreadPlace(absl::string_view text) {
  // Number, six arguments, stack pointer, place; without the arguments where the thread is in no call; or "running".
  const std::vector<absl::string_view> words = absl::StrSplit(absl::StripSuffix(text, "\n"), ' ');
  ThreadPlace place = {.text = std::string(text)};
  if (words.size() < 3 || !absl::SimpleHexAtoi(words[words.size() - 2], &place.stack_pointer) ||
      !absl::SimpleHexAtoi(words.back(), &place.pc)) {
    return {.text = std::string(text)};
  }
  return place;
}

ThreadPlace ReadThreadPlace(const RootedFs& root, int32_t pid, int32_t tid) {
  const absl::StatusOr<std::string> text =
      root.ReadFile(absl::StrCat("proc/", pid, "/task/", tid, "/syscall"), kMaxSmallFile);
  return text.ok() ? ParseThreadPlace(*text) : ThreadPlace{};
}

std::string DescribeSyscall(absl::string_view text) {
  const absl::string_view first = text.substr(0, text.find_first_of(" \n"));
  long number = -1;
  if (!absl::SimpleAtoi(first, &number) || number < 0) return "";
  const auto* const found = std::find_if(std::begin(kSyscalls), std::end(kSyscalls),
                                         [&](const SyscallName& row) { return row.number == number; });
  return found == std::end(kSyscalls) ? absl::StrCat("syscall ", number) : absl::StrCat("syscall ", found->name);
}

std::vector<std::string> ParseKernelStack(absl::string_view text) {
  std::vector<std::string> frames;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    // [<0>] futex_wait_queue+0x60/0x90
    absl::ConsumePrefix(&line, "[<0>] ");
    const absl::string_view function = line.substr(0, line.find('+'));
    if (frames.size() < kMaxKernelFrames) frames.push_back(PrintableText(function, kMaxFunctionBytes));
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

absl::StatusOr<ThreadList> ListThreads(const RootedFs& root, int32_t pid) {
  const std::string tasks = absl::StrCat("proc/", pid, "/task/");
  ASSIGN_OR_RETURN(const std::vector<std::string> names, root.ReadDir(tasks));
  std::vector<int32_t> tids;
  for (const std::string& name : names) {
    int32_t tid = 0;
    if (absl::SimpleAtoi(name, &tid)) tids.push_back(tid);
  }
  std::sort(tids.begin(), tids.end(),
            [pid](int32_t a, int32_t b) { return std::pair(a != pid, a) < std::pair(b != pid, b); });
  ThreadList list;
  const absl::StatusOr<std::string> status = root.ReadFile(absl::StrCat("proc/", pid, "/status"), kMaxSmallFile);
  if (status.ok()) list.tracer = ParseTracer(*status);
  list.left_out = tids.size() - std::min(tids.size(), kMaxListedThreads);
  tids.resize(tids.size() - list.left_out);
  for (const int32_t tid : tids) {
    const std::string task = absl::StrCat(tasks, tid, "/");
    KernelThread thread = {.tid = tid};
    const absl::StatusOr<std::string> stat = root.ReadFile(task + "stat", kMaxSmallFile);
    if (!stat.ok()) continue;
    if (const auto parsed = ParseProcessStat(*stat); parsed.ok()) thread.state = parsed->state;
    const absl::StatusOr<std::string> name = root.ReadFile(task + "comm", kMaxSmallFile);
    if (name.ok()) thread.name = PrintableText(absl::StripSuffix(*name, "\n"), kMaxThreadName);
    ReadFrames(root, task, thread, list);
    list.threads.push_back(std::move(thread));
  }
  return list;
}

}  // namespace lockstep
