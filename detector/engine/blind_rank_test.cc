// Ranks whose recorders do not see begins cost their own evidence, not that of the others.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/engine/diagnosis.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int32_t kRanks = 16;
constexpr int32_t kSteps = 40;
constexpr int32_t kSlowRank = 5, kSlowFrom = 15;
constexpr int32_t kBlindRank = 2;

// Ranks of a host each that meet once in each step; hosts are a step ahead of their GPUs. Of `blind` nothing is known
// but when the host handed an operation over, and when it was over.
Trace WithASlowRank(int32_t blind) {
  Random random(3);
  TraceBuilder builder("job");
  const int32_t world = builder.AddCommunicator("world", "", kRanks);
  std::vector<int32_t> handles;
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    handles.push_back(builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", rank))}));
    builder.AddMember(world, rank, handles.back());
  }
  int64_t end_ns = 0;
  int64_t begun_before_ns = 0;
  for (int32_t step = 0; step < kSteps; ++step) {
    std::vector<int64_t> begins;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const double work_ms = rank == kSlowRank && step >= kSlowFrom ? 110 : 80;
      const double noise = 1 + 0.005 * random.Gaussian();
      begins.push_back(end_ns + static_cast<int64_t>(work_ms * noise * static_cast<double>(kMilli)));
    }
    end_ns = *std::max_element(begins.begin(), begins.end()) + 5 * kMilli;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const bool sees_begins = rank != blind;
      builder.Add(handles[static_cast<size_t>(rank)],
                  {.enqueue_ns = begun_before_ns,
                   .start_ns = sees_begins ? begins[static_cast<size_t>(rank)] : begun_before_ns,
                   .end_ns = end_ns,
                   .sequence = static_cast<uint64_t>(step),
                   .bytes = 1 << 20,
                   .communicator = world,
                   .kind = OperationKind::kAllReduce,
                   .quality = sees_begins ? TimingQuality::kGpuTimer : TimingQuality::kHostEnqueue});
    }
    begun_before_ns = begins[0];
  }
  return builder.Build();
}

TEST(BlindRankTest, ASlowRankIsNamedBesideOneWhoseBeginsNobodySaw) {
  for (const int32_t blind : {-1, kBlindRank}) {
    const JobReport report = Diagnose({.job = "job", .trace = WithASlowRank(blind)}, {});
    std::vector<int32_t> accused;
    for (const Verdict& verdict : report.verdicts) {
      if (verdict.type() != FindingType::kAccusation) continue;
      for (const Culprit& culprit : verdict.culprits) accused.push_back(culprit.rank);
    }
    EXPECT_EQ(accused, std::vector<int32_t>{kSlowRank}) << "blind: " << blind;
    EXPECT_EQ(report.state, JobState::kSlow) << "blind: " << blind;
  }
}

}  // namespace
}  // namespace lockstep
