#include "sim/capture/recording_playback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/job_evidence.h"
#include "detector/model/metric_table.h"
#include "detector/model/trace.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/agent_reports.h"
#include "sim/capture/playback.h"
#include "sim/capture/testing/small_recording.h"

namespace lockstep {
namespace {

// Two ranks on two hosts, one collective that ends for both after 2.5 s and another that only one has come to.
SmallRecording TwoHosts(int64_t first_clock_ns, int64_t second_clock_ns) {
  SmallRecording recording({first_clock_ns, second_clock_ns});
  for (const int32_t rank : {0, 1}) {
    recording.AddRank(rank, static_cast<size_t>(rank));
    recording.Add(rank, "world", 0, 500 * kMilli, 600 * kMilli, 2'500 * kMilli);
  }
  recording.Add(0, "world", 1, 3'200 * kMilli, 3'300 * kMilli, kNoTime);
  return recording;
}

TEST(RecordingPlaybackTest, HostsAreAlignedByWhatTheyLeftTogetherAndNotByTheirClocks) {
  // One clock counts since 1970, the other since its host was booted.
  const JobEvidence evidence = TwoHosts(1'760'000'000 * kSecond, 77 * kSecond).Finish();
  for (const size_t host : {0, 1}) {
    AgentReports reports = Play(evidence);
    // The job begins with the first record, so that the collective ends 2 s after it.
    const wire::AgentReport before = ReportAt(reports, 1, host);
    EXPECT_EQ(before.processes(0).communicators(0).finished(), 0u);
    wire::AgentReport after;
    ASSERT_TRUE(reports.Make(2, host, after));
    EXPECT_EQ(after.processes(0).communicators(0).finished(), 1u);
    EXPECT_EQ(after.processes(0).communicators(0).operations().kinds_size(), 1);
  }
}

TEST(RecordingPlaybackTest, HostsThatShareNoCollectiveAreAlignedByTheirTransfers) {
  // Three stages of a pipeline; the last begins 4 s after the first.
  SmallRecording recording({1'760'000'000 * kSecond, 77 * kSecond, 500'000 * kSecond});
  for (const int32_t rank : {0, 1, 2}) recording.AddRank(rank, static_cast<size_t>(rank));
  for (const int32_t stage : {0, 1}) {
    const std::string pair = absl::StrCat("pair", stage);
    for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
      const int64_t at_ns = 2 * stage * kSecond + static_cast<int64_t>(sequence) * 300 * kMilli;
      recording.Add(stage, pair, sequence, at_ns, at_ns, at_ns + 50 * kMilli, OperationKind::kSend, 1);
      // The sender's last record is all that is missing of it.
      if (sequence == 5) continue;
      recording.Add(stage + 1, pair, sequence, at_ns, at_ns, at_ns + 52 * kMilli, OperationKind::kRecv, 0);
    }
  }
  const JobEvidence evidence = recording.Finish();
  const absl::StatusOr<Playback> plan = PlanRecording(evidence, "", /*stands=*/false);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::vector<PlayedHost>& hosts = plan->hosts;
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_NEAR(static_cast<double>(hosts[1].zero_ns - hosts[0].zero_ns), (77 - 1'760'000'000.0) * kSecond, 5 * kMilli);
  EXPECT_NEAR(static_cast<double>(hosts[2].zero_ns - hosts[1].zero_ns), (500'000 - 77.0) * kSecond, 5 * kMilli);
}

// Whatever the clocks of the hosts read, every report is the same.
TEST(RecordingPlaybackTest, ShiftedClocksChangeNothing) {
  const JobEvidence plain = TwoHosts(0, 0).Finish();
  const JobEvidence shifted = TwoHosts(-3'600 * kSecond, 1'760'000'000 * kSecond).Finish();
  AgentReports first = Play(plain);
  AgentReports second = Play(shifted);
  ASSERT_EQ(first.ticks(), second.ticks());
  for (int32_t tick = 1; tick <= first.ticks(); ++tick) {
    for (const size_t host : {0, 1}) {
      wire::AgentReport expected, found;
      ASSERT_TRUE(first.Make(tick, host, expected));
      ASSERT_TRUE(second.Make(tick, host, found));
      EXPECT_EQ(found.SerializeAsString(), expected.SerializeAsString()) << tick;
    }
  }
}

TEST(RecordingPlaybackTest, HostClocksOnTheWireHaveNothingInCommon) {
  const JobEvidence evidence = TwoHosts(0, 0).Finish();
  AgentReports reports = Play(evidence);
  const int64_t first_ns = ReportAt(reports, 3, 0).monotonic_ns();
  const int64_t second_ns = ReportAt(reports, 3, 1).monotonic_ns();
  EXPECT_GT(std::abs(first_ns - second_ns), 60 * kSecond);
}

TEST(RecordingPlaybackTest, AJobThatStandsStillStaysAsItIsForAMinute) {
  const JobEvidence evidence = TwoHosts(0, 5 * kSecond).Finish();
  AgentReports reports = Play(evidence, /*stands=*/true);
  EXPECT_EQ(reports.ticks(), 3 + kLeastTicksStanding);
  const wire::AgentReport report = ReportAt(reports, reports.ticks(), 0);
  const wire::ProcessReport& process = report.processes(0);
  EXPECT_EQ(process.recorder_state(), wire::RECORDER_STATE_ACTIVE);
  const wire::CommunicatorReport& communicator = process.communicators(0);
  EXPECT_EQ(communicator.enqueued(), 2u);  // on the wire sequences count from 1
  EXPECT_EQ(communicator.started(), 2u);
  EXPECT_EQ(communicator.finished(), 1u);
  ASSERT_TRUE(communicator.has_oldest_in_flight());
  EXPECT_EQ(communicator.oldest_in_flight().sequence(), 2u);
  EXPECT_EQ(communicator.oldest_in_flight().age_ns(), reports.ticks() * kSecond - 2'700 * kMilli);
}

TEST(RecordingPlaybackTest, WhatIsInFlightWhereTheRecordsEndIsNoHangByItself) {
  const JobEvidence evidence = TwoHosts(0, 5 * kSecond).Finish();
  AgentReports reports = Play(evidence);
  EXPECT_EQ(reports.ticks(), 3);
  const wire::AgentReport report = ReportAt(reports, reports.ticks(), 0);
  EXPECT_EQ(report.processes(0).recorder_state(), wire::RECORDER_STATE_FINALIZED);
}

TEST(RecordingPlaybackTest, AJobOfWhichNothingIsInFlightEndsInOrder) {
  SmallRecording recording({0, 0});
  for (const int32_t rank : {0, 1}) {
    recording.AddRank(rank, static_cast<size_t>(rank));
    recording.Add(rank, "world", 1, 0, 0, 4'500 * kMilli);
  }
  const JobEvidence evidence = recording.Finish();
  AgentReports reports = Play(evidence);
  EXPECT_EQ(reports.ticks(), 5);
  EXPECT_EQ(ReportAt(reports, 4, 1).processes(0).recorder_state(), wire::RECORDER_STATE_ACTIVE);
  wire::AgentReport last;
  ASSERT_TRUE(reports.Make(5, 1, last));
  EXPECT_EQ(last.processes(0).recorder_state(), wire::RECORDER_STATE_FINALIZED);
  EXPECT_EQ(last.processes(0).operations_finished(), 1u);
}

TEST(RecordingPlaybackTest, ARecordingIsPlayedUntilItWasReadButNotForHours) {
  for (const int64_t read_after_s : {7, 6'000}) {
    SmallRecording recording({0});
    recording.AddRank(0, 0, read_after_s * kSecond);
    recording.Add(0, "world", 1, 0, 0, 500 * kMilli);
    const JobEvidence evidence = recording.Finish();
    AgentReports reports = Play(evidence);
    EXPECT_EQ(reports.ticks(), 1 + (read_after_s == 7 ? 6 : kTicksAfterEnd));
    EXPECT_EQ(ReportAt(reports, reports.ticks() - 1, 0).processes(0).recorder_state(), wire::RECORDER_STATE_ACTIVE);
  }
}

TEST(RecordingPlaybackTest, AHostThatNobodyCouldReadFallsSilentAfterItsLastRecord) {
  SmallRecording recording({0, 0, 0});
  for (const int32_t rank : {0, 1, 2}) {
    recording.AddRank(rank, static_cast<size_t>(rank), rank == 2 ? kNoTime : 60 * kSecond);
    recording.Add(rank, "world", 1, 0, 0, 1'500 * kMilli);
    recording.Add(rank, "world", 2, 1'600 * kMilli, rank == 2 ? kNoTime : 1'700 * kMilli, kNoTime);
  }
  const JobEvidence evidence = recording.Finish();
  AgentReports reports = Play(evidence);
  wire::AgentReport report;
  EXPECT_TRUE(reports.Make(1, 2, report));
  EXPECT_FALSE(reports.Make(2, 2, report));
  ReportAt(reports, reports.ticks(), 0);  // the others go on
}

TEST(RecordingPlaybackTest, AProcessThatWasDeadIsGoneAfterItsLastRecord) {
  SmallRecording recording({0, 0});
  recording.AddRank(0, 0);
  recording.AddRank(1, 1, kNoTime, ProcessState::kGone);
  for (const int32_t rank : {0, 1}) recording.Add(rank, "world", 1, 0, 0, 1'500 * kMilli);
  recording.Add(0, "world", 2, 1'600 * kMilli, 1'700 * kMilli, kNoTime);
  const JobEvidence evidence = recording.Finish();
  AgentReports reports = Play(evidence);
  EXPECT_EQ(ReportAt(reports, 1, 1).processes(0).state(), wire::PROCESS_STATE_RUNNING);
  wire::AgentReport later;
  ASSERT_TRUE(reports.Make(2, 1, later));
  EXPECT_EQ(later.processes(0).state(), wire::PROCESS_STATE_GONE);
}

TEST(RecordingPlaybackTest, ARecordWhoseEndWasLostIsNotInFlightForEver) {
  SmallRecording recording({0});
  recording.AddRank(0, 0);
  recording.Add(0, "world", 1, 0, 100 * kMilli, kNoTime);
  recording.Add(0, "world", 2, 200 * kMilli, 300 * kMilli, 1'500 * kMilli);
  recording.Add(0, "pair", 1, 0, 100 * kMilli, kNoTime, OperationKind::kSend, 1);
  recording.Add(0, "pair", 2, 200 * kMilli, 300 * kMilli, 1'500 * kMilli, OperationKind::kRecv, 1);
  const JobEvidence evidence = recording.Finish();
  AgentReports reports = Play(evidence);
  const wire::AgentReport first = ReportAt(reports, 1, 0);
  for (const wire::CommunicatorReport& communicator : first.processes(0).communicators()) {
    EXPECT_EQ(communicator.oldest_in_flight().sequence(), 1u) << communicator.id();
  }
  wire::AgentReport second;
  ASSERT_TRUE(reports.Make(2, 0, second));
  EXPECT_EQ(second.processes(0).operations_lost(), 1u);
  int in_flight = 0;
  for (const wire::CommunicatorReport& communicator : second.processes(0).communicators()) {
    if (!communicator.has_oldest_in_flight()) continue;
    ++in_flight;  // what was received says nothing of what was sent
    EXPECT_EQ(communicator.oldest_in_flight().kind(), wire::OPERATION_KIND_SEND);
  }
  EXPECT_EQ(in_flight, 1);
}

TEST(RecordingPlaybackTest, CommunicatorsKeepTheirNumberAndNamesGetOne) {
  SmallRecording recording({0});
  recording.AddRank(0, 0);
  for (const char* name : {"0x00000000000000ff", "00000000000000ff", "dp", "tp", "1"}) {
    recording.Add(0, name, 1, 0, 0, 500 * kMilli);
  }
  const JobEvidence evidence = recording.Finish();
  AgentReports reports = Play(evidence);
  std::set<uint64_t> ids;
  const wire::AgentReport report = ReportAt(reports, 1, 0);
  for (const wire::CommunicatorReport& communicator : report.processes(0).communicators()) {
    EXPECT_TRUE(ids.insert(communicator.id()).second);
    EXPECT_EQ(communicator.size(), 1);
    EXPECT_EQ(communicator.rank(), 0);
  }
  EXPECT_EQ(ids.size(), 5u);
  EXPECT_TRUE(ids.contains(0xff));
}

TEST(RecordingPlaybackTest, TheSizeOfAJobOfWhichPartWasRecordedIsNotKnown) {
  SmallRecording recording({0});
  recording.AddRank(64, 0);
  recording.Add(64, "world", 1, 0, 0, 500 * kMilli);
  const JobEvidence evidence = recording.Finish();
  AgentReports reports = Play(evidence);
  EXPECT_EQ(ReportAt(reports, 1, 0).processes(0).world_size(), -1);
}

TEST(RecordingPlaybackTest, SamplesOfAClockOfTheirOwnBeginWithTheJob) {
  JobEvidence evidence = TwoHosts(0, 0).Finish();
  evidence.metrics.hosts = {"h1", "idle"};
  const int64_t first_ms = 1'760'000'000'000;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const int32_t host : {0, 1}) {
    MetricSeries& known = evidence.metrics.series.emplace_back();
    known.host = host;
    known.metric = Metric::kHostCpuBusyRatio;
    known.time_ms = {first_ms, first_ms + 1'500, first_ms + 1'700};
    known.value = {0.25, 0.5, nan};
  }
  MetricSeries& unknown = evidence.metrics.series.emplace_back(evidence.metrics.series[0]);
  unknown.metric = Metric::kUnspecified;
  AgentReports reports = Play(evidence);
  ASSERT_EQ(reports.hosts(), 3u);
  EXPECT_EQ(reports.Hello(2, 7).host(), "idle");
  for (const size_t host : {1, 2}) {
    const wire::AgentReport first = ReportAt(reports, 1, host);
    ASSERT_EQ(first.metrics_size(), 1);
    EXPECT_EQ(first.metrics(0).values_size(), 1);
    EXPECT_EQ(first.metrics(0).values(0), 0.25);
    wire::AgentReport second;
    ASSERT_TRUE(reports.Make(2, host, second));
    ASSERT_EQ(second.metrics_size(), 1);  // and nothing for the sample that is missing
    EXPECT_EQ(second.metrics(0).values(0), 0.5);
    EXPECT_EQ(second.monotonic_ns() - second.metrics(0).monotonic_ns(), 500 * kMilli);
    EXPECT_EQ(second.processes_size(), host == 1 ? 1 : 0);
  }
}

TEST(RecordingPlaybackTest, PlacesAreSaidInTheHello) {
  JobEvidence evidence = TwoHosts(0, 0).Finish();
  evidence.places.of_host["h1"] = {"r7", "", "", "image-3"};
  const AgentReports reports = Play(evidence);
  EXPECT_EQ(reports.Hello(0, 5).places_size(), 0);
  const wire::AgentHello hello = reports.Hello(1, 5);
  EXPECT_EQ(hello.incarnation(), 5u);
  ASSERT_EQ(hello.places_size(), 2);
  EXPECT_EQ(hello.places(1).kind(), wire::PLACE_KIND_IMAGE);
  EXPECT_EQ(hello.places(1).name(), "image-3");
}

TEST(RecordingPlaybackTest, RefusesWhatCannotBePlayed) {
  EXPECT_EQ(PlanRecording(JobEvidence(), "", /*stands=*/false).status().code(), absl::StatusCode::kDataLoss);
  SmallRecording recording({0});
  recording.AddRank(0, 0);
  recording.Add(0, "world", 1, 0, 0, 500 * kMilli);
  recording.Add(0, "world", 2, 40 * 86'400 * kSecond, 40 * 86'400 * kSecond, kNoTime);
  const JobEvidence evidence = recording.Finish();
  const absl::Status status = PlanRecording(evidence, "", /*stands=*/false).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(std::string(status.message()).find("spans 40 days"), std::string::npos) << status;
}

TEST(RecordingPlaybackTest, AnswersWithTheNewestOfWhatWasPlayed) {
  SmallRecording recording({3'600 * kSecond});
  recording.AddRank(0, 0);
  for (int64_t i = 0; i < 100; ++i) {
    recording.Add(0, i % 2 == 0 ? "a" : "b", static_cast<uint64_t>(i / 2), i * 100 * kMilli, i * 100 * kMilli,
                  i * 100 * kMilli + 50 * kMilli);
  }
  const JobEvidence evidence = recording.Finish();
  AgentReports reports = Play(evidence);
  ReportAt(reports, 5, 0);
  wire::Command command;
  command.set_id(3);
  command.set_job("job");
  command.mutable_pull_operations()->set_newest_ns(3 * kSecond);
  wire::CommandResult all;
  reports.Answer(0, command, 5, all);
  int operations = 0;
  for (const wire::PulledOperations& pulled : all.pulled()) operations += pulled.operations().kinds_size();
  EXPECT_EQ(operations, 30);  // of the seconds 2 to 5
  EXPECT_EQ(all.left_out(), 0u);

  command.mutable_pull_operations()->set_max_bytes(240);
  wire::CommandResult newest;
  reports.Answer(0, command, 5, newest);
  EXPECT_EQ(newest.left_out(), 20u);
  ASSERT_EQ(newest.pulled_size(), 2);
  for (const wire::PulledOperations& pulled : newest.pulled()) {
    ASSERT_EQ(pulled.operations().kinds_size(), 5);
    // Operations 40 to 49 of all, counted from 1 in their communicator.
    EXPECT_EQ(pulled.operations().sequence_deltas(0), 21);
  }

  wire::Command watch;
  watch.set_id(4);
  watch.set_job("job");
  watch.mutable_watch_transfers()->set_duration_ns(kSecond);
  wire::CommandResult refused;
  reports.Answer(0, watch, 5, refused);
  EXPECT_EQ(refused.outcome(), wire::CommandResult::OUTCOME_REFUSED);
}

// Against the definition, over random recordings with lost records, lost ends and records that come twice: an operation
// is reported once, in the first tick at or after its end, and progress is the highest number so far.
TEST(RecordingPlaybackTest, ReportsWhatTheDefinitionSays) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    SmallRecording recording({static_cast<int64_t>(random.Below(1'000'000)) * kSecond});
    recording.AddRank(0, 0);
    struct Row {
      int communicator;
      uint64_t sequence;
      int64_t enqueue_ns, end_ns;
    };
    std::vector<Row> rows;
    for (int c = 0; c < 3; ++c) {
      int64_t at_ns = 0;
      for (uint64_t sequence = 1; sequence <= 40; ++sequence) {
        at_ns += static_cast<int64_t>(random.Below(400)) * kMilli + 1;
        if (sequence > 1 && random.Below(10) == 0) continue;  // lost
        const bool ends = sequence == 1 || random.Below(10) > 0;
        const int64_t end_ns = at_ns + static_cast<int64_t>(random.Below(1'500)) * kMilli;
        rows.push_back({c, sequence, at_ns, ends ? end_ns : kNoTime});
        if (random.Below(5) == 0) rows.push_back(rows.back());
      }
    }
    for (size_t i = rows.size(); i-- > 1;) std::swap(rows[i], rows[random.Below(i + 1)]);
    for (const Row& row : rows) {
      recording.Add(0, absl::StrCat("0x", row.communicator + 1), row.sequence, row.enqueue_ns, row.enqueue_ns,
                    row.end_ns);
    }
    const JobEvidence evidence = recording.Finish();
    int64_t begin_ns = std::numeric_limits<int64_t>::max();
    for (const Row& row : rows) begin_ns = std::min(begin_ns, row.enqueue_ns);
    AgentReports reports = Play(evidence);
    std::map<std::pair<int, uint64_t>, int32_t> reported;  // tick, by communicator and sequence
    for (int32_t tick = 1; tick <= reports.ticks(); ++tick) {
      wire::AgentReport report;
      ASSERT_TRUE(reports.Make(tick, 0, report));
      const int64_t now_ns = tick * kSecond + begin_ns;
      for (const wire::CommunicatorReport& communicator : report.processes(0).communicators()) {
        const auto c = static_cast<int>(communicator.id()) - 1;
        uint64_t enqueued = 0, finished = 0, oldest = 0;
        for (const Row& row : rows) {
          if (row.communicator != c || row.enqueue_ns > now_ns) continue;
          enqueued = std::max(enqueued, row.sequence);
          if (row.end_ns != kNoTime && row.end_ns <= now_ns) finished = std::max(finished, row.sequence);
        }
        for (const Row& row : rows) {
          if (row.communicator != c || row.enqueue_ns > now_ns) continue;
          const bool open = row.end_ns == kNoTime ? row.sequence > finished : row.end_ns > now_ns;
          if (open && (oldest == 0 || row.sequence < oldest)) oldest = row.sequence;
        }
        EXPECT_EQ(communicator.enqueued(), enqueued);
        EXPECT_EQ(communicator.finished(), finished);
        EXPECT_EQ(communicator.oldest_in_flight().sequence(), oldest);
        uint64_t sequence = 0;
        for (const int64_t delta : communicator.operations().sequence_deltas()) {
          sequence += static_cast<uint64_t>(delta);
          EXPECT_TRUE(reported.emplace(std::pair(c, sequence), tick).second) << "twice";
        }
      }
    }
    std::map<std::pair<int, uint64_t>, int32_t> expected;
    for (const Row& row : rows) {
      if (row.end_ns == kNoTime) continue;
      const int64_t since_ns = row.end_ns - begin_ns;
      const int64_t tick = std::max<int64_t>(1, (since_ns + kSecond - 1) / kSecond);
      expected[{row.communicator, row.sequence}] = static_cast<int32_t>(tick);
    }
    EXPECT_EQ(reported, expected) << seed;
  }
}

}  // namespace
}  // namespace lockstep
