#include "agent/sources/rings/rings_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_writer.h"
#include "agent/sources/rings/operation_columns.h"
#include "agent/sources/rings/process_stat.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProcessStatTest, CommandNamesCannotForgeFields) {
  const auto stat = ParseProcessStat("42 (a) R (b) ) T 1 2 3 4 5 6 7 8 9 10 300 40 0 0 20 0 1 0 999 5");
  ASSERT_OK(stat);
  EXPECT_EQ(stat->state, 'T');
  EXPECT_EQ(stat->cpu_ticks, 340u);
  EXPECT_EQ(stat->start_ticks, 999u);
  EXPECT_THAT(ParseProcessStat("42 (a) R 1 2"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("field")));
}

TEST(OperationColumnsTest, BeyondTheShareOnlyMultiplesOfAPowerOfTwoAreKept) {
  std::vector<ring::OperationSlot> slots(16);
  std::vector<const ring::OperationSlot*> operations;
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].sequence = i + 1;
    slots[i].enqueued_at_ns = slots[i].started_at_ns = static_cast<int64_t>(100 + 10 * i);
    slots[i].finished_at_ns = slots[i].started_at_ns + 3;
    operations.push_back(&slots[i]);
  }
  wire::OperationBatch batch;
  EXPECT_EQ(AppendOperations(operations, 5, batch), 4u);
  EXPECT_EQ(batch.stride(), 4u);
  EXPECT_THAT(batch.sequence_deltas(), ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(batch.enqueued_deltas_ns(), ElementsAre(130, 40, 40, 40));
  EXPECT_THAT(batch.duration_ns(), ElementsAre(3, 3, 3, 3));
}

TEST(OperationColumnsTest, ImplausibleTimesAndPeersAreSeen) {
  ring::OperationSlot slot = {};
  slot.enqueued_at_ns = slot.started_at_ns = 10;
  slot.finished_at_ns = 20;
  EXPECT_TRUE(IsPlausibleOperation(slot, 100));
  slot.peer = -3;
  EXPECT_FALSE(IsPlausibleOperation(slot, 100));
  slot.peer = -1;
  slot.finished_at_ns = 5;
  EXPECT_FALSE(IsPlausibleOperation(slot, 100));
  slot.finished_at_ns = INT64_MAX;
  EXPECT_FALSE(IsPlausibleOperation(slot, 100));
}

// A ring of a made-up process: /proc is a folder of the test.
class RingsSourceTest : public ::testing::Test {
 protected:
  RingsSourceTest() {
    ring::RingOptions options;
    rings_ = (directory_.path() / "rings").string();
    options.directory = rings_.c_str();
    options.job = "job\x01";
    options.rank = 0;
    options.world_size = 1;
    options.operation_capacity = 16;
    static ring::RingWriter writers[8];
    static int used = 0;
    writer_ = &writers[used++];
    EXPECT_TRUE(writer_->Open(options));
    for (const auto& entry : std::filesystem::directory_iterator(rings_)) path_ = entry.path().string();
    const std::string name = std::filesystem::path(path_).stem().string();  // pid-ticks-number
    pid_ = name.substr(0, name.find('-'));
    ticks_ = name.substr(pid_.size() + 1, name.rfind('-') - pid_.size() - 1);
    now_ns_ = ring::MonotonicNs();
    world_ = writer_->FindOrAddCommunicator({.id = 7, .size = 1, .rank = 0, .name = "world"}, now_ns_);
    SetState('R');
  }

  void SetState(char state) {
    directory_.Write(absl::StrCat("root/proc/", pid_, "/stat"),
                     absl::StrCat(pid_, " (train) ", std::string(1, state), " 1 2 3 4 5 6 7 8 9 10 100 0 0 0 20 0 1 0 ",
                                  ticks_, " 5"));
  }
  void Kill() { std::filesystem::remove_all(directory_.path() / "root/proc" / pid_); }

  RingsSource MakeSource() {
    auto root = RootedFs::Open((directory_.path() / "root").string());
    EXPECT_OK(root);
    return RingsSource(rings_, *std::move(root), 0);
  }

  wire::AgentReport Collect(RingsSource& source, int64_t after_ns) {
    wire::AgentReport report;
    Tick tick;
    tick.monotonic_ns = now_ns_ + after_ns;
    EXPECT_OK(source.Collect(tick, report));
    return report;
  }

  TemporaryDirectory directory_;
  std::string rings_, path_, pid_, ticks_;
  ring::RingWriter* writer_ = nullptr;
  int64_t now_ns_ = 0;
  uint32_t world_ = 0;
};

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

TEST_F(RingsSourceTest, StoppedThenGoneThenForgottenWithItsFile) {
  RingsSource source = MakeSource();
  SetState('T');
  EXPECT_EQ(Collect(source, 1).processes(0).state(), wire::PROCESS_STATE_STOPPED);
  Kill();
  EXPECT_EQ(Collect(source, 2).processes(0).state(), wire::PROCESS_STATE_GONE);
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
  directory_.Write(absl::StrCat(folder, "/status"), absl::StrCat("Name:\tx\nNSpid:\t", host_pid, "\t", pid_, "\n"));
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

TEST_F(RingsSourceTest, GarbageIsRefusedOnceAndOthersGoOn) {
  directory_.Write("rings/1-2-0.ring", "not a ring");
  ASSERT_EQ(mkfifo((directory_.path() / "rings/9-9-0.ring").c_str(), 0600), 0);
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 1).processes_size(), 1);
  Collect(source, 2);
  EXPECT_EQ(source.directory().refused()[static_cast<size_t>(RingRefusalReason::kNotARing)], 2u);
}

TEST(RingsSourceWithoutDirectoryTest, IsNoData) {
  TemporaryDirectory directory;
  auto root = RootedFs::Open(directory.path().string());
  ASSERT_OK(root);
  RingsSource source((directory.path() / "absent").string(), *std::move(root), 0);
  wire::AgentReport report;
  EXPECT_TRUE(IsNoData(source.Collect({}, report)));
}

}  // namespace
}  // namespace lockstep
