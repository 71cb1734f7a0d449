// Replays of Send and Recv that go as one group, against the same job played again without what was removed.

#include "detector/slow/step_replay.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/steps/trace_analysis.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 4, kSteps = 8, kRounds = 6;
constexpr double kTransfer = 0.002;
constexpr double kSlowFactor = 12, kLongWork = 0.1;

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

// A ring of ranks. In each round every rank works, then exchanges with one neighbour: both ways as one group, except in
// the first two rounds of a step, in which one way goes after the other. At the end of the step all meet.
class RingJob {
 public:
  // Transfers from rank 0 to rank 1 take `factor` times as long.
  RingJob(uint64_t seed, double factor) : random_(seed), factor_(factor), builder_("job") {
    pipeline_ = builder_.AddCommunicator("pp", "", kRanks);
    world_ = builder_.AddCommunicator("world", "", kRanks);
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      handles_.push_back(builder_.AddRank({.rank = rank, .host = builder_.AddHost(absl::StrCat("h", rank))}));
      builder_.AddMember(pipeline_, rank, handles_.back());
      builder_.AddMember(world_, rank, handles_.back());
    }
    now_.fill(1);
  }

  Trace Play() {
    for (int32_t step = 0; step < kSteps; ++step) {
      for (int32_t round = 0; round < kRounds; ++round) {
        for (double& time : now_) time += 0.01 * (0.5 + random_.Unit());
        for (int32_t first = round % 2; first < kRanks; first += 2) Exchange(first, (first + 1) % kRanks, round >= 2);
      }
      Meet(static_cast<uint64_t>(step));
    }
    return builder_.Build();
  }

  // From one meeting to the next.
  double LengthOf(int32_t step) const { return met_[static_cast<size_t>(step)] - met_[static_cast<size_t>(step) - 1]; }

 private:
  double TransferSeconds(int32_t source, int32_t destination) const {
    return kTransfer * (source == 0 && destination == 1 ? factor_ : 1);
  }

  void Exchange(int32_t a, int32_t b, bool together) {
    if (!together) {
      now_[static_cast<size_t>(a)] += kLongWork;  // who sends by himself comes last, so that he waits for nobody
      Alone(a, b);
      Alone(b, a);
      return;
    }
    double& at_a = now_[static_cast<size_t>(a)];
    double& at_b = now_[static_cast<size_t>(b)];
    const double end = std::max(at_a, at_b) + std::max(TransferSeconds(a, b), TransferSeconds(b, a));
    Add(a, b, at_a, at_b, end);
    Add(b, a, at_b, at_a, end);
    at_a = at_b = end;
  }

  void Alone(int32_t source, int32_t destination) {
    double& from = now_[static_cast<size_t>(source)];
    double& to = now_[static_cast<size_t>(destination)];
    const double end = std::max(from, to) + TransferSeconds(source, destination);
    Add(source, destination, from, to, end);
    from = to = end;
  }

  void Add(int32_t source, int32_t destination, double sent, double received, double end) {
    const uint64_t sequence = sequence_[static_cast<size_t>(source)][static_cast<size_t>(destination)]++;
    AddOperation(source, destination, OperationKind::kSend, sequence, sent, end);
    AddOperation(destination, source, OperationKind::kRecv, sequence, received, end);
  }

  void AddOperation(int32_t rank, int32_t peer, OperationKind kind, uint64_t sequence, double start, double end) {
    builder_.Add(handles_[static_cast<size_t>(rank)], {.enqueue_ns = Nanos(start),
                                                       .start_ns = Nanos(start),
                                                       .end_ns = Nanos(end),
                                                       .sequence = sequence,
                                                       .bytes = 8'000'000,
                                                       .communicator = pipeline_,
                                                       .peer = peer,
                                                       .kind = kind});
  }

  void Meet(uint64_t sequence) {
    const double end = *std::max_element(now_.begin(), now_.end()) + kTransfer;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      builder_.Add(handles_[rank], {.enqueue_ns = Nanos(now_[rank]),
                                    .start_ns = Nanos(now_[rank]),
                                    .end_ns = Nanos(end),
                                    .sequence = sequence,
                                    .bytes = 64,
                                    .communicator = world_,
                                    .kind = OperationKind::kAllReduce});
    }
    now_.fill(end);
    met_.push_back(end);
  }

  Random random_;
  double factor_;
  TraceBuilder builder_;
  int32_t pipeline_ = -1, world_ = -1;
  std::vector<int32_t> handles_;
  std::array<double, kRanks> now_;
  std::vector<double> met_;
  std::array<std::array<uint64_t, kRanks>, kRanks> sequence_ = {};
};

int32_t ChannelFromFirstToSecond(const TraceAnalysis& analysis) {
  for (size_t i = 0; i < analysis.matched.channels.size(); ++i) {
    const OperationChannel& channel = analysis.matched.channels[i];
    if (channel.source == 0 && channel.destination == 1) return static_cast<int32_t>(i);
  }
  return -1;
}

TEST(StepReplayTest, WhatGoesTheOtherWayInTheSameGroupIsNotSlow) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    RingJob slow(seed, kSlowFactor), healthy(seed, 1);
    const Trace trace = slow.Play();
    healthy.Play();
    const TraceAnalysis analysis = AnalyseTrace(trace, false);
    ASSERT_EQ(analysis.steps.steps, kSteps);
    Counterfactual counterfactual;
    counterfactual.channels = {{.channel = ChannelFromFirstToSecond(analysis), .scale = 1 / kSlowFactor}};
    for (int32_t step = 1; step < kSteps; ++step) {
      StepReplay replay(analysis, step);
      EXPECT_NEAR(replay.Run({}), slow.LengthOf(step), 1e-6) << seed;
      EXPECT_NEAR(replay.Run(counterfactual), healthy.LengthOf(step), 1e-6) << seed;
    }
  }
}

TEST(StepReplayTest, TheChainThroughAGroupGoesOverItsLongestTransfer) {
  const Trace trace = RingJob(1, kSlowFactor).Play();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  StepReplay replay(analysis, 3);
  const double length = replay.Run({});
  double own = 0, transfers = 0;
  for (const StepReplay::Link& link : replay.CriticalPath()) {
    own += static_cast<double>(link.own_seconds);
    transfers += static_cast<double>(link.transfer_seconds);
  }
  EXPECT_NEAR(own + transfers, length, 1e-5);
  EXPECT_GT(transfers, kTransfer * kSlowFactor);
}

}  // namespace
}  // namespace lockstep
