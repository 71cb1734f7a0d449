// Transfers of NCCL: they are watched when the collector asks for it, and no longer than it may.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_format.h"
#include "agent/recorder/ring_writer.h"
#include "agent/sources/rings/rings_source.h"
#include "agent/sources/rings/rings_source_fixture.h"
#include "base/clock.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

// A ring of the NCCL profiler recorder, with the table of transfers behind the operations.
class TransfersTest : public RingsSourceFixture {
 protected:
  TransfersTest() {
    std::filesystem::remove(path_);
    ring::RingOptions options;
    options.directory = rings_.c_str();
    options.kind = ring::RecorderKind::kNcclProfiler;
    options.job = "job";
    options.rank = 2;
    options.world_size = 4;
    options.operation_capacity = 16;
    options.transfer_capacity = 4;
    static ring::RingWriter writers[4];
    static int used = 0;
    nccl_ = &writers[used++];
    EXPECT_TRUE(nccl_->Open(options));
    for (const auto& entry : std::filesystem::directory_iterator(rings_)) path_ = entry.path().string();
    nccl_->FindOrAddCommunicator({.id = 9, .size = 4, .rank = 2, .name = "world"}, now_ns_);
  }

  // As a recorder would.
  void Store(uint64_t offset, const void* bytes, size_t size) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    ASSERT_TRUE(file.good());
  }
  uint64_t Load(uint64_t offset) {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    uint64_t value = 0;
    file.read(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  }

  static wire::Command Watch(const std::string& job, int32_t rank) {
    wire::Command command;
    command.set_id(5);
    command.set_job(job);
    command.mutable_watch_transfers()->add_ranks(rank);
    command.mutable_watch_transfers()->set_duration_ns(1000 * kNanosPerSecond);
    return command;
  }

  ring::RingWriter* nccl_ = nullptr;
};

TEST_F(TransfersTest, WatchingIsAskedForInTheControlWordAndBounded) {
  RingsSource source = MakeSource();
  Collect(source, 1);
  wire::AgentReport answers;
  Tick tick;
  tick.monotonic_ns = now_ns_ + 2;
  for (const wire::Command& command : {Watch("other", 2), Watch("job", 3), Watch("job", 2)}) {
    source.Execute(command, tick, answers);
  }
  ASSERT_EQ(answers.command_results_size(), 3);
  EXPECT_EQ(answers.command_results(0).outcome(), wire::CommandResult::OUTCOME_REFUSED);
  EXPECT_EQ(answers.command_results(1).outcome(), wire::CommandResult::OUTCOME_REFUSED);
  EXPECT_EQ(answers.command_results(2).outcome(), wire::CommandResult::OUTCOME_DONE);
  EXPECT_EQ(Load(offsetof(ring::RingHeader, control.event_mask)), RingsSource::kTransferEvents);
  EXPECT_EQ(Load(offsetof(ring::RingHeader, control.expires_at_ns)),
            static_cast<uint64_t>(tick.monotonic_ns + RingsSource::kMaxWatchNanos));
  // The recorder of another library is not asked.
  EXPECT_EQ(Collect(source, 3).processes(0).nccl().active_mask(), 0u);
}

TEST_F(TransfersTest, SumsAreReportedWhileProxyEventsAreDeliveredAndOnceMore) {
  RingsSource source = MakeSource();
  const ring::TransferWaits row = {.ready = 1,
                                   .communicator = 0,
                                   .peer = 3,
                                   .is_send = 1,
                                   .steps = 7,
                                   .bytes = 700,
                                   .waits_ns = {10, 20, 30},
                                   .changed_at_ns = now_ns_};
  const ring::TransferWaits foolish = {.ready = 1, .communicator = 0, .peer = 4};
  const uint64_t table = ring::FileBytes(ring::kDefaultCommunicatorCapacity, 16);
  Store(table, &row, sizeof(row));
  Store(table + 2 * sizeof(row), &foolish, sizeof(foolish));
  EXPECT_EQ(Collect(source, 1).processes(0).communicators(0).transfers_size(), 0);
  uint64_t mask = RingsSource::kTransferEvents;
  Store(offsetof(ring::RingHeader, active_mask), &mask, sizeof(mask));
  const wire::AgentReport watched = Collect(source, 2);
  EXPECT_EQ(watched.processes(0).nccl().active_mask(), RingsSource::kTransferEvents);
  ASSERT_EQ(watched.processes(0).communicators(0).transfers_size(), 1);
  const wire::TransferWaits& transfer = watched.processes(0).communicators(0).transfers(0);
  EXPECT_EQ(transfer.peer(), 3);
  EXPECT_TRUE(transfer.is_send());
  EXPECT_EQ(transfer.steps(), 7u);
  EXPECT_EQ(transfer.bytes(), 700u);
  EXPECT_THAT(transfer.waits_ns(), ElementsAre(10, 20, 30));
  mask = 70;
  Store(offsetof(ring::RingHeader, active_mask), &mask, sizeof(mask));
  EXPECT_EQ(Collect(source, 3).processes(0).communicators(0).transfers_size(), 1);
  EXPECT_EQ(Collect(source, 4).processes(0).communicators(0).transfers_size(), 0);
}

}  // namespace
}  // namespace lockstep
