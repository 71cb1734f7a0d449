// What one agent leaves on disk and the next one finds: what was written survives, whatever comes in between.

#include "agent/spool/segment_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/spool/report_log.h"
#include "agent/spool/testing/test_segments.h"
#include "base/boot_clock.h"
#include "base/random.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "proto/resume.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class SimBootClock final : public BootClock {
 public:
  int64_t BootNanos() const override { return now_ns; }
  int64_t now_ns = 1'000 * kNanosPerSecond;
};

TEST(AgeTest, IsReckonedByTheBootClockWithinABootElseByTheWallAndIsNeverNegative) {
  const SpooledReport report{.sequence = 1, .wall_ns = 1'000, .boot_ns = 500};
  EXPECT_EQ(AgeNanos(report, /*is_same_boot=*/true, 90'000, 700), 200);
  EXPECT_EQ(AgeNanos(report, /*is_same_boot=*/false, 1'300, 7), 300);
  EXPECT_EQ(AgeNanos(report, /*is_same_boot=*/false, 900, 7), 0) << "a wall clock that went back";
}

class SegmentLogTest : public ::testing::Test {
 protected:
  // A new agent on the same folder.
  std::unique_ptr<SegmentLog> Open(uint64_t incarnation, const std::string& boot_id = "boot") {
    options_.directory = (directory_.path() / "spool").string();
    options_.host = "node";
    options_.boot_id = boot_id;
    options_.incarnation = incarnation;
    auto log = std::make_unique<SegmentLog>(options_, clock_, boot_clock_);
    EXPECT_OK(log->Open());
    return log;
  }
  absl::Status Append(SegmentLog& log, uint64_t sequence, const std::string& bytes) {
    return log.Append({sequence, clock_.WallNanos(), boot_clock_.now_ns, absl::StrCat("at ", sequence), bytes});
  }
  static std::vector<uint64_t> Sequences(SegmentLog& log, uint64_t incarnation, uint64_t after = 0) {
    std::vector<uint64_t> sequences;
    while (true) {
      const auto some = log.Read(incarnation, sequences.empty() ? after : sequences.back(), 10'000);
      EXPECT_OK(some);
      if (!some.ok() || some->empty()) return sequences;
      for (const AgedReport& report : *some) sequences.push_back(report.sequence);
    }
  }
  std::vector<std::filesystem::path> Files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "spool")) {
      if (entry.path().extension() == ".segment") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  TemporaryDirectory directory_;
  SegmentLogOptions options_;
  SimClock clock_;
  SimBootClock boot_clock_;
};

TEST_F(SegmentLogTest, TheNextAgentFindsWhatIsNotAcknowledgedAndWhereToGoOn) {
  auto log = Open(1);
  for (uint64_t n = 1; n <= 5; ++n) ASSERT_OK(Append(*log, n, ReportBytes(n)));
  ASSERT_OK(log->Acknowledge(1, 2));
  log = nullptr;
  clock_.Advance(60 * kNanosPerSecond);
  boot_clock_.now_ns += 60 * kNanosPerSecond;
  log = Open(2);
  ASSERT_EQ(log->formers().size(), 1u);
  EXPECT_EQ(log->formers()[0].first_sequence, 3u);
  EXPECT_EQ(log->formers()[0].last_sequence, 5u);
  EXPECT_EQ(log->resume(), "at 5");
  EXPECT_THAT(Sequences(*log, 1), ElementsAre(3, 4, 5));
  EXPECT_EQ((*log->Read(1, 0, 1))[0].age_ns, 60 * kNanosPerSecond);
  EXPECT_EQ(log->state().reports, 3u);
  // Acknowledged in full, it stays for its resume point until there is a newer one.
  ASSERT_OK(log->Acknowledge(1, 5));
  ASSERT_OK(log->KeepLimits());
  log = nullptr;
  log = Open(3);
  EXPECT_EQ(log->resume(), "at 5");
  ASSERT_OK(log->Acknowledge(1, 5));
  ASSERT_OK(Append(*log, 1, ReportBytes(1)));
  ASSERT_OK(log->KeepLimits());
  EXPECT_EQ(Files().size(), 1u);
  log = nullptr;
  log = Open(4, "another boot");
  EXPECT_EQ(log->resume(), "") << "what was read of the sources of another boot says nothing";
  EXPECT_EQ(log->formers().size(), 1u);
}

TEST_F(SegmentLogTest, AfterABootItIsKnownThatThereWasAnAgent) {
  wire::ResumePoint point;
  point.set_monotonic_ns(9);
  point.add_worked("nvml");
  auto log = Open(1);
  ASSERT_OK(log->Append({1, clock_.WallNanos(), boot_clock_.now_ns, point.SerializeAsString(), ReportBytes(1)}));
  log = nullptr;
  wire::ResumePoint left;
  ASSERT_TRUE(left.ParseFromString(Open(2, "another boot")->resume()));
  EXPECT_TRUE(left.of_another_boot());
  EXPECT_THAT(left.worked(), ElementsAre("nvml"));
  EXPECT_EQ(left.monotonic_ns(), 0);
}

TEST_F(SegmentLogTest, CountersThinOutBeforeReportsGoAndAllIsCounted) {
  options_.max_bytes = 1'000'000;
  options_.segment_bytes = 100'000;
  auto log = Open(1);
  for (uint64_t n = 1; n <= 400; ++n) {
    ASSERT_OK(Append(*log, n, ReportBytes(n, /*metric_blocks=*/4, /*padding=*/1'000)));
    ASSERT_OK(log->KeepLimits());
    ASSERT_LE(log->state().bytes, options_.max_bytes + options_.segment_bytes);
  }
  EXPECT_EQ(Sequences(*log, 1).size(), 400u) << "without counters there is room for all reports";
  EXPECT_TRUE(log->state().dropped.empty());
  for (uint64_t n = 401; n <= 1'200; ++n) {
    ASSERT_OK(Append(*log, n, ReportBytes(n, 4, 1'000)));
    ASSERT_OK(log->KeepLimits());
  }
  const std::vector<uint64_t> left = Sequences(*log, 1);
  EXPECT_EQ(left.back(), 1'200u);
  EXPECT_EQ(left.size(), 1'200 - log->state().dropped.at("reports_spool_full"));
  EXPECT_EQ(log->TakeLosses().at("reports_spool_full"), log->state().dropped.at("reports_spool_full"));
}

TEST_F(SegmentLogTest, ThinningKeepsEveryReportAndTellsHowManyCountersWent) {
  options_.max_bytes = 600'000;
  options_.segment_bytes = 100'000;
  auto log = Open(1);
  uint64_t blocks = 0;
  uint64_t told = 0;
  for (uint64_t n = 1; n <= 200; ++n) ASSERT_OK(Append(*log, n, ReportBytes(n, 4)));
  ASSERT_OK(log->KeepLimits());
  const auto reports = log->Read(1, 0, 10'000'000);
  ASSERT_OK(reports);
  ASSERT_EQ(reports->size(), 200u);
  for (const AgedReport& aged : *reports) {
    wire::AgentReport report;
    ASSERT_TRUE(report.ParseFromString(aged.bytes));
    blocks += static_cast<uint64_t>(report.metrics_size());
    for (const wire::Dropped& dropped : report.dropped()) told += dropped.count();
    if (report.metrics_size() == 0) {
      EXPECT_NE(report.sequence() % 2, 0u) << "every second one keeps them while that suffices";
    }
  }
  EXPECT_EQ(blocks + told, 800u);
  EXPECT_GT(told, 0u);
}

// What an agent says each second of a node with 8 ranks, each of which finishes 300 operations of 3 communicators, with
// 8 GPUs and 8 adapters, everything in full.
wire::AgentReport BusyReport() {
  wire::AgentReport report;
  report.set_wall_ns(1'700'000'000'000'000'000);
  report.set_monotonic_ns(1'000'000'000'000'000);
  for (int rank = 0; rank < 8; ++rank) {
    wire::ProcessReport& process = *report.add_processes();
    process.set_job("training/llama-70b");
    process.set_rank(rank);
    process.set_pid(100'000 + rank);
    process.set_gpu_uuid("GPU-00000000-0000-0000-0000-000000000000");
    for (int c = 0; c < 3; ++c) {
      wire::CommunicatorReport& communicator = *process.add_communicators();
      communicator.set_id(0xc0ffee00c0ffee00 + static_cast<uint64_t>(c));
      communicator.set_name("data parallel group");
      wire::OperationBatch& batch = *communicator.mutable_operations();
      for (int i = 0; i < 100; ++i) {
        batch.add_kinds(wire::OPERATION_KIND_ALL_REDUCE);
        batch.add_sequence_deltas(1);
        batch.add_enqueued_deltas_ns(3'333'333 + i);
        batch.add_start_offsets_ns(250'000 + i);
        batch.add_duration_ns(2'000'000 + i);
        batch.add_bytes(64 << 20);
        batch.add_peers(-1);
        batch.add_timing_qualities(1);
        batch.add_algorithms(1);
        batch.add_protocols(2);
        batch.add_channels(16);
      }
    }
  }
  for (int device = 0; device < 16; ++device) {
    wire::MetricBlock& block = *report.add_metrics();
    block.set_device(absl::StrCat("gpu", device));
    for (uint32_t metric = 0; metric < 40; ++metric) {
      block.add_metrics(160 + metric);
      block.add_values(41.5 + metric);
    }
  }
  return report;
}

TEST_F(SegmentLogTest, AnHourOfABusyNodeIsKeptWholeThoughTheAgentIsKilledMeanwhile) {
  constexpr uint64_t kHalfAnHour = 1'800;
  size_t bytes = 0;
  wire::AgentReport busy = BusyReport();
  const auto report_of = [&busy](uint64_t sequence) {
    busy.set_sequence(sequence);
    return busy.SerializeAsString();
  };
  std::unique_ptr<SegmentLog> log;
  for (const uint64_t incarnation : {uint64_t{1}, uint64_t{2}}) {
    log = nullptr;
    log = Open(incarnation);
    for (uint64_t n = 1; n <= kHalfAnHour; ++n) {
      const std::string report = report_of(n);
      bytes += report.size();
      ASSERT_OK(Append(*log, n, report));
      ASSERT_OK(log->KeepLimits());
      clock_.Advance(kNanosPerSecond);
      boot_clock_.now_ns += kNanosPerSecond;
    }
  }
  const ReportLogState state = log->state();
  EXPECT_EQ(state.reports, 2 * kHalfAnHour);
  EXPECT_TRUE(state.dropped.empty());
  EXPECT_LE(state.bytes, options_.max_bytes);
  EXPECT_GT(bytes, options_.max_bytes / 4 * 3) << "there is not much more room than for that";
  RecordProperty("bytes_per_report", std::to_string(bytes / state.reports));
  int64_t age_ns = static_cast<int64_t>(state.reports) * kNanosPerSecond;
  for (const uint64_t incarnation : {uint64_t{1}, uint64_t{2}}) {
    for (uint64_t after = 0; after < kHalfAnHour;) {
      const auto some = log->Read(incarnation, after, options_.segment_bytes);
      ASSERT_OK(some);
      ASSERT_FALSE(some->empty());
      for (const AgedReport& report : *some) {
        ASSERT_EQ(report.sequence, ++after);
        ASSERT_EQ(report.age_ns, age_ns);
        ASSERT_TRUE(report.bytes == report_of(after)) << after;
        age_ns -= kNanosPerSecond;
      }
    }
  }
}

TEST_F(SegmentLogTest, OldReportsAreGivenUpAndCounted) {
  options_.max_age_ns = 100 * kNanosPerSecond;
  auto log = Open(1);
  ASSERT_OK(Append(*log, 1, ReportBytes(1)));
  boot_clock_.now_ns += 60 * kNanosPerSecond;
  ASSERT_OK(Append(*log, 2, ReportBytes(2)));
  boot_clock_.now_ns += 60 * kNanosPerSecond;
  EXPECT_THAT(Sequences(*log, 1), ElementsAre(2));
  EXPECT_EQ(log->TakeLosses().at("reports_expired"), 1u);
}

TEST_F(SegmentLogTest, TheOldestAgeIsThatOfWhatIsNotAcknowledged) {
  auto log = Open(1);
  for (uint64_t n = 1; n <= 101; ++n) {
    ASSERT_OK(Append(*log, n, ReportBytes(n)));
    boot_clock_.now_ns += 10 * kNanosPerSecond;
  }
  EXPECT_EQ(log->state().oldest_age_ns, 1'010 * kNanosPerSecond);
  ASSERT_OK(log->Acknowledge(1, 99));
  EXPECT_EQ(log->state().oldest_age_ns, 20 * kNanosPerSecond);
  ASSERT_OK(log->Acknowledge(1, 101));
  EXPECT_EQ(log->state().oldest_age_ns, 0);
}

TEST_F(SegmentLogTest, DamageIsCountedOnceAndHealed) {
  auto log = Open(1);
  for (uint64_t n = 1; n <= 5; ++n) ASSERT_OK(Append(*log, n, ReportBytes(n, 0, 100)));
  log = nullptr;
  ASSERT_EQ(Files().size(), 1u);
  std::fstream file(Files()[0], std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(Files()[0]) / 2));
  file << "damage";
  file.close();
  log = Open(2);
  EXPECT_EQ(log->state().corrupt_places, 1u);
  EXPECT_EQ(log->TakeLosses().at("reports_spool_corrupt"), 1u);
  EXPECT_THAT(Sequences(*log, 1), ElementsAre(1, 2, 4, 5));
  log = nullptr;
  log = Open(3);
  EXPECT_EQ(log->state().corrupt_places, 0u);
  EXPECT_EQ(log->formers().size(), 1u);
}

// A second name makes a segment one that is not read, as a bad place of the disk would.
TEST_F(SegmentLogTest, ASegmentThatCannotBeReadIsWaitedForAndKeepsNothingElseBack) {
  options_.segment_bytes = 1;  // a segment per report
  auto log = Open(1);
  for (uint64_t n = 1; n <= 5; ++n) ASSERT_OK(Append(*log, n, ReportBytes(n)));
  const std::filesystem::path bad = Files()[2];
  const std::filesystem::path other = directory_.path() / "second name";
  std::filesystem::create_hard_link(bad, other);
  const auto before = log->Read(1, 0, 10'000);
  ASSERT_OK(before);
  EXPECT_EQ(before->size(), 2u);
  EXPECT_FALSE(log->Read(1, 2, 10'000).ok());
  clock_.Advance(SegmentLog::kReadPatienceNanos - 1);
  std::filesystem::remove(other);
  EXPECT_THAT(Sequences(*log, 1), ElementsAre(1, 2, 3, 4, 5)) << "it was away for a moment";

  std::filesystem::create_hard_link(bad, other);
  EXPECT_FALSE(log->Read(1, 2, 10'000).ok());
  clock_.Advance(SegmentLog::kReadPatienceNanos);
  EXPECT_THAT(Sequences(*log, 1), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(log->TakeLosses(), ElementsAre(Pair("reports_spool_unreadable", 1)));
  EXPECT_FALSE(std::filesystem::exists(bad));
}

TEST_F(SegmentLogTest, ASegmentThatCannotBeReadAtTheStartIsLeftToTheNextAgent) {
  options_.segment_bytes = 1;
  auto log = Open(1);
  for (uint64_t n = 1; n <= 3; ++n) ASSERT_OK(Append(*log, n, ReportBytes(n)));
  log = nullptr;
  const std::filesystem::path other = directory_.path() / "second name";
  std::filesystem::create_hard_link(Files()[1], other);
  options_.incarnation = 2;
  log = std::make_unique<SegmentLog>(options_, clock_, boot_clock_);
  EXPECT_FALSE(log->Open().ok());
  clock_.Advance(SegmentLog::kReadPatienceNanos);
  ASSERT_OK(log->Open());
  EXPECT_THAT(Sequences(*log, 1), ElementsAre(1, 3));
  ASSERT_OK(log->Open()) << "it is not waited for again";
  EXPECT_THAT(log->TakeLosses(), ElementsAre(Pair("reports_spool_unreadable", 1)));
  log = nullptr;
  std::filesystem::remove(other);
  EXPECT_THAT(Sequences(*Open(3), 1), ElementsAre(1, 2, 3));
}

TEST_F(SegmentLogTest, SegmentsOfANewerVersionOrAnotherHostAreLeftAlone) {
  auto log = Open(1);
  log = nullptr;
  std::string newer = Segment({1});
  newer[8] = 2;
  const std::string foreign = EncodeSegmentHeader({"other", "boot", 7, 1, 0});
  const std::filesystem::path folder = directory_.path() / "spool";
  const std::pair<std::string, std::string> files[] = {{"0000000000000001.segment", newer},
                                                       {"0000000000000002.segment", foreign}};
  for (const auto& [name, bytes] : files) std::ofstream(folder / name, std::ios::binary) << bytes;
  log = Open(2);
  EXPECT_TRUE(log->formers().empty());
  ASSERT_OK(Append(*log, 1, ReportBytes(1)));
  EXPECT_EQ(Files().size(), 3u);
  EXPECT_EQ(std::filesystem::file_size(folder / "0000000000000001.segment"), newer.size());
}

TEST_F(SegmentLogTest, AFullDiskCostsTheReportThatDoesNotFitAndNothingElse) {
  auto log = Open(1);
  ASSERT_OK(Append(*log, 1, ReportBytes(1, 0, 1'000)));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {std::filesystem::file_size(Files()[0]) + 500, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_FALSE(Append(*log, 2, ReportBytes(2, 0, 1'000)).ok());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_OK(Append(*log, 3, ReportBytes(3, 0, 1'000)));
  log = nullptr;
  log = Open(2);
  EXPECT_EQ(log->state().corrupt_places, 0u);
  EXPECT_THAT(Sequences(*log, 1), ElementsAre(1, 3));
}

TEST_F(SegmentLogTest, NobodyElseCanReadOrWriteAndLinksAreNotFollowed) {
  auto log = Open(1);
  ASSERT_OK(Append(*log, 1, ReportBytes(1)));
  const std::filesystem::path folder = directory_.path() / "spool";
  EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::owner_all);
  EXPECT_EQ(std::filesystem::status(Files()[0]).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  SegmentLog second(options_, clock_, boot_clock_);
  const absl::Status taken = second.Open();
  EXPECT_TRUE(absl::IsAlreadyExists(taken)) << taken;
  EXPECT_THAT(std::string(taken.message()), HasSubstr("is in use by another agent"));
  log = nullptr;
  std::filesystem::create_symlink("/etc/passwd", folder / "00000000000000ff.segment");
  SegmentLog linked(options_, clock_, boot_clock_);
  EXPECT_FALSE(linked.Open().ok());
  clock_.Advance(SegmentLog::kReadPatienceNanos);
  EXPECT_OK(linked.Open());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "00000000000000ff.segment")) << "nor touched";
  options_.directory = (directory_.path() / "link").string();
  std::filesystem::create_directory_symlink(folder, directory_.path() / "link");
  EXPECT_FALSE(SegmentLog(options_, clock_, boot_clock_).Open().ok());
  options_.directory = (directory_.path() / "no" / "where").string();
  EXPECT_TRUE(absl::IsNotFound(SegmentLog(options_, clock_, boot_clock_).Open()));
}

// Random agents against a list: what survives is what was added and not acknowledged, in order.
TEST_F(SegmentLogTest, AnyOrderOfAddsAcksKillsAndTornEndsLeavesWhatTheReferenceSays) {
  options_.segment_bytes = 2'000;
  Random random(20'261'126);
  std::vector<std::pair<uint64_t, uint64_t>> expected;  // incarnation, sequence
  uint64_t incarnation = 1;
  uint64_t sequence = 0;
  auto log = Open(incarnation);
  for (int step = 0; step < 4'000; ++step) {
    const uint64_t choice = random.Next() % 100;
    if (choice < 60) {
      ++sequence;
      ASSERT_OK(Append(*log, sequence, ReportBytes(sequence, 0, random.Next() % 300)));
      expected.emplace_back(incarnation, sequence);
    } else if (choice < 80 && !expected.empty()) {
      // As the uplink does: the oldest agent's reports first.
      const size_t count = random.Next() % std::min<size_t>(expected.size(), 5) + 1;
      for (size_t i = 0; i < count; ++i) {
        const auto [of, number] = expected.front();
        ASSERT_OK(log->Acknowledge(of, number));
        expected.erase(expected.begin());
      }
    } else if (choice < 90) {
      ASSERT_OK(log->KeepLimits());
    } else {
      log = nullptr;
      if (!Files().empty() && random.Next() % 2 == 0) {
        std::ofstream(Files().back(), std::ios::binary | std::ios::app) << std::string("\xA5LSR\xff\0\0\0torn", 12);
      }
      sequence = 0;
      log = Open(++incarnation);
      // What was acknowledged and not noted is told by the collector.
      for (const FormerAgent& former : log->formers()) {
        uint64_t first = former.last_sequence + 1;
        for (const auto& [of, number] : expected) {
          if (of == former.incarnation) first = std::min(first, number);
        }
        ASSERT_OK(log->Acknowledge(former.incarnation, first - 1));
      }
    }
    if (step % 20 != 0) continue;
    std::vector<std::pair<uint64_t, uint64_t>> found;
    for (uint64_t of = 1; of <= incarnation; ++of) {
      for (const uint64_t number : Sequences(*log, of)) found.emplace_back(of, number);
    }
    ASSERT_EQ(found, expected) << "step " << step;
    ASSERT_EQ(log->state().reports, expected.size()) << "step " << step;
  }
  EXPECT_GT(incarnation, 100u);
}

}  // namespace
}  // namespace lockstep
