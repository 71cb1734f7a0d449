#include "agent/sources/rings/rings_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_writer.h"
#include "agent/sources/rings/operation_columns.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/sources/rings/ring_report.h"
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
  EXPECT_EQ(AppendOperations(operations, 5, 1, batch), 4u);
  EXPECT_EQ(batch.stride(), 4u);
  EXPECT_THAT(batch.sequence_deltas(), ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(batch.enqueued_deltas_ns(), ElementsAre(130, 40, 40, 40));
  EXPECT_THAT(batch.duration_ns(), ElementsAre(3, 3, 3, 3));
}

TEST(OperationColumnsTest, WhatWasThinnedBeforeIsSaid) {
  ring::OperationSlot slot = {};
  slot.sequence = 8;
  wire::OperationBatch batch;
  EXPECT_EQ(AppendOperations({&slot}, 5, 8, batch), 1u);
  EXPECT_EQ(batch.stride(), 8u);
}

TEST(OperationColumnsTest, HowNcclCarriedThemOutCostsNothingWhereNobodyKnows) {
  ring::OperationSlot unknown = {}, known = {};
  known.algorithm = static_cast<uint8_t>(ring::Algorithm::kRing);
  known.channels = 16;
  wire::OperationBatch nothing;
  AppendOperations({&unknown}, 5, 1, nothing);
  EXPECT_TRUE(nothing.algorithms().empty() && nothing.protocols().empty() && nothing.channels().empty());
  wire::OperationBatch batch;
  ring::OperationSlot newer = known;
  newer.algorithm = 200;
  AppendOperations({&unknown, &known, &newer}, 5, 1, batch);
  EXPECT_THAT(batch.algorithms(), ElementsAre(0, 2, 0));
  EXPECT_THAT(batch.channels(), ElementsAre(0, 16, 16));
  EXPECT_TRUE(batch.protocols().empty());
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
  explicit RingsSourceTest(const char* job = "job\x01") {
    ring::RingOptions options;
    options.kind = ring::RecorderKind::kNcclProfiler;
    rings_ = (directory_.path() / "rings").string();
    options.directory = rings_.c_str();
    options.job = job;
    options.rank = 0;
    options.world_size = 1;
    options.operation_capacity = 16;
    static ring::RingWriter writers[64];  // one per test
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
    directory_.Write(absl::StrCat("root/proc/", pid_, "/status"), Status(pid_));
  }
  // Of a process of ours; `pids` as in its NSpid line.
  static std::string Status(const std::string& pids) {
    return absl::StrCat("Name:\tx\nUid:\t", geteuid(), "\t", geteuid(), "\t0\t0\nNSpid:\t", pids, "\n");
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

class NamelessRingTest : public RingsSourceTest {
 protected:
  NamelessRingTest() : RingsSourceTest("") {}
};

TEST_F(NamelessRingTest, IsReportedUnderTheNameOfItsWorld) {
  RingsSource source = MakeSource();
  const wire::AgentReport report = Collect(source, 0);
  ASSERT_EQ(report.processes_size(), 1);
  EXPECT_EQ(report.processes(0).job(), "nccl-0000000000000007");
  EXPECT_EQ(source.directory().without_job(), 0u);
}

// What the kubelet leaves on the disk of a node, of the process's pod.
class PodRingTest : public NamelessRingTest {
 protected:
  static constexpr char kUid[] = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";

  PodRingTest() {
    directory_.Write(absl::StrCat("root/proc/", pid_, "/cgroup"), absl::StrCat("0::/kubepods/pod", kUid, "/c1\n"));
    std::filesystem::create_directories(directory_.path() / "root/var/log/pods");
  }

  void ListPod() {
    std::filesystem::create_directories(directory_.path() / "root/var/log/pods" / absl::StrCat("team-a_p-0_", kUid));
  }
  void GiveGpus(const std::string& devices) {
    directory_.Write("root/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
                     absl::StrCat(R"({"Data":{"PodDeviceEntries":[{"PodUID":")", kUid,
                                  R"(","ResourceName":"nvidia.com/gpu","DeviceIDs":{"0":[)", devices, "]}}]}}"));
  }
};

TEST_F(PodRingTest, HasNamespacePodAndGpuFromTheKubelet) {
  ListPod();
  GiveGpus(R"("GPU-a")");
  RingsSource source = MakeSource();
  const wire::AgentReport report = Collect(source, 0);
  ASSERT_EQ(report.processes_size(), 1);
  EXPECT_EQ(report.processes(0).job(), "k8s-team-a/nccl-0000000000000007");
  EXPECT_EQ(report.processes(0).pod(), "team-a/p-0");
  EXPECT_EQ(report.processes(0).gpu_uuid(), "GPU-a");
}

TEST_F(PodRingTest, IsOnNoCertainGpuOfSeveral) {
  ListPod();
  GiveGpus(R"("GPU-a","GPU-b")");
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 0).processes(0).gpu_uuid(), "");
}

TEST_F(PodRingTest, WaitsForTheKubeletBeforeItTakesAnotherName) {
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 0).processes_size(), 0);
  ListPod();
  EXPECT_EQ(Collect(source, kNanosPerSecond).processes_size(), 0) << "looked for again every ten seconds";
  EXPECT_EQ(Collect(source, 10 * kNanosPerSecond).processes(0).job(), "k8s-team-a/nccl-0000000000000007");
}

TEST_F(PodRingTest, ButNotForever) {
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 59 * kNanosPerSecond).processes_size(), 0);
  EXPECT_EQ(Collect(source, 61 * kNanosPerSecond).processes(0).job(), "nccl-0000000000000007");
}

TEST_F(PodRingTest, DoesNotWaitWhereThereIsNoKubelet) {
  std::filesystem::remove_all(directory_.path() / "root/var");
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 0).processes(0).job(), "nccl-0000000000000007");
  EXPECT_EQ(Collect(source, 0).processes(0).pod(), "");
}

TEST_F(NamelessRingTest, IsNobodysRankBeforeThat) {
  std::filesystem::remove(path_);
  ring::RingOptions options;
  options.kind = ring::RecorderKind::kMpi;
  options.directory = rings_.c_str();
  options.operation_capacity = 16;
  static ring::RingWriter writer;
  ASSERT_TRUE(writer.Open(options));
  const uint32_t world = writer.FindOrAddCommunicator({.id = 7, .size = 2, .rank = 0, .name = "world"}, now_ns_);
  writer.Finish(
      writer.Begin({.kind = ring::OperationKind::kAllReduce, .started = true, .communicator = world}, now_ns_), {},
      now_ns_ + 50);
  RingsSource source = MakeSource();
  const wire::AgentReport report = Collect(source, 1000);
  EXPECT_EQ(report.processes_size(), 0);
  EXPECT_EQ(source.directory().without_job(), 1u);
  EXPECT_EQ(source.total().without_job, 1u);
  ASSERT_EQ(report.dropped_size(), 1);
  EXPECT_EQ(report.dropped(0).reason(), "ring_operations_without_job");
}

TEST_F(RingsSourceTest, AllThatIsInFlightIsToldOnceTheRankHasStoodForASecond) {
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
TEST_F(RingsSourceTest, CallsAheadOfTheGpuAreNoStanding) {
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
  RingsSource source(rings, *std::move(root), 0);
  Tick tick;
  tick.monotonic_ns = now_ns + 2 * kStandsNanos;
  wire::AgentReport report;
  ASSERT_OK(source.Collect(tick, report));
  const wire::InFlightRest& rest = report.processes(0).communicators(0).further_in_flight();
  EXPECT_EQ(rest.operations_size(), static_cast<int>(kMaxFurtherInFlight));
  EXPECT_EQ(rest.operations(0).sequence(), 2u);
  EXPECT_EQ(rest.left_out(), 20 - 1 - kMaxFurtherInFlight);
}

// A ring of the NCCL profiler recorder, with the table of transfers behind the operations.
class TransfersTest : public RingsSourceTest {
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
