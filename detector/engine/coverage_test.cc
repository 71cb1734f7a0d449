#include "detector/engine/coverage.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "detector/engine/diagnosis.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/verdict/job_report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMilli = 1'000'000;

// Healthy ranks that meet once in each step, or go on beside each other in groups of their own.
Trace Healthy(int32_t ranks, int32_t steps, bool meet = true) {
  TraceBuilder builder("job");
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const int32_t handle = builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", rank))});
    const int32_t group = builder.AddCommunicator(meet ? "all" : absl::StrCat("own", rank), "", ranks);
    builder.AddMember(group, rank, handle);
    for (int32_t step = 0; step < steps; ++step) {
      const int64_t start = (100 * step + 50 + rank) * kMilli;
      builder.Add(handle, {.enqueue_ns = start,
                           .start_ns = start,
                           .end_ns = (100 * step + 70) * kMilli,
                           .sequence = static_cast<uint64_t>(step),
                           .bytes = 1 << 20,
                           .communicator = group,
                           .kind = OperationKind::kAllReduce});
    }
  }
  return builder.Build();
}

JobReport Judge(const Trace& trace) { return Diagnose({.job = "job", .trace = trace}, {}); }

std::string Reason(const JobReport& report) {
  EXPECT_EQ(report.state, JobState::kUnknown);
  if (report.verdicts.size() != 1 || report.verdicts[0].evidence.size() != 1) return "";
  EXPECT_EQ(report.verdicts[0].type(), FindingType::kAbstention);
  EXPECT_EQ(report.verdicts[0].evidence.size(), 1u);
  EXPECT_EQ(report.verdicts[0].evidence[0].kind, EvidenceKind::kAbstained);
  return report.verdicts[0].evidence[0].text();
}

TEST(CoverageTest, AWholeRecordingOfAHealthyJobIsHealthy) {
  const JobReport report = Judge(Healthy(8, 12));
  EXPECT_EQ(report.state, JobState::kHealthy);
  EXPECT_TRUE(report.verdicts.empty());
}

TEST(CoverageTest, SilenceIsNotHealth) {
  EXPECT_THAT(Reason(Judge(Trace())), HasSubstr("no operation records"));
  EXPECT_THAT(Reason(Judge(Healthy(8, 2))), HasSubstr("whole steps"));
  EXPECT_THAT(Reason(Judge(Healthy(8, 12, false))), HasSubstr("No two ranks"));
}

TEST(CoverageTest, RanksWithoutRecordsMayBeTheOnesThatOthersWaitFor) {
  Trace trace = Healthy(16, 12);
  trace.missing_ranks = {16};
  EXPECT_EQ(Judge(trace).state, JobState::kHealthy);
  trace.missing_ranks = {16, 17};
  EXPECT_THAT(Reason(Judge(trace)), HasSubstr("2 of 18 ranks left no records"));
}

TEST(CoverageTest, RanksThatAreKnownAndLeftNoRecordsAreMissingAsWell) {
  for (const auto& [silent, state] : {std::pair(1, JobState::kHealthy), std::pair(2, JobState::kUnknown)}) {
    Trace trace = Healthy(16, 12);
    for (int32_t rank = 16; rank < 16 + silent; ++rank) {
      trace.ranks.push_back({.rank = rank});
      trace.first_operation.push_back(trace.first_operation.back());
    }
    EXPECT_EQ(Judge(trace).state, state) << silent;
  }
}

TEST(CoverageTest, LossesLeaveLittleToJudge) {
  Trace trace = Healthy(8, 12);
  trace.lost_records = trace.operations.size() / 5;
  EXPECT_EQ(Judge(trace).state, JobState::kHealthy);
  trace.lost_records = trace.operations.size() / 2;
  EXPECT_THAT(Reason(Judge(trace)), HasSubstr("records are lost"));
}

TEST(CoverageTest, AnEndAtWhichAllWaitForOneIsAnOpenQuestionOfAHealthyJob) {
  const Trace whole = Healthy(8, 20);
  ASSERT_EQ(Judge(whole).state, JobState::kHealthy);
  Trace cut = whole;
  for (size_t rank = 0; rank < 8; ++rank) cut.operations[cut.first_operation[rank + 1] - 1].end_ns = kNoTime;
  cut.operations.pop_back();
  --cut.first_operation.back();
  EXPECT_THAT(Reason(Judge(cut)), HasSubstr("7 of 8 ranks wait for rank 7"));
}

}  // namespace
}  // namespace lockstep
