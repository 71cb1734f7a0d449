#include "detector/steps/own_time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/steps/awaited_recvs.h"
#include "detector/steps/begins_seen.h"
#include "detector/steps/step_finder.h"
#include "detector/steps/whole_steps.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kLanes = 4;
constexpr int32_t kReplicas = 3;
constexpr int32_t kRanks = kLanes * kReplicas;
constexpr int32_t kSteps = 12;
constexpr int32_t kLayers = 10;
constexpr int64_t kMilli = 1'000'000;

// Tensor groups of kLanes ranks meet after every layer. The parameters of the next step are gathered beside the first
// layers: that gather begins while the first AllReduce of the step runs.
class GatheringJob {
 public:
  // The rank in the n-th place has the number n times `number_step`, modulo all. `begins_seen`: what is said of them.
  explicit GatheringJob(int32_t number_step, bool begins_seen = true) : builder_("job"), number_step_(number_step) {
    for (int32_t place = 0; place < kRanks; ++place) {
      handles_.push_back(builder_.AddRank({.rank = NumberOf(place),
                                           .host = builder_.AddHost(absl::StrCat("h", place / kLanes)),
                                           .gpu = place % kLanes}));
    }
    for (int32_t step = 0; step < kSteps; ++step) Step(step);
    trace_ = builder_.Build();
    matched_ = MatchOperations(trace_);
    roles_ = InferRoles(trace_, matched_);
    steps_ = FindSteps(trace_, matched_, roles_);
    const std::vector<char> without_begins(trace_.ranks.size(), begins_seen ? 0 : 1);
    times_ = MeasureOwnTimes(
        trace_, matched_, roles_, steps_,
        FindAwaitedRecvs(trace_, matched_, roles_, steps_, FindWholeSteps(matched_, steps_), without_begins),
        without_begins);
  }

  // By place: what each did before its AllReduces, as measured, in the order of the calls.
  std::vector<std::vector<float>> Measured() const {
    std::vector<std::vector<float>> measured;
    for (int32_t place = 0; place < kRanks; ++place) {
      const auto rank = static_cast<size_t>(NumberOf(place));  // ranks are in the order of their numbers
      std::vector<float>& of_place = measured.emplace_back();
      for (size_t i = trace_.first_operation[rank]; i < trace_.first_operation[rank + 1]; ++i) {
        if (trace_.operations[i].kind == OperationKind::kAllReduce) of_place.push_back(times_.before[i].seconds);
      }
    }
    return measured;
  }

  // The truth, in the same order.
  const std::vector<std::vector<float>>& own() const { return own_; }

 private:
  int32_t NumberOf(int32_t place) const { return place * number_step_ % kRanks; }

  void Step(int32_t step) {
    own_.resize(kRanks);
    for (int32_t layer = 0; layer < kLayers; ++layer) {
      for (int32_t replica = 0; replica < kReplicas; ++replica) MeetLanes(replica, step, layer);
      if (layer == 0) Gather(step);
    }
    Barrier(step);
  }

  // The last of four to come is more regular than each of them by itself.
  void MeetLanes(int32_t replica, int32_t step, int32_t layer) {
    const std::string name = absl::StrCat("tensor", replica);
    std::array<int64_t, kLanes> arrival_ns;
    for (int32_t lane = 0; lane < kLanes; ++lane) {
      const auto place = static_cast<size_t>(replica * kLanes + lane);
      const auto own_ns = static_cast<int64_t>(10 * kMilli * (1 + 0.1 * random_.Unit()));
      own_[place].push_back(static_cast<float>(static_cast<double>(own_ns) / (1000.0 * kMilli)));
      arrival_ns[static_cast<size_t>(lane)] = now_ns_[place] + own_ns;
    }
    const int64_t end_ns = *std::max_element(arrival_ns.begin(), arrival_ns.end()) + 2 * kMilli;
    for (int32_t lane = 0; lane < kLanes; ++lane) {
      const int32_t place = replica * kLanes + lane;
      Add(place, name, kLanes, lane, static_cast<uint64_t>(step * kLayers + layer), OperationKind::kAllReduce,
          arrival_ns[static_cast<size_t>(lane)], end_ns);
      now_ns_[static_cast<size_t>(place)] = end_ns;
    }
  }

  // Begins before the AllReduce of the first layer ends, and ends soon after.
  void Gather(int32_t step) {
    for (int32_t place = 0; place < kRanks; ++place) {
      const int64_t end_ns = now_ns_[static_cast<size_t>(place)];
      Add(place, absl::StrCat("data", place % kLanes), kReplicas, place / kLanes, static_cast<uint64_t>(step),
          OperationKind::kAllGather, end_ns - kMilli, end_ns + 3 * kMilli);
    }
  }

  void Barrier(int32_t step) {
    const int64_t latest_ns = *std::max_element(now_ns_.begin(), now_ns_.end());
    for (int32_t place = 0; place < kRanks; ++place) {
      Add(place, "world", kRanks, place, static_cast<uint64_t>(step), OperationKind::kBarrier,
          now_ns_[static_cast<size_t>(place)], latest_ns + kMilli);
    }
    now_ns_.fill(latest_ns + kMilli);
  }

  void Add(int32_t place, const std::string& name, int32_t size, int32_t member, uint64_t sequence, OperationKind kind,
           int64_t start_ns, int64_t end_ns) {
    const int32_t communicator = builder_.AddCommunicator(name, "", size);
    builder_.AddMember(communicator, member, handles_[static_cast<size_t>(place)]);
    builder_.Add(handles_[static_cast<size_t>(place)], {.enqueue_ns = start_ns,
                                                        .start_ns = start_ns,
                                                        .end_ns = end_ns,
                                                        .sequence = sequence,
                                                        .bytes = 4096,
                                                        .communicator = communicator,
                                                        .kind = kind});
  }

  TraceBuilder builder_;
  const int32_t number_step_;
  std::vector<int32_t> handles_;
  std::array<int64_t, kRanks> now_ns_{};
  Random random_{7};
  std::vector<std::vector<float>> own_;
  Trace trace_;
  OperationInstances matched_;
  JobRoles roles_;
  StepTable steps_;
  OwnTimes times_;
};

// From one AllReduce to the next is more regular than the work in between, since the last of several decides. The few
// during which something else begins must not make waits into work.
TEST(OwnTimeTest, AKindThatUsuallyRunsAloneIsAwaitedByTheNextOfItsKind) {
  const GatheringJob job(1);
  const std::vector<std::vector<float>> measured = job.Measured();
  for (size_t place = 0; place < measured.size(); ++place) {
    ASSERT_EQ(measured[place].size(), static_cast<size_t>(kSteps * kLayers));
    for (size_t call = 0; call < measured[place].size(); ++call) {
      if (call % kLayers < 2) continue;  // behind the barrier, and beside the gather
      EXPECT_NEAR(measured[place][call], job.own()[place][call], 1e-6) << place << " " << call;
    }
  }
}

TEST(OwnTimeTest, WhatIsMeasuredDoesNotDependOnTheNumbersOfRanks) {
  const std::vector<std::vector<float>> measured = GatheringJob(1).Measured();
  for (const int32_t number_step : {5, 7, 11}) EXPECT_EQ(GatheringJob(number_step).Measured(), measured) << number_step;
}

TEST(OwnTimeTest, WhereNobodysBeginsAreSeenWhatDependsOnWhatIsLearntFromAll) {
  EXPECT_EQ(GatheringJob(1, /*begins_seen=*/false).Measured(), GatheringJob(1).Measured());
}

// Two ranks, eight AllToAlls a step, behind each of which 5 ms of work; with the third begins a reduction, which comes
// first in the records of one rank and second in those of the other.
TEST(OwnTimeTest, WorkBetweenAllToAllsIsRoutedWhateverBeginsTogetherWithTheSecond) {
  TraceBuilder builder("job");
  std::array<int32_t, 2> handles;
  for (int32_t rank = 0; rank < 2; ++rank) {
    handles[static_cast<size_t>(rank)] = builder.AddRank({.rank = rank, .host = builder.AddHost("h"), .gpu = rank});
  }
  const std::array<int32_t, 2> groups = {builder.AddCommunicator("experts", "", 2),
                                         builder.AddCommunicator("data", "", 2)};
  const auto add = [&](int32_t rank, int32_t group, OperationKind kind, uint64_t sequence, int64_t start_ns,
                       int64_t length_ns) {
    builder.AddMember(groups[static_cast<size_t>(group)], rank, handles[static_cast<size_t>(rank)]);
    builder.Add(handles[static_cast<size_t>(rank)], {.enqueue_ns = start_ns - kMilli,
                                                     .start_ns = start_ns,
                                                     .end_ns = start_ns + length_ns,
                                                     .sequence = sequence,
                                                     .bytes = 4096,
                                                     .communicator = groups[static_cast<size_t>(group)],
                                                     .kind = kind});
  };
  constexpr uint64_t kCalls = 8;
  Random random(3);
  for (uint64_t step = 0; step < kSteps; ++step) {
    for (uint64_t call = 0; call < kCalls; ++call) {
      const auto at_ns = static_cast<int64_t>(step * kCalls + call) * 6 * kMilli + kMilli;
      const int64_t end_ns = at_ns + static_cast<int64_t>(static_cast<double>(7 * kMilli) *
                                                          (1 + 2 * random.Unit()));  // nothing waits for it
      for (int32_t rank = 0; rank < 2; ++rank) {
        if (call == 2 && rank == 0) add(rank, 1, OperationKind::kAllReduce, step, at_ns, end_ns - at_ns);
        add(rank, 0, OperationKind::kAllToAll, step * kCalls + call, at_ns, kMilli);
        if (call == 2 && rank == 1) add(rank, 1, OperationKind::kAllReduce, step, at_ns, end_ns - at_ns);
      }
    }
  }
  const Trace trace = builder.Build();
  const OperationInstances matched = MatchOperations(trace);
  const JobRoles roles = InferRoles(trace, matched);
  const OwnTimes times =
      MeasureOwnTimes(trace, matched, roles, FindSteps(trace, matched, roles), {}, RanksWithoutBegins(trace, roles));
  for (size_t rank = 0; rank < 2; ++rank) {
    double routed = 0;
    for (size_t i = trace.first_operation[rank]; i < trace.first_operation[rank + 1]; ++i) {
      if (times.before[i].routed) routed += static_cast<double>(times.before[i].seconds);
    }
    EXPECT_NEAR(routed, (kSteps * kCalls - 1) * 0.005, 1e-5) << rank;
  }
}

// One call after the other of two ranks, in steps that are alike.
class StepsOfTwo {
 public:
  StepsOfTwo() {
    for (int32_t rank = 0; rank < 2; ++rank) {
      handles_[static_cast<size_t>(rank)] =
          builder_.AddRank({.rank = rank, .host = builder_.AddHost("h"), .gpu = rank});
    }
    for (int32_t c = 0; c < 2; ++c) {
      communicators_[static_cast<size_t>(c)] = builder_.AddCommunicator(c == 0 ? "dp" : "pp", "", 2);
      for (int32_t rank = 0; rank < 2; ++rank) {
        builder_.AddMember(communicators_[static_cast<size_t>(c)], rank, handles_[static_cast<size_t>(rank)]);
      }
    }
    for (int32_t step = 0; step < kSteps; ++step) Step(step);
    trace_ = builder_.Build();
  }

  // Of rank 0: seconds before the second Recv of each step, where no operation is known to wait for a Recv.
  std::vector<float> BeforeSecondRecvs() const {
    const OperationInstances matched = MatchOperations(trace_);
    const JobRoles roles = InferRoles(trace_, matched);
    const OwnTimes times = MeasureOwnTimes(trace_, matched, roles, FindSteps(trace_, matched, roles),
                                           AwaitedRecvs(trace_.operations.size(), kNoRecv), {0, 0});
    std::vector<float> seconds;
    for (size_t i = 0; i < trace_.first_operation[1]; ++i) {
      const TraceOperation& operation = trace_.operations[i];
      if (operation.kind == OperationKind::kRecv && operation.sequence % 2 == 1) {
        seconds.push_back(times.before[i].seconds);
      }
    }
    return seconds;
  }

 private:
  void Step(int32_t step) {
    const int64_t from_ms = int64_t{400} * step;
    for (int32_t rank = 0; rank < 2; ++rank) {
      Add(rank, 0, OperationKind::kAllReduce, static_cast<uint64_t>(step), -1, from_ms, from_ms + 2);
    }
    for (int32_t k = 0; k < 2; ++k) {
      const auto sequence = static_cast<uint64_t>(2 * step + k);
      Add(0, 1, OperationKind::kRecv, sequence, 1, from_ms + 4 + 100 * k, from_ms + 104 + 100 * k);
      Add(1, 1, OperationKind::kSend, sequence, 0, from_ms + 94 + 100 * k, from_ms + 104 + 100 * k);
    }
  }

  void Add(int32_t rank, int32_t communicator, OperationKind kind, uint64_t sequence, int32_t peer, int64_t begin_ms,
           int64_t end_ms) {
    builder_.Add(handles_[static_cast<size_t>(rank)],
                 {.enqueue_ns = begin_ms * kMilli,
                  .start_ns = begin_ms * kMilli,
                  .end_ns = end_ms * kMilli,
                  .sequence = sequence,
                  .bytes = 4096,
                  .communicator = communicators_[static_cast<size_t>(communicator)],
                  .peer = peer,
                  .kind = kind});
  }

  TraceBuilder builder_{"job"};
  std::array<int32_t, 2> handles_, communicators_;
  Trace trace_;
};

// A host whose queue is full posts the next Recv when the one before has ended: it waited, whatever others do.
TEST(OwnTimeTest, ARecvThatStoodBehindAnotherWaitedForIt) {
  const std::vector<float> seconds = StepsOfTwo().BeforeSecondRecvs();
  ASSERT_EQ(seconds.size(), static_cast<size_t>(kSteps));
  for (const float before : seconds) EXPECT_NEAR(before, 0, 1e-6);
}

}  // namespace
}  // namespace lockstep
