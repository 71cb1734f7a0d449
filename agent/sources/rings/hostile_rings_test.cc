// What a job can write into the ring directory to harm the agent or others, and what becomes of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/gpu_names.h"
#include "agent/recorder/ring_format.h"
#include "agent/rooted_fs.h"
#include "agent/source.h"
#include "agent/sources/rings/process_uids.h"
#include "agent/sources/rings/ring_listing.h"
#include "agent/sources/rings/ring_report.h"
#include "agent/sources/rings/ring_shares.h"
#include "agent/sources/rings/rings_source.h"
#include "agent/testing/report_view.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kNow = 1000 * kNanosPerSecond;
constexpr int kPid = 42;
constexpr uint64_t kTicks = 777;

// Rings written byte by byte, and a /proc that is a folder.
class HostileRingsTest : public ::testing::Test {
 protected:
  HostileRingsTest() {
    std::filesystem::create_directory(directory_.path() / "rings");
    RunAs(geteuid());
  }

  // The one process of this host.
  void RunAs(uint32_t uid) {
    const std::string folder = absl::StrCat("root/proc/", kPid);
    directory_.Write(absl::StrCat(folder, "/stat"),
                     absl::StrCat(kPid, " (x) R 1 2 3 4 5 6 7 8 9 10 1 0 0 0 20 0 1 0 ", kTicks, " 5"));
    directory_.Write(absl::StrCat(folder, "/status"),
                     absl::StrCat("Name:\tx\nUid:\t", uid, "\t", uid, "\t", uid, "\t", uid, "\n"));
  }

  static ring::RingHeader Header(uint32_t communicators, uint32_t operations, uint32_t transfers) {
    ring::RingHeader header = {};
    header.magic = ring::kMagic;
    header.layout_version = ring::kLayoutVersion;
    header.header_bytes = sizeof(ring::RingHeader);
    header.communicator_bytes = sizeof(ring::CommunicatorEntry);
    header.communicator_capacity = header.communicator_count = communicators;
    header.operation_bytes = sizeof(ring::OperationSlot);
    header.operation_capacity = operations;
    header.next_ticket = operations;
    header.transfer_capacity = transfers;
    header.total_bytes = ring::FileBytes(communicators, operations, transfers);
    header.recorder_kind = static_cast<uint32_t>(ring::RecorderKind::kNcclProfiler);
    header.pid = kPid;
    header.process_start_ticks = kTicks;
    header.opened_at_ns = kNow;
    header.world_size = 1;
    header.state = static_cast<uint32_t>(ring::RecorderState::kActive);
    header.active_mask = RingsSource::kTransferEvents;
    header.job[0] = 'j';
    return header;
  }

  std::string PathOf(const std::string& name) const { return (directory_.path() / "rings" / name).string(); }

  void Write(const std::string& name, const ring::RingHeader& header) {
    std::ofstream file(PathOf(name), std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof(header));
    file.close();
    std::filesystem::resize_file(PathOf(name), header.total_bytes);
  }

  // Everything that a ring can be full of, with sequences that no stride leaves out.
  void WriteFull(const std::string& name, uint32_t communicators, uint32_t operations, uint32_t transfers) {
    const ring::RingHeader header = Header(communicators, operations, transfers);
    Write(name, header);
    std::fstream file(PathOf(name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(sizeof(header));
    for (uint32_t i = 0; i < communicators; ++i) {
      ring::CommunicatorEntry entry = {};
      entry.ready = 1;
      entry.size = 1'000'000;
      entry.id = i;
      file.write(reinterpret_cast<const char*>(&entry), sizeof(entry));
    }
    for (uint32_t i = 0; i < operations; ++i) {
      ring::OperationSlot slot = {};
      slot.ticket = i;
      slot.state = static_cast<uint8_t>(i % 2 == 0 ? ring::OperationState::kFinished : ring::OperationState::kStarted);
      slot.communicator = i % communicators;
      slot.enqueued_at_ns = slot.started_at_ns = kNow - 10 * kNanosPerSecond;
      slot.finished_at_ns = kNow;
      file.write(reinterpret_cast<const char*>(&slot), sizeof(slot));
    }
    for (uint32_t i = 0; i < transfers; ++i) {
      ring::TransferWaits row = {};
      row.ready = 1;
      row.peer = static_cast<int32_t>(i);
      file.write(reinterpret_cast<const char*>(&row), sizeof(row));
    }
  }

  RingsSource MakeSource() {
    auto root = RootedFs::Open((directory_.path() / "root").string());
    EXPECT_OK(root);
    return RingsSource((directory_.path() / "rings").string(), *std::move(root), 0, std::make_shared<GpuNames>(),
                       RealClock());
  }

  wire::AgentReport Collect(RingsSource& source, int64_t after_ns) {
    wire::AgentReport report;
    Tick tick;
    tick.monotonic_ns = kNow + after_ns;
    EXPECT_OK(source.Collect(tick, report));
    return report;
  }

  static uint64_t Refused(const RingsSource& source, RingRefusalReason reason) {
    return source.directory().refused()[static_cast<size_t>(reason)];
  }

  // What the agent holds of all rings until the next tick.
  static size_t BytesHeld(const RingsSource& source) {
    size_t bytes = 0;
    for (const auto& [name, ring] : source.directory().rings()) {
      for (const RingSnapshot* snapshot : {&ring.snapshot, &ring.kept}) {
        bytes += snapshot->finished.capacity() * sizeof(ring::OperationSlot);
        bytes += snapshot->in_flight.capacity() * sizeof(ring::OperationSlot);
        bytes += snapshot->communicators.capacity() * sizeof(RingCommunicator);
        bytes += snapshot->transfers.capacity() * sizeof(ring::TransferWaits);
      }
    }
    return bytes;
  }

  TemporaryDirectory directory_;
};

TEST_F(HostileRingsTest, WhatIsHeldOfManyFullRingsIsBounded) {
  constexpr uint32_t kOperations = 65'536;
  WriteFull("0.ring", ring::kMaxCommunicators, kOperations, ring::kMaxTransfers);
  // As many names as may be followed of one user: 3 GiB if each were taken whole.
  for (size_t i = 1; i < RingDirectory::kMaxRingsPerOwner; ++i) {
    std::filesystem::create_hard_link(PathOf("0.ring"), PathOf(absl::StrCat(i, ".ring")));
  }
  RingsSource source = MakeSource();
  const wire::AgentReport report = Collect(source, kNanosPerSecond);
  ASSERT_EQ(source.directory().rings().size(), RingDirectory::kMaxRingsPerOwner);
  for (int i = 0; i < 10; ++i) source.KeepUp();
  EXPECT_LT(BytesHeld(source), 64u << 20);
  EXPECT_GT(DroppedOf(report, "ring_operations_over_allowance"), 0u);
  EXPECT_GT(DroppedOf(report, "ring_communicators_left_out"), 0u);
  EXPECT_GT(DroppedOf(report, "ring_transfers_left_out"), 0u);
  EXPECT_LT(report.ByteSizeLong(), size_t{4} << 20) << "more than a collector takes";
}

TEST_F(HostileRingsTest, KeepingUpStopsAtItsShareOfATick) {
  constexpr uint32_t kOperations = 65'536;
  WriteFull("0.ring", 1, kOperations, 0);
  RingsSource source = MakeSource();
  Collect(source, 1);
  std::fstream file(PathOf("0.ring"), std::ios::in | std::ios::out | std::ios::binary);
  uint64_t ticket = kOperations;
  int busy = 0;
  for (int i = 0; i < 100; ++i) {
    ticket += kOperations;
    file.seekp(offsetof(ring::RingHeader, next_ticket));
    file.write(reinterpret_cast<const char*>(&ticket), sizeof(ticket));
    file.flush();
    busy += source.KeepUp() == RingsSource::kBusyNanos ? 1 : 0;
  }
  EXPECT_EQ(busy, static_cast<int>(kMaxReadAheadPerTick / kOperations));
}

TEST_F(HostileRingsTest, MoreTransfersThanACollectorTakesCostTheRingAndNotTheReport) {
  WriteFull("0.ring", 1, 16, ring::kMaxTransfers);
  RingsSource source = MakeSource();
  const wire::AgentReport report = Collect(source, 1);
  ASSERT_EQ(report.processes_size(), 1);
  EXPECT_EQ(report.processes(0).communicators(0).transfers_size(), static_cast<int>(kMaxTransfersPerCommunicator));
  EXPECT_EQ(DroppedOf(report, "ring_transfers_left_out"), ring::kMaxTransfers - kMaxTransfersPerCommunicator);
}

TEST_F(HostileRingsTest, NobodySpeaksForTheProcessOfAnotherUser) {
  RunAs(geteuid() + 1);
  WriteFull("0.ring", 1, 16, 0);
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 1).processes_size(), 0);
  EXPECT_EQ(Refused(source, RingRefusalReason::kForeignOwner), 1u);
  RunAs(geteuid());
  EXPECT_EQ(Collect(source, 1 + RefusedRings::kFirstPauseNanos).processes_size(), 1);
}

TEST_F(HostileRingsTest, AProcessThatIsSeenLaterMustBeTheOwnersAllTheSame) {
  const std::string proc = (directory_.path() / "root/proc").string();
  std::filesystem::rename(proc, proc + ".hidden");
  WriteFull("0.ring", 1, 16, 0);
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 1).processes_size(), 1) << "nobody can tell";
  std::filesystem::rename(proc + ".hidden", proc);
  RunAs(geteuid() + 1);
  EXPECT_EQ(Collect(source, 2 * ProcessFinder::kRescanNanos).processes_size(), 0);
  EXPECT_EQ(Refused(source, RingRefusalReason::kForeignOwner), 1u);
}

TEST_F(HostileRingsTest, GarbageIsCountedOnceAndFollowedWhenItHasBecomeARing) {
  directory_.Write("rings/0.ring", "half a hea");
  ASSERT_EQ(mkfifo(PathOf("9.ring").c_str(), 0600), 0);
  WriteFull("1.ring", 1, 16, 0);
  RingsSource source = MakeSource();
  for (int i = 1; i < 5; ++i) EXPECT_EQ(Collect(source, i * kNanosPerSecond).processes_size(), 1);
  EXPECT_EQ(Refused(source, RingRefusalReason::kNotARing), 2u);
  Write("0.ring", Header(1, 16, 0));
  EXPECT_EQ(Collect(source, 10 * kNanosPerSecond).processes_size(), 2);
  EXPECT_EQ(Refused(source, RingRefusalReason::kNotARing), 2u);
}

TEST_F(HostileRingsTest, WhoCameWhenThereWasNoRoomIsFollowedOnceThereIs) {
  for (size_t i = 0; i <= RingDirectory::kMaxJobsPerOwner; ++i) {
    ring::RingHeader header = Header(1, 16, 0);
    header.job[0] = static_cast<char>('A' + i);
    Write(absl::StrCat(100 + i, ".ring"), header);
  }
  RingsSource source = MakeSource();
  Collect(source, 1);
  EXPECT_EQ(source.directory().rings().size(), RingDirectory::kMaxJobsPerOwner);
  EXPECT_EQ(Refused(source, RingRefusalReason::kTooMany), 1u);
  ring::RingHeader last = Header(1, 16, 0);
  last.job[0] = 'A';
  Write(absl::StrCat(100 + RingDirectory::kMaxJobsPerOwner, ".ring"), last);
  Collect(source, 2 * kNanosPerSecond);
  EXPECT_EQ(source.directory().rings().size(), RingDirectory::kMaxJobsPerOwner + 1);
}

TEST_F(HostileRingsTest, ADamagedRingIsTriedAgain) {
  WriteFull("0.ring", 1, 16, 0);
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 1).processes(0).communicators_size(), 1);
  std::filesystem::resize_file(PathOf("0.ring"), 100);
  EXPECT_EQ(Collect(source, 2).processes(0).communicators_size(), 0) << "its process is still followed";
  EXPECT_EQ(Refused(source, RingRefusalReason::kDamaged), 1u);
  WriteFull("0.ring", 1, 16, 0);
  const wire::AgentReport report = Collect(source, 3 + RefusedRings::kFirstPauseNanos);
  ASSERT_EQ(report.processes(0).communicators_size(), 1);
  EXPECT_FALSE(report.processes(0).communicators(0).has_operations()) << "what it did before was told";
}

TEST_F(HostileRingsTest, AFullDirectoryDelaysNewRingsAndHidesNone) {
  WriteFull("zzz.ring", 1, 16, 0);
  for (size_t i = 0; i < 2 * RingDirectory::kMaxLooksPerPoll; ++i)
    directory_.Write(absl::StrCat("rings/", i, ".ring"), "");
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 1).processes_size(), 0);
  EXPECT_GT(source.directory().waiting(), RingDirectory::kMaxLooksPerPoll);
  Collect(source, 2);
  EXPECT_EQ(Collect(source, 3).processes_size(), 1);
}

TEST_F(HostileRingsTest, ADirectoryWithMoreFilesThanAreListedStillHasItsRingsFollowed) {
  WriteFull("0.ring", 1, 16, 0);
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 1).processes_size(), 1);
  for (size_t i = 1; i <= kMaxListedRings; ++i) {
    ASSERT_EQ(link(PathOf("0.ring").c_str(), PathOf(absl::StrCat("a", i, ".ring")).c_str()), 0);
  }
  EXPECT_GE(Collect(source, 2).processes_size(), 1);
  EXPECT_GT(source.directory().waiting(), 0u);
}

TEST(ProcessUidsTest, AreTheFourOfTheStatusFile) {
  const auto uids = ParseProcessUids("Name:\tUid:\nState:\tR\nUid:\t1000\t1001\t0\t4294967294\nGid:\t5\n");
  ASSERT_OK(uids);
  EXPECT_EQ(*uids, (ProcessUids{1000, 1001, 0, 4294967294u}));
  EXPECT_THAT(ParseProcessUids("Name:\tx\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("Uid")));
  EXPECT_THAT(ParseProcessUids("x\nUid:\t1\t2\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("Uid")));
}

}  // namespace
}  // namespace lockstep
