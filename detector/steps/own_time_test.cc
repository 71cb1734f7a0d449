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
  // The rank in the n-th place has the number n times `number_step`, modulo all.
  explicit GatheringJob(int32_t number_step) : builder_("job"), number_step_(number_step) {
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
    times_ = MeasureOwnTimes(trace_, matched_, roles_, steps_,
                             FindAwaitedRecvs(trace_, matched_, roles_, steps_, FindWholeSteps(matched_, steps_),
                                              RanksWithoutBegins(trace_, roles_)));
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

}  // namespace
}  // namespace lockstep
