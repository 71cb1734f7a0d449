// What is told of operations that have not finished.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "agent/gpu_names.h"
#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_writer.h"
#include "agent/rooted_fs.h"
#include "agent/source.h"
#include "agent/sources/rings/ring_report.h"
#include "agent/sources/rings/rings_source.h"
#include "agent/sources/rings/rings_source_fixture.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

class RingsInFlightTest : public RingsSourceFixture {};

TEST_F(RingsInFlightTest, AllThatIsInFlightIsToldOnceTheRankHasStoodForASecond) {
  RingsSource source = MakeSource();
  const uint32_t pair = writer_->FindOrAddCommunicator({.id = 8, .size = 2, .rank = 0, .name = "pair"}, now_ns_);
  const auto begin = [&](ring::OperationKind kind, bool started, uint64_t sequence, int32_t peer, int64_t after_ns) {
    writer_->Begin({.kind = kind, .started = started, .communicator = pair, .sequence = sequence, .peer = peer},
                   now_ns_ + after_ns);
  };
  begin(ring::OperationKind::kAllReduce, true, 0, -1, 0);
  begin(ring::OperationKind::kSend, true, 3, 1, 10);
  for (uint64_t sequence = 4; sequence < 12; ++sequence) begin(ring::OperationKind::kRecv, false, sequence, 1, 20);
  const wire::AgentReport early = Collect(source, kStandsNanos - 1);
  EXPECT_FALSE(early.processes(0).communicators(1).has_further_in_flight());
  const wire::AgentReport report = Collect(source, kStandsNanos);
  EXPECT_FALSE(report.processes(0).communicators(0).has_further_in_flight()) << "nothing is in flight there";
  const wire::CommunicatorReport& stands = report.processes(0).communicators(1);
  EXPECT_EQ(stands.oldest_in_flight().kind(), wire::OPERATION_KIND_ALL_REDUCE);
  EXPECT_EQ(stands.oldest_in_flight().inside_ns(), kStandsNanos);
  ASSERT_EQ(stands.further_in_flight().operations_size(), 9);
  EXPECT_EQ(stands.further_in_flight().left_out(), 0u);
  const wire::InFlight& send = stands.further_in_flight().operations(0);
  EXPECT_EQ(send.kind(), wire::OPERATION_KIND_SEND);
  EXPECT_EQ(send.sequence(), 3u);
  EXPECT_EQ(send.peer(), 1);
  EXPECT_EQ(send.inside_ns(), kStandsNanos - 10);
  const wire::InFlight& receive = stands.further_in_flight().operations(1);
  EXPECT_EQ(receive.kind(), wire::OPERATION_KIND_RECV);
  EXPECT_FALSE(receive.started());
  EXPECT_EQ(receive.age_ns(), kStandsNanos - 20);
  EXPECT_EQ(receive.inside_ns(), 0);
}

// A host that calls operations long before its GPU comes to them: the job moves.
TEST_F(RingsInFlightTest, CallsAheadOfTheGpuAreNoStanding) {
  RingsSource source = MakeSource();
  const ring::OperationHandle running =
      writer_->Begin({.kind = ring::OperationKind::kAllReduce, .communicator = world_}, now_ns_);
  for (int i = 0; i < 5; ++i)
    writer_->Begin({.kind = ring::OperationKind::kAllReduce, .communicator = world_}, now_ns_);
  writer_->Start(running, now_ns_ + 6 * kNanosPerSecond);
  const wire::AgentReport moving = Collect(source, 6 * kNanosPerSecond + 5);
  EXPECT_EQ(moving.processes(0).communicators(0).oldest_in_flight().age_ns(), 6 * kNanosPerSecond + 5);
  EXPECT_EQ(moving.processes(0).communicators(0).oldest_in_flight().inside_ns(), 5);
  EXPECT_FALSE(moving.processes(0).communicators(0).has_further_in_flight());
  const wire::AgentReport standing = Collect(source, 8 * kNanosPerSecond);
  EXPECT_EQ(standing.processes(0).communicators(0).further_in_flight().operations_size(), 5);
}

TEST(RingReportTest, WhatDoesNotFitOfTheOperationsInFlightIsCounted) {
  TemporaryDirectory directory;
  const std::string rings = (directory.path() / "rings").string();
  ring::RingOptions options;
  options.directory = rings.c_str();
  options.job = "job";
  options.rank = 0;
  options.world_size = 1;
  options.operation_capacity = 64;
  static ring::RingWriter writer;
  ASSERT_TRUE(writer.Open(options));
  const int64_t now_ns = ring::MonotonicNs();
  const uint32_t world = writer.FindOrAddCommunicator({.id = 7, .size = 1, .rank = 0, .name = "world"}, now_ns);
  for (int i = 0; i < 20; ++i) writer.Begin({.kind = ring::OperationKind::kAllReduce, .communicator = world}, now_ns);
  auto root = RootedFs::Open(directory.path().string());
  ASSERT_OK(root);
  RingsSource source(rings, *std::move(root), 0, std::make_shared<GpuNames>(), RealClock());
  Tick tick;
  tick.monotonic_ns = now_ns + 2 * kStandsNanos;
  wire::AgentReport report;
  ASSERT_OK(source.Collect(tick, report));
  const wire::InFlightRest& rest = report.processes(0).communicators(0).further_in_flight();
  EXPECT_EQ(rest.operations_size(), static_cast<int>(kMaxFurtherInFlight));
  EXPECT_EQ(rest.operations(0).sequence(), 2u);
  EXPECT_EQ(rest.left_out(), 20 - 1 - kMaxFurtherInFlight);
}

}  // namespace
}  // namespace lockstep
