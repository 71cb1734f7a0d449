#include "detector/network/delay_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "detector/testing/reference_delays.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kUs = 1e-6;
constexpr double kWire = 40 * kUs;  // of a chunk

// Hosts with one rank each, in which data flow around a ring, around the same ring the other way, and to the host
// halfway round: every host has three paths out and three in.
struct Net {
  int32_t hosts = 8;
  std::vector<TransferFlow> flows;
  std::vector<int32_t> host_of;

  Net(int32_t count, uint64_t seed, double noise = 0.02) : hosts(count) {
    Random random(seed);
    for (int32_t host = 0; host < hosts; ++host) host_of.push_back(host);
    for (const int32_t distance : {1, hosts - 1, hosts / 2}) {
      for (int32_t from = 0; from < hosts; ++from) {
        TransferFlow& flow = flows.emplace_back();
        flow.source = from;
        flow.destination = (from + distance) % hosts;
        flow.family = distance;
        for (FlowWaits& waits : flow.halves) {
          waits.chunks = waits.received_chunks = 1000 + random.Below(8);
          waits.bytes = waits.chunks << 19;
          const auto per_chunk = [&](double seconds) {
            return static_cast<double>(waits.chunks) * seconds * (1 + noise * random.Gaussian());
          };
          waits.wire_seconds = per_chunk(kWire);
          waits.drain_seconds = per_chunk(10 * kUs);
          waits.credit_seconds = per_chunk(12 * kUs);
        }
      }
    }
  }

  // Adds to the waits of the flows that `is_meant`.
  void Add(const std::function<bool(const TransferFlow&)>& is_meant, double FlowWaits::*wait, double seconds) {
    for (TransferFlow& flow : flows) {
      if (!is_meant(flow)) continue;
      for (FlowWaits& waits : flow.halves) waits.*wait += seconds * static_cast<double>(waits.chunks);
    }
  }

  DelayJudgement Judge() const { return JudgeDelays(flows, host_of); }
};

using Kind = DelayJudgement::Kind;

TEST(DelayMatrixTest, NobodyIsAccusedOfHealthyTransfers) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const DelayJudgement judgement = Net(8, seed, 0.05).Judge();
    EXPECT_EQ(judgement.kind, Kind::kClear) << seed;
    EXPECT_EQ(judgement.flows, 24u);
  }
}

TEST(DelayMatrixTest, ARowIsTheSendingSideOfANic) {
  Net net(8, 1);
  net.Add([](const TransferFlow& flow) { return flow.source == 3; }, &FlowWaits::wire_seconds, kWire);
  const DelayJudgement judgement = net.Judge();
  ASSERT_EQ(judgement.kind, Kind::kNetwork);
  ASSERT_THAT(judgement.causes, SizeIs(1));
  EXPECT_EQ(judgement.causes[0].kind, PathCauseKind::kSend);
  EXPECT_THAT(judgement.causes[0].ranks, ElementsAre(3));
  for (const int32_t flow : judgement.causes[0].paths) {
    EXPECT_NEAR(judgement.ratio[static_cast<size_t>(flow)], 2, 0.2);
    EXPECT_NEAR(judgement.excess_seconds[static_cast<size_t>(flow)], 2000 * kWire, 400 * kWire);
  }
}

// Its buffers are posted late although its GPU empties them in time: peers wait for credit.
TEST(DelayMatrixTest, AColumnIsTheReceivingSideOfANic) {
  Net net(8, 2);
  net.Add([](const TransferFlow& flow) { return flow.destination == 5; }, &FlowWaits::credit_seconds, 2 * kWire);
  const DelayJudgement judgement = net.Judge();
  ASSERT_THAT(judgement.causes, SizeIs(1));
  EXPECT_EQ(judgement.causes[0].kind, PathCauseKind::kReceive);
  EXPECT_THAT(judgement.causes[0].ranks, ElementsAre(5));
}

TEST(DelayMatrixTest, APointIsALink) {
  Net net(8, 3);
  net.Add([](const TransferFlow& flow) { return flow.source == 2 && flow.destination == 3; }, &FlowWaits::wire_seconds,
          3 * kWire);
  const DelayJudgement judgement = net.Judge();
  ASSERT_THAT(judgement.causes, SizeIs(1));
  EXPECT_EQ(judgement.causes[0].kind, PathCauseKind::kLink);
  EXPECT_THAT(judgement.causes[0].hosts, ElementsAre(2, 3));
}

// Data lie in the buffers of a rank that computes for longer, and whoever sends to it waits for credit.
TEST(DelayMatrixTest, ALateGpuIsNotTheNetwork) {
  Net net(8, 4);
  const auto into = [](const TransferFlow& flow) { return flow.destination == 6; };
  net.Add(into, &FlowWaits::drain_seconds, 500 * kUs);
  net.Add(into, &FlowWaits::credit_seconds, 480 * kUs);
  const DelayJudgement judgement = net.Judge();
  EXPECT_EQ(judgement.kind, Kind::kOwnGpu);
  EXPECT_THAT(judgement.causes, IsEmpty());
  ASSERT_THAT(judgement.late, SizeIs(1));
  EXPECT_EQ(judgement.late[0].rank, 6);
  EXPECT_GT(judgement.late[0].ratio, 30);
}

// Behind a slow link GPUs wait for room to send, and do not empty what they received.
TEST(DelayMatrixTest, BehindASlowLinkNoGpuIsLate) {
  Net net(8, 5);
  net.Add([](const TransferFlow& flow) { return flow.source == 4 && flow.destination == 5; }, &FlowWaits::wire_seconds,
          5 * kWire);
  net.Add([](const TransferFlow& flow) { return flow.destination == 4; }, &FlowWaits::drain_seconds, 8 * kWire);
  net.Add([](const TransferFlow& flow) { return flow.destination == 4; }, &FlowWaits::credit_seconds, 8 * kWire);
  const DelayJudgement judgement = net.Judge();
  EXPECT_EQ(judgement.kind, Kind::kNetwork);
  EXPECT_THAT(judgement.late, IsEmpty());
  ASSERT_THAT(judgement.causes, SizeIs(1));
  EXPECT_THAT(judgement.causes[0].hosts, ElementsAre(4, 5));
}

TEST(DelayMatrixTest, WhatOneHalfShowsAloneIsChance) {
  Net net(8, 6);
  for (TransferFlow& flow : net.flows) {
    if (flow.source == 1) flow.halves[0].wire_seconds *= 4;
  }
  EXPECT_EQ(net.Judge().kind, Kind::kClear);
}

TEST(DelayMatrixTest, ItAbstainsWithFewFlowsOrChunks) {
  Net few(8, 7);
  few.flows.resize(3);
  EXPECT_EQ(few.Judge().kind, Kind::kAbstained);
  EXPECT_FALSE(few.Judge().why.empty());
  Net idle(8, 8);
  for (TransferFlow& flow : idle.flows) flow.halves[1].chunks = 7;
  EXPECT_EQ(idle.Judge().kind, Kind::kAbstained);
}

// Where somebody's bytes are not told, all of the family are judged by chunks.
TEST(DelayMatrixTest, ChunksCountWhereBytesAreNotTold) {
  Net net(8, 9);
  net.flows[2].halves[0].bytes = 0;
  for (TransferFlow& flow : net.flows) flow.halves[1].bytes *= flow.source == 7 && flow.family == 1 ? 100 : 1;
  EXPECT_EQ(net.Judge().kind, Kind::kClear);
}

TEST(DelayMatrixTest, AgreesWithTheSlowReference) {
  size_t kinds[4] = {};
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    Net net(4 + static_cast<int32_t>(random.Below(8)), seed, 0.01 + 0.1 * random.Unit());
    const auto culprit = static_cast<int32_t>(random.Below(static_cast<uint64_t>(net.hosts)));
    static constexpr double FlowWaits::*kWaits[] = {&FlowWaits::wire_seconds, &FlowWaits::credit_seconds,
                                                    &FlowWaits::drain_seconds};
    for (uint64_t faults = random.Below(3); faults > 0; --faults) {
      const bool out = random.Below(2) == 0;
      net.Add([&](const TransferFlow& flow) { return (out ? flow.source : flow.destination) == culprit; },
              kWaits[random.Below(3)], 200 * kUs * random.Unit());
    }
    for (TransferFlow& flow : net.flows) {
      if (random.Below(10) == 0) flow.halves[random.Below(2)].chunks = 1 + random.Below(12);
      if (random.Below(10) == 0) flow.halves[0].received_chunks = flow.halves[1].received_chunks = random.Below(9);
      if (random.Below(200) == 0) flow.halves[1].bytes = 0;
    }
    const DelayJudgement judgement = net.Judge();
    const ReferenceDelays reference = JudgeDelaysSlowly(net.flows, net.host_of);
    EXPECT_EQ(judgement.kind, reference.kind) << seed;
    EXPECT_EQ(judgement.slow, reference.slow) << seed;
    std::vector<int32_t> late;
    for (const LateRank& rank : judgement.late) late.push_back(rank.rank);
    std::sort(late.begin(), late.end());
    EXPECT_EQ(late, reference.late) << seed;
    ++kinds[static_cast<size_t>(judgement.kind)];
  }
  // The draw reaches every answer but the abstention, which has a test of its own.
  EXPECT_GT(kinds[static_cast<size_t>(Kind::kClear)], 50u);
  EXPECT_GT(kinds[static_cast<size_t>(Kind::kNetwork)], 50u);
  EXPECT_GT(kinds[static_cast<size_t>(Kind::kOwnGpu)], 10u);
}

}  // namespace
}  // namespace lockstep
