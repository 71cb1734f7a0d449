#include "detector/steps/awaited_recvs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/steps/begins_seen.h"
#include "detector/steps/step_finder.h"
#include "detector/steps/whole_steps.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kReplicas = 4, kSteps = 5;
constexpr uint64_t kMicrobatches = 4;
constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kStepMs = 5'000;

// Pipelines of two stages, rank r and r + 4; the ranks of a stage meet at the end of a step. A second stage receives
// micro-batches one behind the other and answers each with a Send after some work.
class AwaitedRecvsTest : public ::testing::Test {
 protected:
  // Milliseconds from one Recv's end to the next, of each pipeline; the work on each micro-batch takes 100.
  void Play(const std::vector<int64_t>& pace_ms) {
    TraceBuilder builder("job");
    for (const char* name : {"dp0", "dp1"}) stages_.push_back(builder.AddCommunicator(name, "", kReplicas));
    for (int32_t rank = 0; rank < 2 * kReplicas; ++rank) {
      const int32_t host = builder.AddHost(absl::StrCat("h", rank));
      handles_.push_back(builder.AddRank({.rank = rank, .host = host}));
      builder.AddMember(stages_[static_cast<size_t>(rank / kReplicas)], rank % kReplicas, handles_.back());
    }
    for (int32_t replica = 0; replica < kReplicas; ++replica) {
      const int32_t pair = builder.AddCommunicator(absl::StrCat("pp", replica), "", 2);
      const int32_t first = handles_[static_cast<size_t>(replica)];
      const int32_t second = handles_[static_cast<size_t>(replica + kReplicas)];
      builder.AddMember(pair, 0, first);
      builder.AddMember(pair, 1, second);
      for (int32_t step = 0; step < kSteps; ++step) {
        PlayStep(builder, pair, replica, step, pace_ms[static_cast<size_t>(replica)]);
      }
    }
    trace_ = builder.Build();
    matched_ = MatchOperations(trace_);
    roles_ = InferRoles(trace_, matched_);
    steps_ = FindSteps(trace_, matched_, roles_);
    whole_ = FindWholeSteps(matched_, steps_);
    awaited_ = FindAwaitedRecvs(trace_, matched_, roles_, steps_, whole_, RanksWithoutBegins(trace_, roles_));
  }

  void PlayStep(TraceBuilder& builder, int32_t pair, int32_t replica, int32_t step, int64_t pace_ms) {
    const int64_t from = static_cast<int64_t>(step) * kStepMs;
    const int32_t first = handles_[static_cast<size_t>(replica)];
    const int32_t second = handles_[static_cast<size_t>(replica + kReplicas)];
    const auto add = [&](int32_t rank, OperationKind kind, uint64_t sequence, int32_t peer, int64_t begin_ms,
                         int64_t end_ms) {
      const int32_t stage = stages_[rank == first ? 0 : 1];
      // Hosts call the whole step ahead, and in another program Sends before all Recvs.
      const bool ahead = replica == other_program_ && rank == second && kind == OperationKind::kSend;
      const bool last = kind == OperationKind::kAllReduce;
      const int64_t called_from = begin_ms < from ? begin_ms - begin_ms % kStepMs : from;
      builder.Add(rank, {.enqueue_ns = called_from * kMilli + ++calls_ - (ahead ? kMilli : 0) +
                                       (last              ? 2 * kMilli
                                        : begin_ms < from ? kMilli
                                                          : 0),
                         .start_ns = begin_ms * kMilli,
                         .end_ns = end_ms * kMilli,
                         .sequence = sequence,
                         .communicator = kind == OperationKind::kAllReduce ? stage : pair,
                         .peer = peer,
                         .kind = kind});
    };
    int64_t free_at = from + 50;  // the second stage's GPU
    for (uint64_t batch = 0; batch < kMicrobatches; ++batch) {
      const uint64_t sequence = static_cast<uint64_t>(step) * kMicrobatches + batch;
      const int64_t begins = from + 50 + static_cast<int64_t>(batch) * pace_ms, ends = begins + pace_ms;
      add(first, OperationKind::kSend, sequence, 1, ends - 5, ends);
      const bool posted_before = posted_a_step_ahead_ && step > 0 && batch == 0;
      add(second, OperationKind::kRecv, sequence, 0, posted_before ? from - 1'100 : begins, ends);
      free_at = std::max(free_at, ends) + 100;
      if (replica == other_program_)
        free_at = from + 10 + static_cast<int64_t>(batch);  // sends what it does not receive
      add(second, OperationKind::kSend, sequence, 0, free_at, free_at + 5);
      add(first, OperationKind::kRecv, sequence, 1, free_at, free_at + 5);
    }
    for (const int32_t rank : {first, second}) {
      add(rank, OperationKind::kAllReduce, static_cast<uint64_t>(step), -1, from + 4'000, from + 4'100);
    }
  }

  // Of the second stage of a pipeline: the sequence of the Recv that the Send of `sequence` waits for.
  int64_t RecvOf(int32_t replica, uint64_t sequence) const {
    const auto rank = static_cast<size_t>(replica + kReplicas);
    for (size_t i = trace_.first_operation[rank]; i < trace_.first_operation[rank + 1]; ++i) {
      const TraceOperation& operation = trace_.operations[i];
      if (operation.kind != OperationKind::kSend || operation.sequence != sequence) continue;
      return awaited_[i] < kUntold ? static_cast<int64_t>(trace_.operations[awaited_[i]].sequence) : -1;
    }
    return -2;
  }

  int64_t calls_ = 0;
  int32_t other_program_ = -1;        // the replica that runs it
  bool posted_a_step_ahead_ = false;  // the first Recv of a step, before the AllReduce of the step before
  std::vector<int32_t> handles_;
  std::vector<int32_t> stages_;  // communicators
  Trace trace_;
  OperationInstances matched_;
  JobRoles roles_;
  StepTable steps_;
  std::vector<char> whole_;
  AwaitedRecvs awaited_;
};

TEST_F(AwaitedRecvsTest, AStarvedRankTellsWhatItsBusyPeersWaitFor) {
  Play({60, 60, 60, 300});  // three whose Recvs end before they get to them, one that waits for each
  ASSERT_EQ(steps_.steps, kSteps);
  for (int32_t replica = 0; replica < kReplicas; ++replica) {
    for (uint64_t sequence = kMicrobatches; sequence < 2 * kMicrobatches; ++sequence) {
      EXPECT_EQ(RecvOf(replica, sequence), static_cast<int64_t>(sequence)) << "pipeline " << replica;
    }
  }
}

TEST_F(AwaitedRecvsTest, WhatIsPostedInTheStepBeforeIsAwaitedAllTheSame) {
  posted_a_step_ahead_ = true;
  Play({60, 60, 60, 300});
  ASSERT_EQ(steps_.steps, kSteps);
  for (int32_t replica = 0; replica < kReplicas; ++replica) {
    for (uint64_t sequence = 2 * kMicrobatches; sequence < 3 * kMicrobatches; ++sequence) {
      EXPECT_EQ(RecvOf(replica, sequence), static_cast<int64_t>(sequence)) << "pipeline " << replica;
    }
  }
}

TEST_F(AwaitedRecvsTest, APeerOfAnotherProgramIsNoEvidence) {
  other_program_ = 0;
  Play({60, 60, 60, 300});
  for (uint64_t sequence = kMicrobatches; sequence < 2 * kMicrobatches; ++sequence) {
    EXPECT_EQ(RecvOf(1, sequence), static_cast<int64_t>(sequence));
    EXPECT_EQ(RecvOf(0, sequence), static_cast<int64_t>(kMicrobatches) - 1) << "it never waits within the step";
  }
}

TEST_F(AwaitedRecvsTest, WhereAllAreBusyTheLastThatEndedBeforeIsTold) {
  Play({60, 60, 60, 60});
  // The work on micro-batch 1 ends when the Recvs of 0, 1, 2 and 3 have ended.
  EXPECT_EQ(RecvOf(0, kMicrobatches + 1), static_cast<int64_t>(kMicrobatches + 3));
  EXPECT_EQ(RecvOf(0, kMicrobatches), static_cast<int64_t>(kMicrobatches + 1));
}

TEST_F(AwaitedRecvsTest, AStepThatLacksRecordsIsNotTold) {
  Play({60, 60, 60, 300});
  std::vector<char> none(trace_.ranks.size() * static_cast<size_t>(steps_.steps), 0);
  const AwaitedRecvs untold =
      FindAwaitedRecvs(trace_, matched_, roles_, steps_, none, RanksWithoutBegins(trace_, roles_));
  EXPECT_TRUE(std::all_of(untold.begin(), untold.end(), [](uint32_t recv) { return recv == kUntold; }));
}

// By definition, over all pairs of operations of a step and the one before it.
TEST_F(AwaitedRecvsTest, AgreesWithTheDefinition) {
  Play({60, 95, 110, 130});
  const size_t stage = static_cast<size_t>(kReplicas);  // the second
  using Place = std::tuple<OperationKind, uint64_t>;    // the only channels of a kind, place in the step
  std::map<Place, int64_t> least;
  const auto recvs_of = [&](const StepRange& range) {
    std::vector<uint32_t> recvs;
    for (uint32_t i = range.begin; range.complete && i < range.end; ++i) {
      if (trace_.operations[i].kind == OperationKind::kRecv) recvs.push_back(i);
    }
    return recvs;
  };
  const auto for_each = [&](auto use) {
    for (size_t rank = stage; rank < trace_.ranks.size(); ++rank) {
      for (int32_t step = 0; step < steps_.steps; ++step) {
        const StepRange& range = steps_.Of(rank, step);
        if (!range.complete) continue;
        std::vector<uint32_t> recvs = step > 0 ? recvs_of(steps_.Of(rank, step - 1)) : std::vector<uint32_t>();
        const auto earlier = static_cast<int64_t>(recvs.size());
        for (const uint32_t recv : recvs_of(range)) recvs.push_back(recv);
        for (uint32_t i = range.begin; i < range.end; ++i) {
          const TraceOperation& operation = trace_.operations[i];
          const uint64_t per_step = operation.kind == OperationKind::kAllReduce ? 1 : kMicrobatches;
          const int64_t ended = std::count_if(recvs.begin(), recvs.end(), [&](uint32_t recv) {
            return trace_.operations[recv].end_ns <= operation.start_ns;
          });
          use(i, Place(operation.kind, operation.sequence % per_step), ended - earlier, recvs, earlier);
        }
      }
    }
  };
  for_each([&](uint32_t, const Place& place, int64_t ended, const std::vector<uint32_t>&, int64_t earlier) {
    if (earlier == 0) return;  // the step before is not known
    const auto [known, fresh] = least.try_emplace(place, ended);
    known->second = std::min(known->second, ended);
  });
  size_t compared = 0;
  for_each([&](uint32_t i, const Place& place, int64_t, const std::vector<uint32_t>& recvs, int64_t earlier) {
    const int64_t count = least[place] + earlier;
    EXPECT_EQ(awaited_[i], count > 0 ? recvs[static_cast<size_t>(count) - 1] : kNoRecv) << "operation " << i;
    ++compared;
  });
  EXPECT_GT(compared, 100u);
}

}  // namespace
}  // namespace lockstep
