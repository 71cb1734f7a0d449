// Stacks of real interpreters: the system's, and those that LOCKSTEP_TEST_PYTHONS names, separated by colons.

#include "agent/stacks/stack_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/demands/demand_kind.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/stacks/stack_tally.h"
#include "agent/stacks/stack_turns.h"
#include "agent/stacks/thread_list.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "proto/stacks.pb.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kScript[] = R"python(
import sys, threading, time

def wait_for_peer():
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    time.sleep(600)

class Loader:
    def fetch(self):
        time.sleep(600)

def all_reduce():
    wait_for_peer()

thread = threading.Thread(target=Loader().fetch, daemon=True)
thread.start()
all_reduce()
)python";

// A process that runs a script, until the end of the test. It is ready once it has written a line.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command) {
    int out[2];
    EXPECT_EQ(pipe(out), 0);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(out[1]);
    char line[6];
    ready_ = read(out[0], line, sizeof line) > 0;
    close(out[0]);
  }
  ~Child() { Kill(); }

  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  bool ready() const { return ready_; }
  DemandedProcess process(const RootedFs& root) const {
    const auto stat = ReadProcessStat(root, pid_);
    EXPECT_OK(stat);
    return {.job = "job", .rank = 3, .pid = pid_, .start_ticks = stat->start_ticks, .uid = getuid()};
  }

 private:
  pid_t pid_ = 0;
  bool ready_ = false;
};

// Calls back at its call number `at`.
class CountingClock final : public Clock {
 public:
  CountingClock(int at, std::function<void()> then) : at_(at), then_(std::move(then)) {}
  int64_t WallNanos() const override { return RealClock().WallNanos(); }
  int64_t MonotonicNanos() const override {
    if (++calls_ == at_) then_();
    return RealClock().MonotonicNanos();
  }

 private:
  const int at_;
  const std::function<void()> then_;
  mutable int calls_ = 0;
};

// Half a second later each time that somebody asks.
class HurryingClock final : public Clock {
 public:
  int64_t WallNanos() const override { return now_ns_; }
  int64_t MonotonicNanos() const override { return now_ns_ += kNanosPerSecond / 2; }

 private:
  mutable int64_t now_ns_ = 0;
};

class StackDumpTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Dump(const DemandedProcess& process, uint32_t samples, int64_t span_ns,
                                   const Clock& clock = RealClock()) {
    wire::StackParameters parameters;
    parameters.set_samples(samples);
    parameters.set_span_ns(span_ns);
    return DumpStacks(root_, {process, parameters.SerializeAsString(), deadline_ns_, stop_}, turns_, clock);
  }

  // The frames of the stack of Python that the thread was in most, without the lines.
  static std::string Innermost(const wire::StackDump& dump, const wire::ThreadStacks& thread) {
    if (thread.python().empty()) return "";
    const auto& frames = thread.python(0).frames();
    const std::string& name = dump.names(static_cast<int>(frames[frames.size() - 1]));
    return name.substr(0, name.find(':'));
  }

  // The functions of C that the thread was in most, outermost first.
  static std::vector<std::string> NativeOf(const wire::StackDump& dump, const wire::ThreadStacks& thread) {
    std::vector<std::string> frames;
    if (thread.native().empty()) return frames;
    for (const uint32_t frame : thread.native(0).frames()) frames.push_back(dump.names(static_cast<int>(frame)));
    return frames;
  }

  // A script says that it is there before it sleeps.
  void WaitUntilThreadsSleep(const DemandedProcess& process, int threads) {
    wire::StackDump dump;
    int asleep = 0;
    while (asleep < threads) {
      const auto answer = Dump(process, 1, 0);
      ASSERT_OK(answer);
      ASSERT_TRUE(dump.ParseFromString(*answer));
      asleep = 0;
      for (const wire::ThreadStacks& thread : dump.threads()) {
        if (absl::StrContains(absl::StrJoin(NativeOf(dump, thread), " "), "sleep")) ++asleep;
      }
    }
  }

  RootedFs root_ = *RootedFs::Open("/");
  StopSignal stop_;
  StackTurns turns_;
  int64_t deadline_ns_ = INT64_MAX;
};

TEST_F(StackDumpTest, NamesTheFunctionsOfEachThreadOfRealInterpreters) {
  const char* const more = std::getenv("LOCKSTEP_TEST_PYTHONS");
  const std::vector<std::string> pythons =
      absl::StrSplit(absl::StrCat("/usr/bin/python3:", more == nullptr ? "" : more), ':', absl::SkipEmpty());
  for (const std::string& python : pythons) {
    SCOPED_TRACE(python);
    const Child child({python, "-c", kScript});
    ASSERT_TRUE(child.ready());
    WaitUntilThreadsSleep(child.process(root_), 2);
    const auto answer = Dump(child.process(root_), 3, 30 * kNanosPerMilli);
    ASSERT_OK(answer);
    wire::StackDump dump;
    ASSERT_TRUE(dump.ParseFromString(*answer));
    EXPECT_EQ(dump.rank(), 3);
    EXPECT_EQ(dump.samples(), 3u);
    EXPECT_THAT(dump.python(), HasSubstr("3."));
    ASSERT_EQ(dump.threads_size(), 2);
    EXPECT_TRUE(dump.threads(0).main());
    EXPECT_EQ(dump.threads(0).state(), "S");
    EXPECT_THAT(Innermost(dump, dump.threads(0)), HasSubstr("wait_for_peer (<string>"));
    EXPECT_THAT(Innermost(dump, dump.threads(1)), HasSubstr("fetch (<string>"));
    EXPECT_EQ(dump.threads(0).python(0).count(), 3u);
    EXPECT_EQ(dump.torn_reads() + dump.stacks_lost() + dump.threads_left_out(), 0u);
    EXPECT_THAT(dump.left_out(), Not(Contains(HasSubstr("of Python"))));
    ASSERT_EQ(dump.threads(0).native_size(), 1);
    EXPECT_EQ(dump.threads(0).native(0).count(), 3u);
    EXPECT_THAT(NativeOf(dump, dump.threads(0)),
                AllOf(Contains(HasSubstr("Py_BytesMain")), Contains(HasSubstr("sleep"))));
    EXPECT_FALSE(dump.threads(0).native(0).cut());
    EXPECT_THAT(NativeOf(dump, dump.threads(1)).front(), HasSubstr("(libc.so.6)")) << "where threads begin";
    EXPECT_FALSE(dump.threads(1).native(0).cut());
  }
}

TEST_F(StackDumpTest, WhereThereIsNoPythonThereAreCAndTheKernelsSide) {
  const Child child({"/bin/sh", "-c", "echo ready; exec sleep 600"});
  ASSERT_TRUE(child.ready());
  wire::StackDump dump;
  // It says so before it becomes another program, and sleeps.
  do {
    const auto answer = Dump(child.process(root_), 1, 0);
    ASSERT_OK(answer);
    ASSERT_TRUE(dump.ParseFromString(*answer));
  } while (dump.threads(0).native().empty() || dump.threads(0).name() != "sleep");
  EXPECT_EQ(dump.python(), "");
  ASSERT_EQ(dump.threads_size(), 1);
  EXPECT_THAT(dump.left_out(), Contains(HasSubstr("no interpreter of Python 3 is mapped")));
  EXPECT_THAT(NativeOf(dump, dump.threads(0)), Contains(HasSubstr("clock_nanosleep (libc")));
}

TEST_F(StackDumpTest, AProcessThatEndsInTheMiddleIsAnError) {
  Child child({"/usr/bin/python3", "-c", kScript});
  ASSERT_TRUE(child.ready());
  const DemandedProcess process = child.process(root_);
  const CountingClock clock(3, [&] { child.Kill(); });  // after the first sample
  EXPECT_THAT(Dump(process, 10, 10 * kNanosPerMilli, clock).status(), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(Dump(process, 1, 0).status(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("has ended")));
}

TEST_F(StackDumpTest, AnotherProcessOfThePidIsNotLookedAt) {
  DemandedProcess own = {.job = "job", .rank = 0, .pid = getpid(), .start_ticks = 1, .uid = getuid()};
  EXPECT_THAT(Dump(own, 1, 0).status(), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(StackDumpTest, TheAgentDoesNotWaitForItAtItsEnd) {
  const Child child({"/usr/bin/python3", "-c", kScript});
  ASSERT_TRUE(child.ready());
  stop_.Stop();
  EXPECT_THAT(Dump(child.process(root_), 10, 10 * kNanosPerSecond).status(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST_F(StackDumpTest, NorInTheMiddleOfASample) {
  const Child child({"/bin/sh", "-c", "echo ready; exec sleep 600"});
  ASSERT_TRUE(child.ready());
  // It asks when it begins, when the first sample is due, and in that sample.
  const CountingClock clock(3, [&] { stop_.Stop(); });
  EXPECT_THAT(Dump(child.process(root_), 1, 0, clock).status(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST_F(StackDumpTest, SamplesEndBeforeTheDeadlineHoweverLongEachTakes) {
  const Child child({"/bin/sh", "-c", "echo ready; exec sleep 600"});
  ASSERT_TRUE(child.ready());
  deadline_ns_ = 12 * kNanosPerSecond;
  const auto answer = Dump(child.process(root_), 100, kNanosPerMilli, HurryingClock());
  ASSERT_OK(answer);
  wire::StackDump dump;
  ASSERT_TRUE(dump.ParseFromString(*answer));
  EXPECT_GE(dump.samples(), 1u);
  EXPECT_LE(dump.samples(), 12u);
  EXPECT_THAT(dump.left_out(), Contains(absl::StrCat(100 - dump.samples(), " of 100 samples: the time was over")));
}

TEST_F(StackDumpTest, SoManyAreLookedIntoAtOnceOfOthersTheKernelsSideIsSeen) {
  const Child child({"/bin/sh", "-c", "echo ready; exec sleep 600"});
  ASSERT_TRUE(child.ready());
  for (size_t i = 0; i < StackTurns::kAtOnce; ++i) EXPECT_TRUE(turns_.Take());
  EXPECT_FALSE(turns_.Take());
  deadline_ns_ = 8 * kNanosPerSecond;
  const auto answer = Dump(child.process(root_), 1, 0, HurryingClock());
  ASSERT_OK(answer);
  wire::StackDump dump;
  ASSERT_TRUE(dump.ParseFromString(*answer));
  EXPECT_THAT(dump.left_out(), Contains(HasSubstr("other processes were looked into all the time")));
  ASSERT_EQ(dump.threads_size(), 1);
  EXPECT_EQ(dump.threads(0).native_size(), 0);
  // Whoever has been looked into makes room.
  turns_.GiveBack();
  deadline_ns_ = INT64_MAX;
  for (int i = 0; i < 2; ++i) {
    const auto next = Dump(child.process(root_), 1, 0);
    ASSERT_OK(next);
    ASSERT_TRUE(dump.ParseFromString(*next));
    EXPECT_THAT(dump.left_out(), Not(Contains(HasSubstr("other processes"))));
  }
}

// A process 7 of two threads, as /proc has it.
class ThreadListTest : public ::testing::Test {
 protected:
  ThreadListTest() {
    Thread(9, "pt_data_worker", 'D', "");
    Thread(7, "python3", 'S', absl::StrCat(SYS_futex, " 0x1 0x2\n"));
    proc_.Write("proc/7/status", "Name:\tpython3\nState:\tS (sleeping)\nTracerPid:\t0\n");
  }

  void Thread(int tid, const std::string& name, char state, const std::string& syscall) {
    const std::string task = absl::StrCat("proc/7/task/", tid, "/");
    proc_.Write(task + "stat", absl::StrCat(tid, " (", name, ") ", std::string(1, state),
                                            " 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 2 0 4711 1 1\n"));
    proc_.Write(task + "comm", name + "\n");
    if (!syscall.empty()) proc_.Write(task + "syscall", syscall);
  }

  ThreadList List() {
    absl::StatusOr<ThreadList> list = ListThreads(*RootedFs::Open(proc_.path().string()), 7);
    EXPECT_OK(list);
    return list.value_or(ThreadList());
  }

  TemporaryDirectory proc_;
};

TEST_F(ThreadListTest, TheMainThreadComesFirstWithItsNameStateAndCall) {
  const ThreadList list = List();
  ASSERT_EQ(list.threads.size(), 2u);
  EXPECT_EQ(list.threads[0].tid, 7);
  EXPECT_EQ(list.threads[0].name, "python3");
  EXPECT_EQ(list.threads[0].state, 'S');
  EXPECT_THAT(list.threads[0].frames, ElementsAre("syscall futex"));
  EXPECT_EQ(list.threads[1].name, "pt_data_worker");
  EXPECT_EQ(list.threads[1].state, 'D');
  EXPECT_THAT(list.threads[1].frames, ElementsAre());
  EXPECT_EQ(list.tracer, 0);
  EXPECT_TRUE(list.has_syscalls);
}

TEST_F(ThreadListTest, WithoutAStackTheFunctionThatItWaitsIn) {
  proc_.Write("proc/7/task/7/wchan", "futex_wait_queue");
  proc_.Write("proc/7/task/9/wchan", "0");
  EXPECT_THAT(List().threads[0].frames, ElementsAre("syscall futex", "futex_wait_queue"));
  EXPECT_THAT(List().threads[1].frames, ElementsAre());
}

TEST_F(ThreadListTest, TheStackOfTheKernelInItsPlaceWhereItMayBeRead) {
  proc_.Write("proc/7/task/7/wchan", "futex_wait_queue");
  proc_.Write("proc/7/task/7/stack", "[<0>] futex_wait_queue+0x60/0x90\n[<0>] do_futex+0x1/0x2\n");
  EXPECT_THAT(List().threads[0].frames, ElementsAre("syscall futex", "do_futex", "futex_wait_queue"));
}

TEST_F(ThreadListTest, ADebuggerThatHoldsTheProcessIsTold) {
  proc_.Write("proc/7/status", "Name:\tpython3\nState:\tt (tracing stop)\nTracerPid:\t4711\n");
  EXPECT_EQ(List().tracer, 4711);
}

TEST_F(ThreadListTest, OfTooManyThreadsTheRestIsCounted) {
  for (int tid = 100; tid < 100 + static_cast<int>(kMaxListedThreads); ++tid) Thread(tid, "worker", 'S', "");
  EXPECT_EQ(List().threads.size(), kMaxListedThreads);
  EXPECT_EQ(List().left_out, 2u);
}

TEST_F(ThreadListTest, AProcessThatHasEndedIsNone) {
  EXPECT_THAT(ListThreads(*RootedFs::Open(proc_.path().string()), 8).status(),
              StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(ThreadListTest, ReadsWhatTheKernelSays) {
  EXPECT_EQ(ParseTracer("Name:\tx\n"), 0);
  EXPECT_EQ(ParseTracer("TracerPid:\tnobody\n"), 0);
  EXPECT_EQ(DescribeSyscall("running\n"), "");
  EXPECT_EQ(DescribeSyscall("-1 0x7ffd 0x7f00\n"), "");
  EXPECT_EQ(DescribeSyscall("9999 0x1 0x2\n"), "syscall 9999");
  EXPECT_EQ(DescribeSyscall(absl::StrCat(SYS_futex, " 0x1 0x2\n")), "syscall futex");
  EXPECT_THAT(ParseKernelStack("[<0>] futex_wait_queue+0x60/0x90\n[<0>] do_futex+0x1/0x2\n[<0>] odd\x01name+0x1/0x2\n"),
              ElementsAre("odd?name", "do_futex", "futex_wait_queue"));
}

TEST(StackTallyTest, WhatIsTooMuchGoesFromTheEnd) {
  StackTally tally;
  ThreadList list;
  PythonSample python;
  for (int tid = 1; tid <= 200; ++tid) {
    list.threads.push_back({.tid = tid, .name = "t", .state = 'S', .frames = {"syscall futex"}});
    python.stacks.push_back({.tid = tid, .frames = {absl::StrCat(std::string(1000, 'x'), tid)}});
  }
  python.stacks.push_back({.tid = 777, .frames = {"of nobody"}});
  python.torn = 2;
  const NativeSample native = {.stacks = {{1, {.frames = {"main (train)"}}}}, .lost = 1};
  tally.Add(list, python, native);
  tally.Add(list, python, native);
  wire::StackDump dump;
  tally.Fill(7, dump);
  EXPECT_EQ(dump.threads_size(), static_cast<int>(StackTally::kMaxThreads));
  EXPECT_EQ(dump.threads_left_out(), 200 - StackTally::kMaxThreads);
  EXPECT_EQ(dump.threads(0).tid(), 7);
  EXPECT_EQ(dump.threads(0).python(0).count(), 2u);
  EXPECT_EQ(dump.torn_reads(), 4u);
  EXPECT_EQ(dump.stacks_lost(), 2u);
  EXPECT_THAT(dump.names(), Contains("main (train)"));
  EXPECT_THAT(dump.names(), Not(Contains("of nobody")));
}

TEST(StackTallyTest, AThreadThatIsTooLargeLosesStacksAndTheAnswerKeepsItsLimit) {
  StackTally tally;
  ThreadList list;
  for (int tid = 1; tid <= 3; ++tid)
    list.threads.push_back({.tid = tid, .name = "t", .state = 'S', .frames = {"futex"}});
  for (int moment = 0; moment < static_cast<int>(StackTally::kMaxStacksOfThread); ++moment) {
    PythonSample python;
    NativeSample native;
    PythonStack& stack = python.stacks.emplace_back();
    stack.tid = 1;
    NativeStack of_c;
    for (int depth = 0; depth < 128; ++depth) {
      stack.frames.push_back(absl::StrCat(std::string(240, 'p'), moment, ".", depth));
      of_c.frames.push_back(absl::StrCat(std::string(180, 'c'), moment, ".", depth));
    }
    native.stacks.emplace_back(1, of_c);
    tally.Add(list, python, native);
  }
  wire::StackDump dump;
  tally.Fill(1, dump);
  EXPECT_LE(dump.ByteSizeLong(), StackTally::kMaxBytes);
  EXPECT_GT(dump.ByteSizeLong(), StackTally::kMaxBytes / 2);
  ASSERT_EQ(dump.threads_size(), 1);
  EXPECT_GE(dump.threads(0).python_size(), 4);
  EXPECT_EQ(dump.threads(0).kernel_size(), 1) << "what is small finds room";
  EXPECT_EQ(dump.stacks_lost(),
            2 * StackTally::kMaxStacksOfThread - dump.threads(0).python_size() - dump.threads(0).native_size());
  EXPECT_EQ(dump.threads_left_out(), 2u);
}

TEST(StackTallyTest, WhatItKeepsIsBounded) {
  StackTally tally;
  ThreadList list;
  for (int tid = 1; tid <= static_cast<int>(kMaxListedThreads); ++tid)
    list.threads.push_back({.tid = tid, .name = "t"});
  for (int moment = 0; moment < 3; ++moment) {
    NativeSample native;
    for (const KernelThread& thread : list.threads) {
      NativeStack stack;
      for (int depth = 0; depth < 128; ++depth) stack.frames.push_back(absl::StrCat(std::string(180, 'c'), moment));
      native.stacks.emplace_back(thread.tid, stack);
    }
    tally.Add(list, PythonSample(), native);
  }
  EXPECT_LE(tally.kept_bytes(), StackTally::kMaxKeptBytes);
  EXPECT_GT(tally.kept_bytes(), StackTally::kMaxKeptBytes / 2);
  wire::StackDump dump;
  tally.Fill(1, dump);
  EXPECT_GT(dump.stacks_lost(), 256u);
}

}  // namespace
}  // namespace lockstep
