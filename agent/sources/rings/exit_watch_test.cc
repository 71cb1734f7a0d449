#include "agent/sources/rings/exit_watch.h"

#include <gtest/gtest.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/exit_connector.h"
#include "agent/sources/rings/process_exit.h"
#include "agent/sources/rings/process_stat.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

// Waits in the child until it is let go, so that it lives while it begins to be watched.
class Child {
 public:
  explicit Child(int code) {
    EXPECT_EQ(pipe(go_), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    close(go_[1]);
    char byte;
    (void)!read(go_[0], &byte, 1);
    _exit(code);
  }
  ~Child() {
    close(go_[0]);
    if (go_[1] >= 0) close(go_[1]);
    if (!reaped_) Reap();
  }
  // By a byte: another child may hold the other end as well.
  void LetGo() {
    EXPECT_EQ(write(go_[1], "", 1), 1);
    close(std::exchange(go_[1], -1));
  }
  // Until it is a zombie.
  void AwaitEnd() const {
    siginfo_t info;
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT), 0);
  }
  void Reap() {
    reaped_ = true;
    EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
  }
  int32_t pid() const { return pid_; }

 private:
  int go_[2] = {-1, -1};
  pid_t pid_ = 0;
  bool reaped_ = false;
};

class ExitWatchTest : public ::testing::Test {
 protected:
  ExitWatchTest() : root_(*RootedFs::Open("/")), watch_(root_) {}
  int64_t Now() const { return RealClock().MonotonicNanos(); }

  RootedFs root_;
  ExitWatch watch_;
};

TEST_F(ExitWatchTest, AZombieTellsItsExitCode) {
  Child child(3);
  watch_.Add(child.pid(), Now());
  watch_.Poll(Now());
  EXPECT_FALSE(watch_.Of(child.pid(), Now()).has_value()) << "it lives";
  child.LetGo();
  child.AwaitEnd();
  const int64_t before_ns = Now();
  watch_.Poll(before_ns);
  child.Reap();
  const absl::optional<ProcessExit> end = watch_.Of(child.pid(), Now());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->source, ExitSource::kZombie);
  EXPECT_EQ(end->code, 3);
  EXPECT_EQ(end->signal, 0);
  EXPECT_LE(end->at_ns, before_ns);
}

TEST_F(ExitWatchTest, OneThatWasReapedBeforeAnybodyLookedIsToldOrSaidToBeUnknown) {
  Child child(0);
  watch_.Add(child.pid(), Now());
  kill(child.pid(), SIGKILL);
  child.Reap();
  const absl::optional<ProcessExit> end = watch_.Of(child.pid(), Now());
  ASSERT_TRUE(end.has_value());
  EXPECT_NE(end->source, ExitSource::kZombie);
  EXPECT_EQ(end->signal, end->source == ExitSource::kNone ? 0 : SIGKILL);
  EXPECT_FALSE(end->core_dumped);
}

TEST_F(ExitWatchTest, AnEndIsPlacedBetweenTwoLooks) {
  Child child(0);
  const int64_t begun_ns = Now();
  watch_.Add(child.pid(), begun_ns);
  watch_.Poll(begun_ns + 10);
  child.LetGo();
  child.AwaitEnd();
  const int64_t looked_ns = Now();
  watch_.Poll(looked_ns);
  const absl::optional<ProcessExit> end = watch_.Of(child.pid(), Now());
  ASSERT_TRUE(end.has_value());
  EXPECT_GE(end->at_ns - end->uncertain_ns, begun_ns);
  EXPECT_LE(end->at_ns, looked_ns);
}

TEST_F(ExitWatchTest, WhoIsLetGoIsNotWatchedAnyMore) {
  Child kept(1), dropped(2);
  for (const Child* child : {&kept, &dropped}) watch_.Add(child->pid(), Now());
  watch_.Retain({kept.pid()});
  for (Child* child : {&kept, &dropped}) {
    child->LetGo();
    child->AwaitEnd();
  }
  EXPECT_EQ(watch_.Of(kept.pid(), Now())->code, 1);
  EXPECT_EQ(watch_.Of(kept.pid(), Now())->code, 1) << "also when it is asked again";
  EXPECT_FALSE(watch_.Of(dropped.pid(), Now()).has_value());
}

TEST_F(ExitWatchTest, NobodyIsWatchedWherePidsAreThoseOfAnotherNamespace) {
  TemporaryDirectory directory;
  directory.Write("proc/1/stat", "1 (init) S 0");
  const RootedFs root = *RootedFs::Open(directory.path().string());
  ExitWatch watch(root);
  Child child(0);
  watch.Add(child.pid(), Now());
  child.LetGo();
  child.AwaitEnd();
  watch.Poll(Now());
  EXPECT_FALSE(watch.Of(child.pid(), Now()).has_value());
}

absl::StatusOr<ExitConnector> Refused() { return absl::PermissionDeniedError("no"); }

// What an agent says of `kernel` whose process connector refuses, when it follows two processes.
std::string SaidOf(const RootedFs& root, const char* kernel) {
  ExitWatch watch(root, Refused, kernel);
  Child first(0), second(0);
  testing::internal::CaptureStderr();
  watch.Add(first.pid(), 1);
  watch.Add(second.pid(), 2);
  std::string said = testing::internal::GetCapturedStderr();
  first.LetGo();
  second.LetGo();
  return said;
}

TEST_F(ExitWatchTest, ThatEndsAreNotToldIsSaidOnce) {
  for (const char* kernel : {"5.14.0-503.el9.x86_64", "6.5.0", "6.14.11-1", "", "x"}) {
    const std::string said = SaidOf(root_, kernel);
    EXPECT_NE(said.find("level=warning"), std::string::npos) << said;
    EXPECT_NE(said.find("ends of processes are not told here"), std::string::npos) << said;
    EXPECT_NE(said.find("CAP_NET_ADMIN"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
  for (const char* kernel : {"6.15.0", "6.18.4-amd64", "7.0"}) {
    EXPECT_EQ(SaidOf(root_, kernel).find("not told here"), std::string::npos) << kernel;
  }
  TemporaryDirectory directory;
  directory.Write("proc/1/stat", "1 (init) S 0");
  const std::string said = SaidOf(*RootedFs::Open(directory.path().string()), "6.18.4-amd64");
  EXPECT_NE(said.find("ends of processes are not told here"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(ProcessExitTest, AStatusIsACodeOrASignal) {
  ProcessExit end;
  SetStatus(ExitSource::kPidfd, 0x300, end);
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(end.signal, 0);
  SetStatus(ExitSource::kPidfd, SIGSEGV | 0x80, end);
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.signal, SIGSEGV);
  EXPECT_TRUE(end.core_dumped);
}

TEST(ProcessExitTest, TheStatFileOfAZombieHoldsTheStatus) {
  std::string text = "42 (a) b) Z 1 2 3 4 5 6 7 8 9 10 300 40 0 0 20 0 1 0 999";
  for (int field = 23; field <= 51; ++field) text += " 0";
  const auto stat = ParseProcessStat(text + " 768\n");
  ASSERT_OK(stat);
  EXPECT_EQ(stat->exit_status, 0x300);
  EXPECT_EQ(ParseProcessStat(text)->exit_status, 0) << "of an older kernel";
}

std::string Message(uint32_t what, int32_t pid, int32_t tgid, uint32_t status) {
  std::string bytes(NLMSG_HDRLEN + sizeof(cn_msg) + sizeof(proc_event), '\0');
  cn_msg connector = {};
  connector.id = {CN_IDX_PROC, CN_VAL_PROC};
  proc_event event = {};
  event.what = static_cast<decltype(event.what)>(what);
  event.timestamp_ns = 77;
  event.event_data.exit.process_pid = pid;
  event.event_data.exit.process_tgid = tgid;
  event.event_data.exit.exit_code = status;
  std::memcpy(bytes.data() + NLMSG_HDRLEN, &connector, sizeof(connector));
  std::memcpy(bytes.data() + NLMSG_HDRLEN + sizeof(cn_msg), &event, sizeof(event));
  return bytes;
}

TEST(ExitConnectorTest, OnlyTheEndOfAWholeProcessCounts) {
  const auto exit = ExitConnector::Parse(Message(proc_event::PROC_EVENT_EXIT, 9, 9, SIGKILL));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->pid, 9);
  EXPECT_EQ(exit->status, SIGKILL);
  EXPECT_EQ(exit->at_ns, 77);
  EXPECT_FALSE(ExitConnector::Parse(Message(proc_event::PROC_EVENT_EXIT, 10, 9, 0)).has_value()) << "a thread";
  EXPECT_FALSE(ExitConnector::Parse(Message(proc_event::PROC_EVENT_EXEC, 9, 9, 0)).has_value());
  EXPECT_FALSE(ExitConnector::Parse("short").has_value());
}

TEST(ExitConnectorTest, WhereItMayListenItHearsProcessesAndTheMomentOfTheirEnd) {
  absl::StatusOr<ExitConnector> connector = ExitConnector::Open();
  if (!connector.ok()) GTEST_SKIP() << connector.status();
  Child child(5);
  child.LetGo();
  child.AwaitEnd();
  const int64_t now_ns = RealClock().MonotonicNanos();
  int heard = 0;
  connector->Read([&](const ExitConnector::Exit& exit) {
    if (exit.pid != child.pid()) return;
    ++heard;
    EXPECT_EQ(exit.status, 5 << 8);
    EXPECT_LE(exit.at_ns, now_ns);
    EXPECT_GT(exit.at_ns, now_ns - 60 * kNanosPerSecond);
  });
  // In a namespace of its own the kernel takes the wish and says nothing.
  EXPECT_LE(heard, 1);
}

}  // namespace
}  // namespace lockstep
