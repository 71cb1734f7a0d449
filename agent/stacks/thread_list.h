// What the kernel says of the threads of a process: where each waits, without stopping it.

#ifndef LOCKSTEP_AGENT_STACKS_THREAD_LIST_H_
#define LOCKSTEP_AGENT_STACKS_THREAD_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/rooted_fs.h"

namespace lockstep {

// Where a thread goes on when the kernel lets it. Plain value; thread-compatible.
struct ThreadPlace {
  std::string text;  // of /proc/PID/task/TID/syscall: the same text, the same wait
  uint64_t pc = 0;   // 0 = it runs, or that may not be read
  uint64_t stack_pointer = 0;
};

// Plain value; thread-compatible. Texts are printable.
struct KernelThread {
  int32_t tid = 0;
  std::string name;
  char state = '?';                 // as /proc/PID/stat has it
  std::vector<std::string> frames;  // outermost first: "syscall futex", then functions of the kernel; empty = unknown
  ThreadPlace place;
};

struct ThreadList {
  std::vector<KernelThread> threads;  // the main thread first, then by tid
  size_t left_out = 0;                // beyond kMaxListedThreads
  bool has_syscalls = true;           // false = they may not be read: that needs the right to trace the process
  int32_t tracer = 0;                 // pid of a debugger that holds the process; 0 = none, or unknown
  bool has_stacks = true;             // false = they may not be read: that needs CAP_SYS_ADMIN
};

inline constexpr size_t kMaxListedThreads = 256;
inline constexpr size_t kMaxKernelFrames = 32;

// NOT_FOUND when the process has ended. Threads that end meanwhile are left out. Thread-safe.
absl::StatusOr<ThreadList> ListThreads(const RootedFs& root, int32_t pid);

// Who traces, by the text of /proc/PID/status; 0 = nobody, or it does not say. Pure.
int32_t ParseTracer(absl::string_view text);

// Where a thread waits by now. Thread-safe.
ThreadPlace ReadThreadPlace(const RootedFs& root, int32_t pid, int32_t tid);

// Of the text of /proc/PID/syscall. Pure.
ThreadPlace ParseThreadPlace(absl::string_view text);

// "syscall futex" of the text of /proc/PID/syscall, "syscall 4711" of an unknown number; "" = it is in none. Pure.
std::string DescribeSyscall(absl::string_view text);

// Functions of the text of /proc/PID/stack, outermost first. Pure.
std::vector<std::string> ParseKernelStack(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_THREAD_LIST_H_
