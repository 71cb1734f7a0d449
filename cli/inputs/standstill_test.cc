#include "cli/inputs/standstill.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"

namespace lockstep {
namespace {

constexpr int64_t kBegin = 1'000 * kNanosPerSecond;

// Two hosts whose clocks are an hour apart, with two ranks on the first.
Trace TwoHosts(int64_t last_seen_ns) {
  TraceBuilder builder("job");
  const int32_t communicator = builder.AddCommunicator("c", "", 3);
  for (int32_t r = 0; r < 3; ++r) {
    TraceRank rank;
    rank.rank = r;
    rank.host = builder.AddHost(r < 2 ? "a" : "b");
    if (r == 2) rank.last_seen_ns = last_seen_ns;
    const int32_t handle = builder.AddRank(rank);
    builder.AddMember(communicator, r, handle);
    TraceOperation operation;
    operation.communicator = communicator;
    operation.enqueue_ns = kBegin + (r < 2 ? 0 : 3600 * kNanosPerSecond) + r;
    operation.start_ns = operation.enqueue_ns;
    if (r == 1) operation.end_ns = operation.start_ns + 7 * kNanosPerSecond;
    builder.Add(handle, operation);
  }
  return builder.Build();
}

TEST(StandstillTest, EveryHostWasReadAMinuteAfterItsOwnLastRecord) {
  Trace trace = TwoHosts(kNoTime);
  AssumeStandstill(trace);
  EXPECT_EQ(trace.ranks[0].last_seen_ns, kBegin + 1 + 67 * kNanosPerSecond);
  EXPECT_EQ(trace.ranks[1].last_seen_ns, trace.ranks[0].last_seen_ns);
  EXPECT_EQ(trace.ranks[2].last_seen_ns, kBegin + 2 + 3660 * kNanosPerSecond);
}

TEST(StandstillTest, WhatTheFilesSayCountsMore) {
  Trace trace = TwoHosts(5);
  AssumeStandstill(trace);
  EXPECT_EQ(trace.ranks[0].last_seen_ns, kNoTime);
  EXPECT_EQ(trace.ranks[2].last_seen_ns, 5);
}

}  // namespace
}  // namespace lockstep
