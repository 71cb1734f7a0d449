#include "sim/capture/lost_calls.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "detector/model/job_evidence.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/agent_reports.h"
#include "sim/capture/testing/small_recording.h"

namespace lockstep {
namespace {

TEST(LostCallsTest, ACallWithoutARecordIsCountedWhenOthersCalledIt) {
  SmallRecording recording({0, 7 * kSecond});
  for (const int32_t rank : {0, 1}) {
    recording.AddRank(rank, static_cast<size_t>(rank));
    for (const uint64_t sequence : {1, 2, 3}) {
      if (rank == 1 && sequence == 2) continue;
      const int64_t called_ns = static_cast<int64_t>(sequence) * 1'200 * kMilli;
      recording.Add(rank, "world", sequence, called_ns, called_ns, called_ns + 500 * kMilli);
    }
  }
  const JobEvidence evidence = recording.Finish();
  AgentReports reports = Play(evidence);
  const std::vector<std::pair<uint64_t, uint64_t>> enqueued_and_lost = {{1, 0}, {2, 1}, {3, 1}};
  for (int32_t tick = 1; tick <= 3; ++tick) {
    wire::AgentReport report;
    ASSERT_TRUE(reports.Make(tick, 1, report));
    const auto& [enqueued, lost] = enqueued_and_lost[static_cast<size_t>(tick) - 1];
    EXPECT_EQ(report.processes(0).operations_enqueued(), enqueued) << tick;
    EXPECT_EQ(report.processes(0).communicators(0).enqueued(), enqueued) << tick;
    EXPECT_EQ(report.processes(0).communicators(0).rank(), 1);
    EXPECT_EQ(report.processes(0).operations_lost(), lost) << tick;
  }
}

TEST(LostCallsTest, NumbersFarApartAreNoLostCallsIfNobodyHasThem) {
  constexpr uint64_t kFar = uint64_t{9} * 1'000'000'000'000'000'000;
  SmallRecording recording({0, 0});
  for (const int32_t rank : {0, 1}) {
    recording.AddRank(rank, static_cast<size_t>(rank));
    recording.Add(rank, "world", 1, 0, 0, 100 * kMilli);
    recording.Add(rank, "world", kFar, 200 * kMilli, 200 * kMilli, 300 * kMilli);
  }
  const JobEvidence evidence = recording.Finish();
  AgentReports reports = Play(evidence);
  EXPECT_EQ(ReportAt(reports, 1, 0).processes(0).operations_lost(), 0u);
}

}  // namespace
}  // namespace lockstep
