#include "agent/sources/rings/rings_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/gpu_names.h"
#include "agent/recorder/ring_writer.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/rings_source_fixture.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

class RingsSourceTest : public RingsSourceFixture {};

TEST_F(RingsSourceTest, ReportsIdentityProgressOperationsAndWhatIsInFlight) {
  RingsSource source = MakeSource();
  const auto begin = [&](int64_t at_ns) {
    return writer_->Begin({.kind = ring::OperationKind::kAllReduce, .started = true, .communicator = world_}, at_ns);
  };
  writer_->Finish(begin(now_ns_), {}, now_ns_ + 50);
  begin(now_ns_ + 100);
  const wire::AgentReport report = Collect(source, 1000);
  ASSERT_EQ(report.processes_size(), 1);
  const wire::ProcessReport& process = report.processes(0);
  EXPECT_EQ(process.job(), "job?");
  EXPECT_EQ(process.state(), wire::PROCESS_STATE_RUNNING);
  EXPECT_EQ(process.recorder_state(), wire::RECORDER_STATE_ACTIVE);
  EXPECT_EQ(process.cpu_ns(), kNanosPerSecond);
  ASSERT_EQ(process.communicators_size(), 1);
  const wire::CommunicatorReport& world = process.communicators(0);
  EXPECT_EQ(world.enqueued(), 2u);
  EXPECT_EQ(world.finished(), 1u);
  EXPECT_EQ(world.idle_ns(), 900);
  EXPECT_EQ(world.oldest_in_flight().sequence(), 2u);
  EXPECT_EQ(world.oldest_in_flight().age_ns(), 900);
  EXPECT_THAT(world.operations().duration_ns(), ElementsAre(50));
}

TEST_F(RingsSourceTest, AnswersUnderEachNameThatTheCollectorKnowsTheJobBy) {
  RingsSource source = MakeSource();
  writer_->Finish(
      writer_->Begin({.kind = ring::OperationKind::kAllReduce, .started = true, .communicator = world_}, now_ns_), {},
      now_ns_ + 50);
  EXPECT_EQ(Collect(source, 1000).processes(0).uid(), geteuid());
  wire::Command command;
  command.set_id(5);
  command.set_job("another part");
  command.mutable_pull_operations()->set_newest_ns(kNanosPerSecond);
  Tick tick;
  tick.monotonic_ns = now_ns_ + 2000;
  const auto answer = [&] {
    wire::AgentReport report;
    source.Execute(command, tick, report);
    return report.command_results(0);
  };
  EXPECT_EQ(answer().pulled_size(), 0);
  command.add_further_jobs("job?");
  EXPECT_EQ(answer().pulled_size(), 1);
  EXPECT_EQ(answer().job(), "another part");
}

TEST_F(RingsSourceTest, WhatRanksDoWhileTheAgentStandsStillInATickIsNotLost) {
  RingsSource source = MakeSource();
  writer_->Finish(
      writer_->Begin({.kind = ring::OperationKind::kAllReduce, .started = true, .communicator = world_}, now_ns_ - 50),
      {}, now_ns_);
  const wire::AgentReport report = Collect(source, -3 * kNanosPerSecond);  // it was stopped for so long
  ASSERT_EQ(report.processes_size(), 1);
  EXPECT_THAT(report.processes(0).communicators(0).operations().duration_ns(), ElementsAre(50));
  EXPECT_EQ(report.dropped_size(), 0);
}

TEST_F(RingsSourceTest, StoppedThenGoneThenForgottenWithItsFile) {
  RingsSource source = MakeSource();
  SetState('T');
  const wire::AgentReport stopped = Collect(source, 1);
  EXPECT_EQ(stopped.processes(0).state(), wire::PROCESS_STATE_STOPPED);
  EXPECT_FALSE(stopped.processes(0).has_end());
  Kill();
  const wire::AgentReport gone = Collect(source, 5);
  EXPECT_EQ(gone.processes(0).state(), wire::PROCESS_STATE_GONE);
  // Nobody could tell how it ended, and that is said.
  EXPECT_EQ(gone.processes(0).end().source(), wire::ProcessEnd::SOURCE_NONE);
  EXPECT_EQ(gone.processes(0).end().age_ns(), 0);
  EXPECT_EQ(gone.processes(0).end().uncertain_ns(), 4);
  EXPECT_EQ(Collect(source, 9).processes(0).end().age_ns(), 4);
  EXPECT_EQ(Collect(source, RingDirectory::kGoneNanos).processes_size(), 1);
  EXPECT_TRUE(std::filesystem::exists(path_));
  Collect(source, RingDirectory::kGoneNanos + 10);
  EXPECT_EQ(Collect(source, RingDirectory::kGoneNanos + 11).processes_size(), 0);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(RingsSourceTest, AProcessThatDiedJustBeforeItsRingWasSeenIsReportedGoneWithWhatItDid) {
  Kill();
  const ring::OperationHandle operation =
      writer_->Begin({.kind = ring::OperationKind::kBarrier, .started = true, .communicator = world_}, now_ns_);
  writer_->Finish(operation, {}, now_ns_ + 5);
  RingsSource source = MakeSource();
  const wire::AgentReport report = Collect(source, 1000);
  ASSERT_EQ(report.processes_size(), 1);
  EXPECT_EQ(report.processes(0).state(), wire::PROCESS_STATE_GONE);
  EXPECT_THAT(report.processes(0).communicators(0).operations().duration_ns(), ElementsAre(5));
}

TEST_F(RingsSourceTest, RingOfAProcessThatDiedLongAgoIsRemovedInSilence) {
  Kill();
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 2 * RingDirectory::kGoneNanos).processes_size(), 0);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(RingsSourceTest, AProcessInAContainerIsFoundUnderItsHostPidAndKeepsItsRing) {
  Kill();
  const int host_pid = std::stoi(pid_) + 100'000;
  const std::string folder = absl::StrCat("root/proc/", host_pid);
  directory_.Write(absl::StrCat(folder, "/stat"),
                   absl::StrCat(host_pid, " (train) R 1 2 3 4 5 6 7 8 9 10 100 0 0 0 20 0 1 0 ", ticks_, " 5"));
  directory_.Write(absl::StrCat(folder, "/status"), Status(absl::StrCat(host_pid, "\t", pid_)));
  RingsSource source = MakeSource();
  // Long after its last sign of life, which alone would make it a leftover.
  for (const int64_t after_ns : {2 * RingDirectory::kGoneNanos, 4 * RingDirectory::kGoneNanos}) {
    const wire::AgentReport report = Collect(source, after_ns);
    ASSERT_EQ(report.processes_size(), 1);
    EXPECT_EQ(report.processes(0).pid(), host_pid);
    EXPECT_EQ(report.processes(0).state(), wire::PROCESS_STATE_RUNNING);
  }
  EXPECT_TRUE(std::filesystem::exists(path_));
  std::filesystem::remove_all(directory_.path() / folder);
  EXPECT_EQ(Collect(source, 5 * RingDirectory::kGoneNanos).processes(0).state(), wire::PROCESS_STATE_GONE);
}

TEST_F(RingsSourceTest, KeepingUpBetweenTicksLosesNothing) {
  RingsSource source = MakeSource();
  Collect(source, 1);
  for (int i = 0; i < 40; ++i) {
    writer_->Finish(
        writer_->Begin({.kind = ring::OperationKind::kAllReduce, .started = true, .communicator = world_}, now_ns_), {},
        now_ns_ + 1);
    if (i % 4 == 3) source.KeepUp();
  }
  EXPECT_EQ(Collect(source, 2).processes(0).communicators(0).operations().kinds_size(), 40);
  EXPECT_EQ(source.total().overwritten, 0u);
  EXPECT_EQ(Collect(source, 3).processes(0).communicators(0).operations().kinds_size(), 0);
}

TEST_F(RingsSourceTest, MoreThanCanBeKeptIsThinnedAndCounted) {
  RingsSource source = MakeSource();
  Collect(source, 1);
  constexpr int kOperations = RingDirectory::kMaxKept + 1000;
  for (int i = 0; i < kOperations; ++i) {
    writer_->Finish(
        writer_->Begin({.kind = ring::OperationKind::kAllReduce, .started = true, .communicator = world_}, now_ns_), {},
        now_ns_ + 1);
    if (i % 8 == 7) source.KeepUp();
  }
  const wire::AgentReport report = Collect(source, 2);
  const wire::OperationBatch& batch = report.processes(0).communicators(0).operations();
  EXPECT_GT(batch.stride(), 1u);
  EXPECT_EQ(batch.sequence_deltas(0) % batch.stride(), 0);
  EXPECT_EQ(source.total().overwritten, 0u);
  EXPECT_EQ(source.total().over_budget + source.total().reported, static_cast<uint64_t>(kOperations));
}

TEST(RingsSourceWithoutDirectoryTest, IsNoDataWhereNoneCanBeMade) {
  TemporaryDirectory directory;
  auto root = RootedFs::Open(directory.path().string());
  ASSERT_OK(root);
  RingsSource source((directory.path() / "absent" / "rings").string(), *std::move(root), 0,
                     std::make_shared<GpuNames>(), RealClock());
  wire::AgentReport report;
  EXPECT_TRUE(IsNoData(source.Collect({}, report)));
}

}  // namespace
}  // namespace lockstep
