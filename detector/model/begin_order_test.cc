#include "detector/model/begin_order.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Calls of one communicator, each `step_ns` after the one before and 100 ns long.
std::vector<TraceOperation> Calls(int64_t step_ns, TimingQuality quality = TimingQuality::kUnknown) {
  std::vector<TraceOperation> calls;
  for (int64_t i = 0; i < 20; ++i) {
    const OperationKind kind = i % 2 == 0 ? OperationKind::kAllGather : OperationKind::kReduceScatter;
    calls.push_back({.enqueue_ns = i,
                     .start_ns = i * step_ns,
                     .end_ns = i * step_ns + 100,
                     .sequence = static_cast<uint64_t>(i),
                     .communicator = 0,
                     .kind = kind,
                     .quality = quality});
  }
  return calls;
}

TEST(BeginOrderTest, WhatBeginsWhileTheOneBeforeItRunsIsACall) {
  EXPECT_FALSE(BeginsOutOfTurn(Calls(100), false));
  EXPECT_FALSE(BeginsOutOfTurn(Calls(96), false)) << "within what recorders err by";
  EXPECT_TRUE(BeginsOutOfTurn(Calls(60), false));
}

// What began 8 ms before an operation of 300 ms ended did not wait for that.
TEST(BeginOrderTest, NoRecorderErrsByMoreThanAMillisecond) {
  const TraceOperation operation{.start_ns = 0, .end_ns = 300'000'000};
  EXPECT_TRUE(HasEndedBy(operation, 299'100'000));
  EXPECT_FALSE(HasEndedBy(operation, 292'000'000));
  const TraceOperation brief{.start_ns = 0, .end_ns = 1'000'000};
  EXPECT_TRUE(HasEndedBy(brief, 960'000));
  EXPECT_FALSE(HasEndedBy(brief, 900'000));
}

TEST(BeginOrderTest, KindsMayHaveStreamsOfTheirOwn) {
  EXPECT_FALSE(BeginsOutOfTurn(Calls(60), true));
  EXPECT_TRUE(BeginsOutOfTurn(Calls(40), true));
}

// Every second one begins behind the one before it and is longer, so that it ends last; the next waits for it.
TEST(BeginOrderTest, WhatAThreadBeginsRightBehindAnotherBeganTogetherWithIt) {
  for (const int64_t apart_ns : {5, 20}) {
    std::vector<TraceOperation> calls = Calls(100);
    for (size_t i = 1; i < calls.size(); i += 2) {
      calls[i].start_ns = calls[i - 1].start_ns + apart_ns;
      calls[i].end_ns = calls[i].start_ns + 120;
    }
    EXPECT_EQ(BeginsOutOfTurn(calls, false), apart_ns > 5);
  }
}

TEST(BeginOrderTest, WhatTheRecorderSaysOfItsTimesIsBelieved) {
  EXPECT_FALSE(BeginsOutOfTurn(Calls(40, TimingQuality::kGpuTimer), true));
}

}  // namespace
}  // namespace lockstep
