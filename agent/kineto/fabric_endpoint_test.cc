// The endpoint on a real socket, with clients that are this process and children of it.

#include "agent/kineto/fabric_endpoint.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/kineto/fabric_refusal.h"
#include "agent/kineto/testing/fabric_client.h"
#include "agent/kineto/user_pace.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/process_stat.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/temporary_directory.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kJob = 77;
constexpr int64_t kPatienceNanos = 30 * kNanosPerSecond;

RootedFs Root() { return *RootedFs::Open("/"); }

class FabricEndpointTest : public testing::Test {
 protected:
  FabricEndpointTest() : endpoint_(std::make_unique<FabricEndpoint>(name_, Root(), RealClock())) { WaitToListen(); }

  void WaitToListen() {
    EXPECT_TRUE(Comes([](const FabricStatistics& now) { return now.listening; }));
  }

  static FabricProcess Self() { return {getpid(), ReadProcessStat(Root(), getpid())->start_ticks}; }

  std::string OwnName() { return absl::StrCat(name_, "-client", ++clients_); }

  // Waits for a condition.
  bool Comes(const std::function<bool(const FabricStatistics&)>& condition) const {
    const int64_t end_ns = RealClock().MonotonicNanos() + kPatienceNanos;
    while (!condition(endpoint_->statistics())) {
      if (RealClock().MonotonicNanos() > end_ns) return false;
      StopSignal().WaitFor(kNanosPerMilli);
    }
    return true;
  }

  bool Refused(FabricRefusal refusal, uint64_t times = 1) const {
    return Comes([&](const FabricStatistics& now) { return now.refused[static_cast<size_t>(refusal)] == times; });
  }

  const TemporaryDirectory directory_;
  // Of the directory: pids repeat in sandboxes, which share the namespace of names.
  const std::string name_ = directory_.path().filename().string();
  int clients_ = 0;
  std::unique_ptr<FabricEndpoint> endpoint_;
};

TEST_F(FabricEndpointTest, AProcessRegistersAndPolls) {
  const FabricClient client(name_, OwnName());
  ASSERT_TRUE(client.Register(0, getpid(), kJob));
  EXPECT_EQ(client.Receive("ctxt"), std::string("\1\0\0\0", 4));
  ASSERT_TRUE(client.Poll(getpid(), kJob));
  EXPECT_EQ(client.Receive("req"), "");
  EXPECT_TRUE(Comes([](const FabricStatistics& now) {
    return now.processes == 1 && now.registrations == 1 && now.polls == 1 && now.answers_dropped == 0;
  }));
}

TEST_F(FabricEndpointTest, AnEndpointThatStartsLaterLearnsOfAProcessByItsPoll) {
  const FabricClient client(name_, OwnName());
  ASSERT_TRUE(client.Register(0, getpid(), kJob));
  ASSERT_TRUE(client.Receive("ctxt").has_value());
  endpoint_.reset();
  EXPECT_FALSE(client.Poll(getpid(), kJob)) << "nobody has the name";
  endpoint_ = std::make_unique<FabricEndpoint>(name_, Root(), RealClock());
  WaitToListen();
  ASSERT_TRUE(client.Poll(getpid(), kJob));
  EXPECT_EQ(client.Receive("req"), "");
  EXPECT_TRUE(Comes([](const FabricStatistics& now) { return now.processes == 1; }));
}

TEST_F(FabricEndpointTest, AnOrderIsGivenOnceToItsProcessWithTheNextPoll) {
  const FabricClient client(name_, OwnName());
  const FabricProcess self = Self();
  EXPECT_EQ(endpoint_->Leave(self, "X=1").code(), absl::StatusCode::kFailedPrecondition) << "it has not registered";
  ASSERT_TRUE(client.Poll(getpid(), kJob));
  ASSERT_EQ(client.Receive("req"), "");
  const FabricProcess earlier = {self.pid, self.start_ticks - 1};
  EXPECT_EQ(endpoint_->Leave(earlier, "X=1").code(), absl::StatusCode::kFailedPrecondition) << "of this pid, and gone";
  ASSERT_TRUE(endpoint_->Leave(self, "X=1").ok());
  EXPECT_EQ(endpoint_->Leave(self, "X=2").code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(client.Register(0, getpid(), kJob));
  EXPECT_TRUE(client.Receive("ctxt").has_value());
  EXPECT_FALSE(endpoint_->IsTaken(self));
  ASSERT_TRUE(client.Poll(getpid(), kJob, /*kinds=*/1));
  EXPECT_EQ(client.Receive("req"), "") << "it asks about events only";
  ASSERT_TRUE(client.Poll(getpid(), kJob));
  EXPECT_EQ(client.Receive("req"), "X=1");
  EXPECT_TRUE(endpoint_->IsTaken(self));
  ASSERT_TRUE(client.Poll(getpid(), kJob));
  EXPECT_EQ(client.Receive("req"), "");
  EXPECT_EQ(endpoint_->statistics().orders, 1u);
  endpoint_->Withdraw(self);
  ASSERT_TRUE(endpoint_->Leave(self, "X=2").ok());
  endpoint_->Withdraw(self);
  ASSERT_TRUE(client.Poll(getpid(), kJob));
  EXPECT_EQ(client.Receive("req"), "") << "it is withdrawn";
}

TEST_F(FabricEndpointTest, AProcessOfAnotherNetworkIsToldThatItCannotRegister) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const char done = unshare(CLONE_NEWNET) == 0 ? 1 : 0;
    if (write(ready[1], &done, 1) != 1) _exit(1);
    while (true) pause();
  }
  char done = 0;
  EXPECT_EQ(read(ready[0], &done, 1), 1);
  const auto stat = ReadProcessStat(Root(), child);
  const absl::Status refused = stat.ok() ? endpoint_->Leave({child, stat->start_ticks}, "X=1") : stat.status();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  if (done == 0) GTEST_SKIP() << "no network namespace may be made here";
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.message().find("another network namespace"), absl::string_view::npos) << refused;
}

TEST_F(FabricEndpointTest, AProcessCannotRegisterAnother) {
  const FabricClient client(name_, OwnName());
  ASSERT_TRUE(client.Register(0, getppid(), kJob));
  ASSERT_TRUE(client.Poll(1, kJob));
  EXPECT_TRUE(Refused(FabricRefusal::kForeignPid, 2));
  EXPECT_EQ(endpoint_->statistics().processes, 0u);
}

TEST_F(FabricEndpointTest, AChildWithTheSocketOfItsParentIsItself) {
  const FabricClient client(name_, OwnName());
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) _exit(client.Register(0, parent, kJob) ? 0 : 1);
  int status = -1;
  // Not reaped before it is counted: a sender that is gone is unknown.
  EXPECT_TRUE(Refused(FabricRefusal::kForeignPid));
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(FabricEndpointTest, WhatIsNoMessageOfTheProtocolIsRefusedAndCounted) {
  const FabricClient client(name_, OwnName());
  ASSERT_TRUE(client.Send("x"));
  EXPECT_TRUE(Refused(FabricRefusal::kTooShort));
  ASSERT_TRUE(client.Send(std::string(100'000, 'x')));
  EXPECT_TRUE(Refused(FabricRefusal::kTooLong));
  ASSERT_TRUE(client.Send(std::string(60, 'x')));
  EXPECT_TRUE(Refused(FabricRefusal::kWrongSize));
  ASSERT_TRUE(client.Send(std::string(40, '\0')));
  EXPECT_TRUE(Refused(FabricRefusal::kUnknownType));
  // It goes on serving.
  ASSERT_TRUE(client.Poll(getpid(), kJob));
  EXPECT_EQ(client.Receive("req"), "");
}

TEST_F(FabricEndpointTest, DescriptorsAreNotTaken) {
  const FabricClient client(name_, OwnName());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  ASSERT_TRUE(client.Send(std::string(60, 'x'), writing.get()));
  ASSERT_TRUE(Refused(FabricRefusal::kDescriptors));
  writing.Reset();
  char byte;
  EXPECT_EQ(read(reading.get(), &byte, 1), 0) << "nobody holds the other end";
}

TEST_F(FabricEndpointTest, WhoCannotBeAnsweredIsRefused) {
  ASSERT_TRUE(FabricClient(name_, "").Poll(getpid(), kJob));
  EXPECT_TRUE(Refused(FabricRefusal::kNoAddress));
  const FabricClient of_path(name_, (directory_.path() / "socket").string());
  ASSERT_TRUE(of_path.Poll(getpid(), kJob));
  EXPECT_TRUE(Refused(FabricRefusal::kPathAddress));
}

TEST_F(FabricEndpointTest, OneWhoDoesNotReadLosesAnswersAndHoldsNobodyUp) {
  const FabricClient deaf(name_, OwnName());
  EXPECT_TRUE(Comes([&](const FabricStatistics& now) {
    deaf.Poll(getpid(), kJob);
    return now.answers_dropped > 0;
  }));
  // What a queue that is full or the pace of the user has lost is sent again.
  const FabricClient other(name_, OwnName());
  EXPECT_TRUE(Comes([&](const FabricStatistics& now) {
    other.Register(0, getpid(), kJob);
    return now.registrations > 0;
  }));
  EXPECT_TRUE(other.Receive("ctxt").has_value());
}

TEST_F(FabricEndpointTest, AFloodIsDroppedAndCounted) {
  const FabricClient client(name_, OwnName());
  const int64_t end_ns = RealClock().MonotonicNanos() + kPatienceNanos;
  while (endpoint_->statistics().refused[static_cast<size_t>(FabricRefusal::kFlood)] < 1000 &&
         RealClock().MonotonicNanos() < end_ns) {
    client.Send("x");
  }
  const FabricStatistics now = endpoint_->statistics();
  EXPECT_GE(now.refused[static_cast<size_t>(FabricRefusal::kFlood)], 1000u);
  EXPECT_GE(now.refused[static_cast<size_t>(FabricRefusal::kTooShort)], static_cast<uint64_t>(UserPace::kBurst));
}

TEST_F(FabricEndpointTest, ADaemonThatHasTheNameKeepsIt) {
  FabricEndpoint second(name_, Root(), RealClock());
  const FabricClient client(name_, OwnName());
  for (int poll = 0; poll < 3; ++poll) {
    ASSERT_TRUE(client.Poll(getpid(), kJob));
    EXPECT_EQ(client.Receive("req"), "");
  }
  EXPECT_FALSE(second.statistics().listening);
  EXPECT_TRUE(endpoint_->statistics().listening);
}

}  // namespace
}  // namespace lockstep
