#include "detector/steps/own_time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
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
#include "detector/steps/peer_sample.h"
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
        trace_, matched_, roles_, OrderByWaiting(trace_, roles_), steps_,
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
  const OwnTimes times = MeasureOwnTimes(trace, matched, roles, OrderByWaiting(trace, roles),
                                         FindSteps(trace, matched, roles), {}, RanksWithoutBegins(trace, roles));
  for (size_t rank = 0; rank < 2; ++rank) {
    double routed = 0;
    for (size_t i = trace.first_operation[rank]; i < trace.first_operation[rank + 1]; ++i) {
      if (times.before[i].routed) routed += static_cast<double>(times.before[i].seconds);
    }
    EXPECT_NEAR(routed, (kSteps * kCalls - 1) * 0.005, 1e-5) << rank;
  }
}

// One call of a rank, in milliseconds from the begin of its step.
struct Call {
  std::string group;
  OperationKind kind;
  double call_ms;
  double begin_ms;
  double end_ms;
};

// Two ranks, both in all groups, whose steps are written down.
class StepsOfTwo {
 public:
  StepsOfTwo() {
    for (int32_t rank = 0; rank < 2; ++rank) {
      handles_[static_cast<size_t>(rank)] =
          builder_.AddRank({.rank = rank, .host = builder_.AddHost("h"), .gpu = rank});
    }
  }

  void AddStep(const std::vector<Call>& of_rank_0, const std::vector<Call>& of_rank_1) {
    for (const Call& call : of_rank_0) Add(0, call);
    for (const Call& call : of_rank_1) Add(1, call);
    ++steps_;
  }

  // Both ranks do the same in each of kSteps steps, but that the last call ends when it likes: nothing waits for it.
  void AddSteps(std::vector<Call> calls) {
    Random random(5);
    const double earliest_ms = calls.back().end_ms;
    for (int32_t step = 0; step < kSteps; ++step) {
      calls.back().end_ms = earliest_ms + 20 * random.Unit();
      AddStep(calls, calls);
    }
  }

  // Of rank 0: milliseconds before one of its calls of a kind, by its place among those of each step. No operation is
  // known to wait for a Recv.
  std::vector<double> Before(OperationKind kind, size_t place) {
    if (trace_.ranks.empty()) Measure();
    std::vector<double> all, milliseconds;
    for (size_t i = 0; i < trace_.first_operation[1]; ++i) {
      if (trace_.operations[i].kind == kind) all.push_back(1e3 * static_cast<double>(times_.before[i].seconds));
    }
    for (size_t at = place; at < all.size(); at += all.size() / steps_) milliseconds.push_back(all[at]);
    return milliseconds;
  }

 private:
  void Measure() {
    trace_ = builder_.Build();
    const OperationInstances matched = MatchOperations(trace_);
    const JobRoles roles = InferRoles(trace_, matched);
    times_ = MeasureOwnTimes(trace_, matched, roles, OrderByWaiting(trace_, roles), FindSteps(trace_, matched, roles),
                             AwaitedRecvs(trace_.operations.size(), kNoRecv), {0, 0});
  }

  void Add(int32_t rank, const Call& call) {
    const auto at = static_cast<size_t>(rank);
    const int32_t communicator = builder_.AddCommunicator(call.group, "", 2);
    builder_.AddMember(communicator, rank, handles_[at]);
    const auto time_ns = [this](double ms) {
      return static_cast<int64_t>(1e6 * (400 * static_cast<double>(1 + steps_) + ms));
    };
    builder_.Add(handles_[at], {.enqueue_ns = time_ns(call.call_ms),
                                .start_ns = time_ns(call.begin_ms),
                                .end_ns = time_ns(call.end_ms),
                                .sequence = sequences_[at][call.group]++,
                                .bytes = 4096,
                                .communicator = communicator,
                                .peer = IsSendOrRecv(call.kind) ? 1 - rank : -1,
                                .kind = call.kind});
  }

  TraceBuilder builder_{"job"};
  std::array<int32_t, 2> handles_;
  std::array<std::map<std::string, uint64_t>, 2> sequences_;  // by rank, of the next call of the group
  size_t steps_ = 0;
  Trace trace_;
  OwnTimes times_;
};

void ExpectAll(const std::vector<double>& milliseconds, double expected) {
  ASSERT_EQ(milliseconds.size(), static_cast<size_t>(kSteps));
  for (const double before : milliseconds) EXPECT_NEAR(before, expected, 1e-3);
}

constexpr OperationKind kBarrier = OperationKind::kBarrier, kAllReduce = OperationKind::kAllReduce,
                        kScatter = OperationKind::kReduceScatter, kGather = OperationKind::kAllGather,
                        kSend = OperationKind::kSend, kRecv = OperationKind::kRecv;

// A host whose queue is full posts the next Recv when the one before has ended: it waited, whatever others do. With a
// reduction that begins 4 ms before that end, so that the Recv counts as ended by then, and is over 1 ms later.
TEST(OwnTimeTest, ARecvThatStoodBehindAnotherWaitedForIt) {
  for (const bool reduces : {false, true}) {
    StepsOfTwo steps;
    for (int32_t step = 0; step < kSteps; ++step) {
      const Call first{"all", kBarrier, 0, 0, 2};
      std::vector<Call> receiver = {first, {"pp", kRecv, 4, 4, 104}, {"pp", kRecv, 104, 104, 204}};
      std::vector<Call> sender = {first, {"pp", kSend, 94, 94, 104}, {"pp", kSend, 194, 194, 204}};
      if (reduces) {
        receiver.push_back({"tp", kAllReduce, 3, 100, 101});
        sender.push_back({"tp", kAllReduce, 3, 60, 101});
      }
      steps.AddStep(receiver, sender);
    }
    ExpectAll(steps.Before(kRecv, 1), 0);
  }
}

// Work of 10 ms before each tensor reduction. Two buckets of gradients are reduced beside it, the second behind the
// first. The tensor reduction at `third_ms` may begin before the end that the second bucket stood behind.
std::vector<Call> TwoBuckets(double third_ms) {
  return {{"all", kBarrier, -1, 0, 2},
          {"tp", kAllReduce, 1, 12, 13},
          {"tp", kAllReduce, 1, 23, 24},
          {"tp", kAllReduce, 1, third_ms, third_ms + 0.2},
          {"tp", kAllReduce, 1, third_ms + 10.2, third_ms + 11},
          {"dp", kScatter, 1, 13, 41},
          {"dp", kScatter, 1, 41, 63}};
}

// The ends of buckets count for nothing: tensor reductions come when they come. But the second bucket began as the
// first ended: nothing was done for it meanwhile, and its start says nothing of the work before the next reduction.
TEST(OwnTimeTest, WhatStoodInLineGoesOnFromThereThoughThatEndCountsForNothingElse) {
  StepsOfTwo steps;
  steps.AddSteps(TwoBuckets(34));
  ExpectAll(steps.Before(kScatter, 1), 0);
  ExpectAll(steps.Before(kAllReduce, 2), 10);
  ExpectAll(steps.Before(kAllReduce, 3), 10);
}

// A tensor reduction begins 1 ms before the end of the first bucket, which counts as ended by then, and ends 0.2 ms
// later.
TEST(OwnTimeTest, WhatStoodInLineGoesOnFromTheEndOfTheRecord) {
  StepsOfTwo steps;
  steps.AddSteps(TwoBuckets(40));
  ExpectAll(steps.Before(kScatter, 1), 0);
}

// A tensor reduction ends 0.4 ms behind the first bucket and 0.6 ms before the second begins, which was called long
// before it: the bucket cannot have waited for it.
TEST(OwnTimeTest, WhatStoodInLineDoesNotGoOnFromWhatWasCalledLater) {
  for (const double call_ms : {1.0, 38.0}) {
    std::vector<Call> calls = TwoBuckets(41.2);
    calls.back().call_ms = call_ms;
    calls.back().begin_ms = 42;
    calls[3].call_ms = 37;
    StepsOfTwo steps;
    steps.AddSteps(calls);
    ExpectAll(steps.Before(kScatter, 1), call_ms < 37 ? 1 : 0.6);
  }
}

// A reduction begins 48 ms after the barrier. Meanwhile, at 20 ms, a gather begins, at the moment of its call or after
// it: that may be what the work went on from if the reduction is called later, and cannot be if it was called before.
TEST(OwnTimeTest, AStartCountsForWhatIsCalledLaterAlone) {
  for (const double gather_ms : {10, 20}) {
    for (const double call_ms : {3, 25}) {
      StepsOfTwo steps;
      steps.AddSteps(
          {{"all", kBarrier, -1, 0, 2}, {"tp", kAllReduce, call_ms, 50, 51}, {"dp", kGather, gather_ms, 20, 90}});
      ExpectAll(steps.Before(kAllReduce, 0), call_ms < gather_ms ? 48 : 30);
    }
  }
}

}  // namespace
}  // namespace lockstep
