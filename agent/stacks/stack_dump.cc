#include "agent/stacks/stack_dump.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/stacks/native_sampler.h"
#include "agent/stacks/python_reader.h"
#include "agent/stacks/remote_memory.h"
#include "agent/stacks/stack_tally.h"
#include "agent/stacks/thread_list.h"
#include "base/status_macros.h"
#include "proto/stacks.pb.h"

namespace lockstep {
namespace {

constexpr size_t kMaxMapsBytes = 8 << 20;  // of a process with thousands of libraries

// One dump under way. Not thread-safe.
class StackSampler {
 public:
  StackSampler(const RootedFs& root, const DemandedProcess& process)
      : root_(root), process_(process), memory_(process.pid) {}

  // NOT_FOUND when the process is another one, or gone.
  absl::Status Check() const { return CheckIn(root_); }

  // Looks for code and for an interpreter, or notes why there is none.
  void FindFunctions() {
    absl::StatusOr<RootedFs> own = RootedFs::Open("/");
    if (!own.ok() || !CheckIn(*own).ok()) {
      left_out_.insert("no functions of Python or C: the agent is not in the PID namespace of the host");
      return;
    }
    const absl::StatusOr<std::string> maps =
        root_.ReadFile(absl::StrCat("proc/", process_.pid, "/maps"), kMaxMapsBytes);
    const auto found = maps.ok() ? PythonReader::Find(memory_, *maps) : absl::StatusOr<PythonReader>(maps.status());
    const absl::Status& why = memory_.status().ok() ? found.status() : memory_.status();
    if (found.ok()) python_ = *found;
    if (!found.ok()) left_out_.insert(absl::StrCat("no functions of Python: ", why.message()));
    if (maps.ok() && memory_.status().ok()) native_.emplace(root_, process_.pid, memory_, *maps);
  }

  absl::Status Sample() {
    ASSIGN_OR_RETURN(const ThreadList threads, ListThreads(root_, process_.pid));
    PythonSample python;
    if (python_.has_value()) python = python_->Sample();
    NativeSample native;
    if (native_.has_value()) native = native_->Sample(threads);
    // What was read of a process that has taken the pid meanwhile is thrown away.
    RETURN_IF_ERROR(Check());
    if (threads.tracer != 0) {
      left_out_.insert(absl::StrCat("a debugger holds the process, pid ", threads.tracer, ": it may stand for that"));
    }
    if (!threads.has_syscalls)
      left_out_.insert("no system calls, no functions of C: /proc/PID/syscall may not be read: CAP_SYS_PTRACE");
    if (!threads.has_stacks) left_out_.insert("no kernel stacks: /proc/PID/stack may not be read: CAP_SYS_ADMIN");
    tally_.Add(threads, python, native);
    return absl::OkStatus();
  }

  void Fill(wire::StackDump& dump) const {
    dump.set_rank(process_.rank);
    dump.set_pid(process_.pid);
    dump.set_process_start_ticks(process_.start_ticks);
    if (python_.has_value()) dump.set_python(absl::StrCat("3.", python_->minor()));
    for (const std::string& why : left_out_) dump.add_left_out(why);
    if (native_.has_value()) {
      for (const std::string& why : native_->LeftOut()) dump.add_left_out(why);
    }
    tally_.Fill(process_.pid, dump);
  }

 private:
  absl::Status CheckIn(const RootedFs& root) const {
    const absl::StatusOr<ProcessStat> stat = ReadProcessStat(root, process_.pid);
    const bool is_same = stat.ok() && stat->start_ticks == process_.start_ticks && stat->state != 'Z';
    return is_same ? absl::OkStatus() : absl::NotFoundError("the process has ended");
  }

  const RootedFs& root_;
  const DemandedProcess& process_;
  ProcessMemory memory_;
  absl::optional<PythonReader> python_;
  absl::optional<NativeSampler> native_;
  std::set<std::string> left_out_;  // each once
  StackTally tally_;
};

}  // namespace

absl::StatusOr<std::string> DumpStacks(const RootedFs& root, const DemandCall& call, const Clock& clock) {
  wire::StackParameters parameters;
  if (!parameters.ParseFromString(call.parameters)) return absl::InvalidArgumentError("parameters cannot be read");
  const uint32_t samples =
      parameters.samples() == 0 ? kDefaultStackSamples : std::min(parameters.samples(), kMaxStackSamples);
  const int64_t span_ns =
      parameters.span_ns() <= 0 ? kDefaultStackSpanNanos : std::min(parameters.span_ns(), kMaxStackSpanNanos);
  StackSampler sampler(root, call.process);
  RETURN_IF_ERROR(sampler.Check());
  sampler.FindFunctions();
  wire::StackDump dump;
  const int64_t begin_ns = clock.MonotonicNanos();
  int64_t last_ns = begin_ns;
  for (uint32_t i = 0; i < samples; ++i) {
    const int64_t due_ns = begin_ns + (samples == 1 ? 0 : span_ns * i / (samples - 1));
    if (i > 0 && due_ns > call.deadline_ns) break;
    if (call.stop.WaitFor(std::max<int64_t>(0, due_ns - clock.MonotonicNanos()))) {
      return absl::CancelledError("the agent ends");
    }
    RETURN_IF_ERROR(sampler.Sample());
    last_ns = clock.MonotonicNanos();
    dump.set_samples(i + 1);
  }
  dump.set_span_ns(last_ns - begin_ns);
  sampler.Fill(dump);
  return dump.SerializeAsString();
}

}  // namespace lockstep
