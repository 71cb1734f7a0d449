#include "agent/stacks/stack_dump.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

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
constexpr int64_t kTurnPollNanos = 20 * kNanosPerMilli;

// A turn for as long as this lives, if one came in time.
class Turn {
 public:
  // Waits until `until_ns` at most, or the agent ends.
  Turn(StackTurns& turns, StopSignal& stop, int64_t until_ns, const Clock& clock) : turns_(turns) {
    do {
      taken_ = turns_.Take();
    } while (!taken_ && clock.MonotonicNanos() < until_ns && !stop.WaitFor(kTurnPollNanos));
  }
  ~Turn() {
    if (taken_) turns_.GiveBack();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool taken() const { return taken_; }

 private:
  StackTurns& turns_;
  bool taken_ = false;
};

// One dump under way. Not thread-safe.
class StackSampler {
 public:
  // `is_over`: whether to stop in the middle of a sample.
  StackSampler(const RootedFs& root, const DemandedProcess& process, std::function<bool()> is_over)
      : root_(root), process_(process), is_over_(std::move(is_over)), memory_(process.pid) {}

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
    if (maps.ok() && memory_.status().ok()) native_.emplace(root_, process_.pid, memory_, *maps, is_over_);
  }

  void LeaveOut(std::string why) { left_out_.insert(std::move(why)); }

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
  const std::function<bool()> is_over_;
  ProcessMemory memory_;
  absl::optional<PythonReader> python_;
  absl::optional<NativeSampler> native_;
  std::set<std::string> left_out_;  // each once
  StackTally tally_;
};

}  // namespace

absl::StatusOr<std::string> DumpStacks(const RootedFs& root, const DemandCall& call, StackTurns& turns,
                                       const Clock& clock) {
  wire::StackParameters parameters;
  if (!parameters.ParseFromString(call.parameters)) return absl::InvalidArgumentError("parameters cannot be read");
  const uint32_t samples =
      parameters.samples() == 0 ? kDefaultStackSamples : std::min(parameters.samples(), kMaxStackSamples);
  const int64_t span_ns =
      parameters.span_ns() <= 0 ? kDefaultStackSpanNanos : std::min(parameters.span_ns(), kMaxStackSpanNanos);
  const int64_t end_ns = call.deadline_ns - kAnswerNanos;
  // Before all that takes memory.
  const Turn turn(turns, call.stop, end_ns - kShortestLookNanos, clock);
  StackSampler sampler(root, call.process,
                       [&call, &clock, end_ns] { return call.stop.stopped() || clock.MonotonicNanos() >= end_ns; });
  RETURN_IF_ERROR(sampler.Check());
  if (turn.taken()) {
    sampler.FindFunctions();
  } else {
    sampler.LeaveOut("no functions of Python or C: other processes were looked into all the time");
  }
  wire::StackDump dump;
  const int64_t begin_ns = clock.MonotonicNanos();
  int64_t last_ns = begin_ns;
  for (uint32_t i = 0; i < samples; ++i) {
    const int64_t due_ns = begin_ns + (samples == 1 ? 0 : span_ns * i / (samples - 1));
    if (i > 0 && std::max(due_ns, clock.MonotonicNanos()) >= end_ns) {
      sampler.LeaveOut(absl::StrCat(samples - i, " of ", samples, " samples: the time was over"));
      break;
    }
    if (call.stop.WaitFor(std::max<int64_t>(0, due_ns - clock.MonotonicNanos()))) {
      return absl::CancelledError("the agent ends");
    }
    RETURN_IF_ERROR(sampler.Sample());
    last_ns = clock.MonotonicNanos();
    if (call.stop.stopped()) return absl::CancelledError("the agent ends");
    dump.set_samples(i + 1);
  }
  dump.set_span_ns(last_ns - begin_ns);
  sampler.Fill(dump);
  return dump.SerializeAsString();
}

}  // namespace lockstep
