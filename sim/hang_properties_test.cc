// What must hold of the records of any hang, whatever the cut of the job: nobody leaves before all have entered, and
// what stands still stands for a reason.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"
#include "sim/episode.h"
#include "sim/fault_choice.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

JobSpec AnyJob(Random& random) {
  const auto pick = [&random](std::vector<int32_t> choices) { return choices[random.Below(choices.size())]; };
  JobSpec job;
  Parallelism& cut = job.parallelism;
  cut.tensor = pick({1, 2, 4});
  cut.context = pick({1, 2});
  cut.data = pick({2, 4});
  cut.pipeline = pick({1, 2, 4});
  cut.expert = pick({1, 2});
  cut.virtual_stages = cut.pipeline > 1 ? pick({1, 2}) : 1;
  job.gpus_per_host = 4;
  job.workload.microbatches = 4 * pick({1, 2});
  job.schedule.steps = 6;
  job.recording.clock_offset_seconds = job.recording.clock_drift = 0;
  return job;
}

struct Hang {
  FaultSpec fault;
  Episode episode;
};

// Hangs of one kind in jobs of many cuts.
std::vector<Hang> HangsOf(FaultKind kind) {
  std::vector<Hang> hangs;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    const JobSpec job = AnyJob(random);
    FaultSpec fault = RandomFault(kind, 1, job, random);
    fault.onset_step = 3;
    hangs.push_back({fault, Simulate(job, {&fault, 1}, seed)});
  }
  return hangs;
}

// The members' records of one operation, by rank index.
using Meeting = std::map<int32_t, const TraceOperation*>;

// By communicator, the two sides of a transfer (else -1), and sequence number.
std::map<std::tuple<int32_t, int32_t, int32_t, uint64_t>, Meeting> MeetingsOf(const Trace& trace) {
  std::map<std::tuple<int32_t, int32_t, int32_t, uint64_t>, Meeting> meetings;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    for (const TraceOperation& op : trace.OperationsOf(rank)) {
      const std::vector<int32_t>& members = trace.communicators[static_cast<size_t>(op.communicator)].members;
      const auto own =
          static_cast<int32_t>(std::find(members.begin(), members.end(), static_cast<int32_t>(rank)) - members.begin());
      const bool sends = op.kind == OperationKind::kSend, receives = op.kind == OperationKind::kRecv;
      const int32_t source = sends ? own : receives ? op.peer : -1;
      const int32_t target = sends ? op.peer : receives ? own : -1;
      meetings[{op.communicator, source, target, op.sequence}][static_cast<int32_t>(rank)] = &op;
    }
  }
  return meetings;
}

size_t PartsOf(const Trace& trace, const std::tuple<int32_t, int32_t, int32_t, uint64_t>& key) {
  if (std::get<1>(key) >= 0) return 2;
  const std::vector<int32_t>& members = trace.communicators[static_cast<size_t>(std::get<0>(key))].members;
  return members.size();
}

class EveryHangTest : public ::testing::TestWithParam<FaultKind> {};

TEST_P(EveryHangTest, TheJobStopsInTheStepOfItsOnset) {
  for (const Hang& hang : HangsOf(GetParam())) {
    const Truth& truth = hang.episode.truth;
    EXPECT_EQ(truth.state, JobState::kHung);
    EXPECT_EQ(truth.step_ns.size(), 3u);
    EXPECT_GT(truth.hang_ns, 0);
    ASSERT_EQ(truth.causes.size(), 1u);
    EXPECT_FALSE(truth.causes[0].culprits.empty());
    EXPECT_EQ(truth.causes[0].first_step, 3);
    EXPECT_EQ(truth.causes[0].onset_ns, truth.hang_ns);
    EXPECT_EQ(truth.causes[0].cost.slowdown_fraction, 0) << "a hang has no cost per step";
  }
}

TEST_P(EveryHangTest, NobodyLeavesBeforeAllHaveEntered) {
  if (GetParam() == FaultKind::kMachineUnreachable) GTEST_SKIP() << "its last records never arrive";
  for (const Hang& hang : HangsOf(GetParam())) {
    const Trace& trace = hang.episode.evidence.trace;
    for (const auto& [key, meeting] : MeetingsOf(trace)) {
      int64_t last_start_ns = 0, first_end_ns = INT64_MAX;
      size_t entered = 0;
      for (const auto& [rank, op] : meeting) {
        if (op->started()) {
          ++entered;
          last_start_ns = std::max(last_start_ns, op->start_ns);
        }
        if (op->finished()) first_end_ns = std::min(first_end_ns, op->end_ns);
      }
      if (first_end_ns == INT64_MAX) continue;
      EXPECT_EQ(entered, PartsOf(trace, key)) << "somebody left an operation that not all had entered";
      EXPECT_GE(first_end_ns, last_start_ns);
    }
  }
}

TEST_P(EveryHangTest, TimesStayWithinReachAndStreamsInOrder) {
  for (const Hang& hang : HangsOf(GetParam())) {
    const Trace& trace = hang.episode.evidence.trace;
    const int64_t latest_ns = hang.episode.truth.hang_ns + int64_t{60} * 1'000'000'000;
    size_t open = 0;
    for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      std::map<int32_t, bool> waits;  // communicators in which this rank stands in an operation
      for (const TraceOperation& op : trace.OperationsOf(rank)) {
        for (const int64_t time_ns : {op.enqueue_ns, op.start_ns, op.end_ns}) {
          EXPECT_TRUE(time_ns == kNoTime || (time_ns >= 0 && time_ns < latest_ns)) << "a time that never comes";
        }
        open += op.finished() ? 0 : 1;
        if (op.peer >= 0) continue;
        if (op.finished()) {
          EXPECT_FALSE(waits[op.communicator]) << "it finished behind one of its communicator that did not";
        } else {
          waits[op.communicator] = true;
        }
      }
    }
    EXPECT_GT(open, 0u);
  }
}

TEST_P(EveryHangTest, WhoStandsStandsBecauseSomebodyIsMissingOrTheTransferIsStuck) {
  const FaultKind kind = GetParam();
  if (kind == FaultKind::kMachineUnreachable || kind == FaultKind::kMismatch || kind == FaultKind::kDeadlock) {
    GTEST_SKIP() << "records are missing, or all are inside of something";
  }
  for (const Hang& hang : HangsOf(kind)) {
    const Trace& trace = hang.episode.evidence.trace;
    size_t complete = 0;
    for (const auto& [key, meeting] : MeetingsOf(trace)) {
      size_t entered = 0, left = 0;
      for (const auto& [rank, op] : meeting) {
        entered += op->started() ? 1 : 0;
        left += op->finished() ? 1 : 0;
      }
      if (left == 0 && entered == PartsOf(trace, key)) ++complete;
    }
    if (kind == FaultKind::kTransferStuck) {
      EXPECT_GE(complete, 1u) << "all entered, and nobody comes out";
    } else {
      EXPECT_EQ(complete, 0u) << "what all entered would have ended";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryHangTest,
                         ::testing::Values(FaultKind::kGpuLost, FaultKind::kProcessDead, FaultKind::kMachineUnreachable,
                                           FaultKind::kNotEntered, FaultKind::kGpuStuck, FaultKind::kTransferStuck,
                                           FaultKind::kMismatch, FaultKind::kDeadlock),
                         [](const auto& param) { return std::string(InfoOf(param.param).name); });

TEST(MismatchTest, OneRankDiffersFromAllOthersOfItsGroup) {
  for (const Hang& hang : HangsOf(FaultKind::kMismatch)) {
    const Trace& trace = hang.episode.evidence.trace;
    const int32_t culprit = hang.episode.truth.causes.at(0).culprits.at(0).rank;
    size_t differing = 0;
    for (const auto& [key, meeting] : MeetingsOf(trace)) {
      std::map<std::pair<OperationKind, uint64_t>, std::set<int32_t>> parties;
      for (const auto& [rank, op] : meeting) {
        parties[{op->kind, op->bytes}].insert(trace.ranks[static_cast<size_t>(rank)].rank);
      }
      if (parties.size() < 2 || std::get<1>(key) >= 0) continue;
      ++differing;
      const bool alone = std::any_of(parties.begin(), parties.end(),
                                     [&](const auto& party) { return party.second == std::set<int32_t>{culprit}; });
      EXPECT_TRUE(alone);
      for (const auto& [rank, op] : meeting) EXPECT_FALSE(op->finished());
    }
    EXPECT_GE(differing, 1u);
  }
}

TEST(SeveralHangsTest, TargetsThatWereStuckAlreadyAreNotBlamed) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    const JobSpec job = AnyJob(random);
    FaultSpec fault = RandomFault(FaultKind::kNotEntered, 3, job, random);
    fault.onset_step = 3;
    const Truth truth = Simulate(job, {&fault, 1}, seed).truth;
    const std::vector<Culprit>& culprits = truth.causes.at(0).culprits;
    ASSERT_GE(culprits.size(), 1u) << seed;
    EXPECT_LE(culprits.size(), fault.targets.size());
    for (const Culprit& culprit : culprits) {
      EXPECT_EQ(std::count(fault.targets.begin(), fault.targets.end(), culprit.rank), 1) << seed;
    }
  }
}

}  // namespace
}  // namespace lockstep
