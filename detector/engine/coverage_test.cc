#include "detector/engine/coverage.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/engine/diagnosis.h"
#include "detector/engine/short_records.h"
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

// Whether what is missing leaves the rest of the job judged; a job of which nothing is missing has nothing left out.
bool JudgesTheRest(const Trace& trace) {
  const Judgement judgement = lockstep::Judge({.job = "job", .trace = trace}, {});
  EXPECT_EQ(judgement.left_out.has_value(), !judgement.why_not_judged.has_value());
  return judgement.left_out.has_value();
}

TEST(CoverageTest, RanksWithoutRecordsMayBeTheOnesThatOthersWaitFor) {
  Trace trace = Healthy(16, 12);
  trace.missing_ranks = {16};
  EXPECT_THAT(Reason(Judge(trace)), HasSubstr("1 of 17 ranks left no records (rank 16)"));
  EXPECT_TRUE(JudgesTheRest(trace));
  trace.missing_ranks = {16, 17};
  EXPECT_THAT(Reason(Judge(trace)), HasSubstr("2 of 18 ranks left no records (ranks 16, 17)"));
  EXPECT_FALSE(JudgesTheRest(trace));
}

TEST(CoverageTest, RanksThatAreKnownAndLeftNoRecordsAreMissingAsWell) {
  for (const int32_t silent : {1, 2}) {
    Trace trace = Healthy(16, 12);
    for (int32_t rank = 16; rank < 16 + silent; ++rank) {
      trace.ranks.push_back({.rank = rank});
      trace.first_operation.push_back(trace.first_operation.back());
    }
    EXPECT_EQ(Judge(trace).state, JobState::kUnknown) << silent;
    EXPECT_EQ(JudgesTheRest(trace), silent == 1);
  }
}

// Gives the operations of `ranks` the quality that a recorder notes which is asked to take less, from a share of each
// rank's records on.
Trace Governed(const std::vector<size_t>& ranks, double from) {
  Trace trace = Healthy(8, 12);
  for (const size_t rank : ranks) {
    const size_t first = trace.first_operation[rank];
    const size_t end = trace.first_operation[rank + 1];
    const auto begin = first + static_cast<size_t>(from * static_cast<double>(end - first));
    for (size_t i = begin; i < end; ++i) trace.operations[i].quality = TimingQuality::kHostEnqueue;
  }
  return trace;
}

TEST(CoverageTest, TimesThatDoNotTellWorkFromWaitsAreNone) {
  EXPECT_THAT(Reason(Judge(Governed({2}, 0))), HasSubstr("1 of 8 ranks left operations without times"));
  EXPECT_TRUE(JudgesTheRest(Governed({2}, 0)));
  const std::vector<size_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_THAT(Reason(Judge(Governed(all, 0))), HasSubstr("8 of 8 ranks left operations without times"));
  EXPECT_THAT(Reason(Judge(Governed(all, 2.0 / 3))), HasSubstr("8 of 8")) << "a third of each, the last one";
  EXPECT_FALSE(JudgesTheRest(Governed(all, 2.0 / 3)));
  EXPECT_EQ(Judge(Governed(all, 0.9)).state, JobState::kHealthy) << "fewer than are lost without harm";
}

// A look does not miss what such a rank was accused of: it could not see it.
TEST(CoverageTest, ARankThatIsHandedOverOnlyIsOfShortRecords) {
  const std::vector<ShortRecords> shorts =
      lockstep::Judge({.job = "job", .trace = Governed({2}, 0.5)}, {}).short_records;
  ASSERT_EQ(shorts.size(), 2u);
  EXPECT_EQ(shorts[0].rank, 2);
  EXPECT_EQ(shorts[0].last_step, 5);
  EXPECT_EQ(shorts[1].host, "h2");
  EXPECT_EQ(shorts[1].rank, -1);
  EXPECT_TRUE(lockstep::Judge({.job = "job", .trace = Healthy(8, 12)}, {}).short_records.empty());
}

TEST(CoverageTest, WhatWasLeftOutIsSaidBesideWhatWasFound) {
  Trace slow = Healthy(8, 40);
  for (size_t i = slow.first_operation[5]; i < slow.first_operation[6]; ++i) {
    slow.operations[i].enqueue_ns += 14 * kMilli;
    slow.operations[i].start_ns += 14 * kMilli;
  }
  for (size_t i = slow.first_operation[2]; i < slow.first_operation[3]; ++i) {
    slow.operations[i].quality = TimingQuality::kHostEnqueue;
  }
  const JobReport report = Judge(slow);
  ASSERT_GE(report.verdicts.size(), 2u);
  const Verdict& found = report.verdicts.front();
  EXPECT_EQ(found.type(), FindingType::kAccusation);
  ASSERT_EQ(found.culprits.size(), 1u);
  EXPECT_EQ(found.culprits[0].rank, 5);
  const Verdict& left_out = report.verdicts.back();
  EXPECT_EQ(left_out.type(), FindingType::kAbstention);
  EXPECT_THAT(left_out.evidence[0].text(), HasSubstr("(rank 2)"));
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
