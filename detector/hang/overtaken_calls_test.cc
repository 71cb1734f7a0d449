// Gathers and reductions of a sharded job, each with a stream of its own on one communicator: the one goes on while the
// other stands.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/testing/asked_trace.h"
#include "detector/testing/meeting_job.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int32_t kRanks = 4;
constexpr uint64_t kCalls = 80, kStuck = 61;  // reductions have odd numbers

// Gathers end, all of them; reductions end before `stuck`, where all are inside of it. `without_end` lost the end of
// that one alone, and the others go on.
Trace Sharded(bool stands, int32_t without_end) {
  TraceBuilder builder("job");
  const MeetingWorld world = AddWorld(kRanks, "shards", &builder);
  for (uint64_t call = 0; call < kCalls; ++call) {
    const int64_t at_ns = static_cast<int64_t>(call + 1) * 10 * kMilli;
    const bool reduces = call % 2 == 1;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const bool open = reduces && (stands ? call >= kStuck : call == kStuck && rank == without_end);
      const bool begins = !open || call == kStuck;
      builder.Add(world.handles[static_cast<size_t>(rank)],
                  {.enqueue_ns = at_ns - 5 * kMilli,
                   .start_ns = begins ? at_ns + rank * kMilli : kNoTime,
                   .end_ns = open ? kNoTime : at_ns + 6 * kMilli,
                   .sequence = call,
                   .bytes = 1 << 20,
                   .communicator = world.communicator,
                   .kind = reduces ? OperationKind::kReduceScatter : OperationKind::kAllGather,
                   .quality = TimingQuality::kGpuTimer});
    }
  }
  Trace trace = builder.Build();
  LookAfter(60'000 * kMilli, &trace);
  return trace;
}

TEST(OvertakenCallsTest, ACallThatAnotherKindHasOvertakenIsWhereAllStand) {
  const std::vector<Verdict> verdicts = VerdictsOf(Sharded(true, -1), {}, false);
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication) << Told(verdicts);
  EXPECT_NE(Told(verdicts).find(absl::StrCat("ReduceScatter ", kStuck)), std::string::npos) << Told(verdicts);
}

TEST(OvertakenCallsTest, OneEndMayBeLost) {
  EXPECT_TRUE(VerdictsOf(Sharded(false, 2), {}, false).empty()) << Told(VerdictsOf(Sharded(false, 2), {}, false));
}

}  // namespace
}  // namespace lockstep
