#include "detector/steps/awaited_ends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
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
#include "detector/steps/own_time.h"
#include "detector/steps/peer_sample.h"
#include "detector/steps/step_finder.h"

namespace lockstep {
namespace {

constexpr int32_t kLanes = 2;
constexpr int32_t kReplicas = 4;
constexpr int32_t kRanks = kLanes * kReplicas;
constexpr int32_t kLayers = 5;
constexpr int32_t kSteps = 12;
constexpr int64_t kMilli = 1'000'000;
constexpr int32_t kSlowRank = 3;

// Tensor groups meet after each layer, both ways. Each layer's gradients are reduced over the replicas beside the
// backward pass, in line, and the step ends when the last of these has ended and the optimizer has run.
class ReducingJob {
 public:
  explicit ReducingJob(double slow) : slow_(slow), builder_("job") {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      builder_.AddRank({.rank = rank, .host = builder_.AddHost(absl::StrCat("h", rank / kLanes))});
    }
    for (int32_t step = 0; step < kSteps; ++step) Step();
    trace_ = builder_.Build();
    matched_ = MatchOperations(trace_);
    roles_ = InferRoles(trace_, matched_);
    steps_ = FindSteps(trace_, matched_, roles_);
    without_begins_ = RanksWithoutBegins(trace_, roles_);
    peers_ = OrderByWaiting(trace_, roles_);
    times_ = MeasureOwnTimes(trace_, matched_, roles_, peers_, steps_, {}, without_begins_);
  }

  void Count() { CountAwaitedEnds(trace_, roles_, peers_, steps_, without_begins_, nullptr, &times_); }

  // By how much what was measured is off what was done, before the tensor group's calls: of the first of each step or
  // of all others; the largest, in milliseconds.
  double Error(bool of_first) const {
    double largest = 0;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      size_t call = 0;
      for (size_t i = trace_.first_operation[rank]; i < trace_.first_operation[rank + 1]; ++i) {
        if (!IsTensor(trace_.operations[i])) continue;
        const bool first = call % (2 * kLayers) == 0;
        const bool is_whole = call >= 2 * kLayers && call + 2 * kLayers < kSteps * 2 * kLayers;
        const double own = done_[rank][call++];
        if (first != of_first || !is_whole) continue;
        largest = std::max(largest, std::abs(static_cast<double>(times_.before[i].seconds) * 1e3 - own));
      }
    }
    return largest;
  }

 private:
  bool IsTensor(const TraceOperation& operation) const {
    return trace_.communicators[static_cast<size_t>(operation.communicator)].name.starts_with("tensor");
  }

  void Step() {
    for (int32_t call = 0; call < 2 * kLayers; ++call) {
      const bool backward = call >= kLayers;
      for (int32_t rank = 0; rank < kRanks; ++rank) {
        const double milliseconds = (backward ? 4 : 2) + (call == 0 ? 1 : 0);
        Work(rank, milliseconds * (1 + 0.01 * random_.Unit()) * (rank == kSlowRank ? slow_ : 1));
      }
      for (int32_t replica = 0; replica < kReplicas; ++replica) MeetLanes(replica);
      for (int32_t lane = 0; lane < kLanes && backward; ++lane) ReduceBeside(lane);
    }
    for (size_t rank = 0; rank < kRanks; ++rank) now_ns_[rank] = std::max(now_ns_[rank], reduced_ns_[rank]);
  }

  void Work(int32_t rank, double milliseconds) {
    done_[static_cast<size_t>(rank)].push_back(milliseconds);
    now_ns_[static_cast<size_t>(rank)] += static_cast<int64_t>(milliseconds * kMilli);
  }

  void MeetLanes(int32_t replica) {
    std::vector<int32_t> ranks;
    for (int32_t lane = 0; lane < kLanes; ++lane) ranks.push_back(replica * kLanes + lane);
    Meet(absl::StrCat("tensor", replica), ranks, kMilli / 10, &now_ns_);
  }

  void ReduceBeside(int32_t lane) {
    std::vector<int32_t> ranks;
    for (int32_t replica = 0; replica < kReplicas; ++replica) ranks.push_back(replica * kLanes + lane);
    for (const int32_t rank : ranks) {
      auto& at_ns = reduced_ns_[static_cast<size_t>(rank)];
      at_ns = std::max(at_ns, now_ns_[static_cast<size_t>(rank)]);
    }
    Meet(absl::StrCat("data", lane), ranks, static_cast<int64_t>((3 + 0.1 * random_.Unit()) * kMilli), &reduced_ns_);
  }

  void Meet(const std::string& name, const std::vector<int32_t>& ranks, int64_t takes_ns,
            std::array<int64_t, kRanks>* at_ns) {
    int64_t end_ns = 0;
    for (const int32_t rank : ranks) end_ns = std::max(end_ns, (*at_ns)[static_cast<size_t>(rank)]);
    end_ns += takes_ns;
    const int32_t communicator = builder_.AddCommunicator(name, "", static_cast<int32_t>(ranks.size()));
    for (size_t place = 0; place < ranks.size(); ++place) {
      auto& rank_ns = (*at_ns)[static_cast<size_t>(ranks[place])];
      builder_.AddMember(communicator, static_cast<int32_t>(place), ranks[place]);
      builder_.Add(ranks[place], {.enqueue_ns = now_ns_[static_cast<size_t>(ranks[place])] - 1,
                                  .start_ns = rank_ns,
                                  .end_ns = end_ns,
                                  .sequence = sequences_[static_cast<size_t>(ranks[place])][name[0] == 't']++,
                                  .bytes = 1 << 20,
                                  .communicator = communicator,
                                  .kind = OperationKind::kAllReduce});
      rank_ns = end_ns;
    }
  }

  const double slow_;
  Random random_{7};
  TraceBuilder builder_;
  std::array<int64_t, kRanks> now_ns_ = {};
  std::array<int64_t, kRanks> reduced_ns_ = {};  // when the reductions beside the work are over
  std::array<std::array<uint64_t, 2>, kRanks> sequences_ = {};
  std::array<std::vector<double>, kRanks> done_;  // milliseconds before each of the tensor group's calls
  Trace trace_;
  OperationInstances matched_;
  JobRoles roles_;
  PeersByWaiting peers_;
  StepTable steps_;
  std::vector<char> without_begins_;
  OwnTimes times_;
};

// Parameters are gathered from all, one layer ahead: the host calls the gather of the next layer when it has called
// what the pairs exchange in this one, so that the next gather runs while the exchange begins. One host comes late to
// the first gather of a step, by another time in each.
class GatheringJob {
 public:
  GatheringJob() : builder_("job") {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      builder_.AddRank({.rank = rank, .host = builder_.AddHost(absl::StrCat("h", rank / kLanes))});
    }
    for (int32_t step = 0; step < kSteps; ++step) Step();
    trace_ = builder_.Build();
    const OperationInstances matched = MatchOperations(trace_);
    const JobRoles roles = InferRoles(trace_, matched);
    const StepTable steps = FindSteps(trace_, matched, roles);
    const std::vector<char> without_begins = RanksWithoutBegins(trace_, roles);
    const PeersByWaiting peers = OrderByWaiting(trace_, roles);
    times_ = MeasureOwnTimes(trace_, matched, roles, peers, steps, {}, without_begins);
    CountAwaitedEnds(trace_, roles, peers, steps, without_begins, nullptr, &times_);
  }

  // The longest time before the first exchange of a step that a rank seems to work, in milliseconds.
  double LongestBeforeFirstExchange() const {
    double longest = 0;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      size_t call = 0;
      for (size_t i = trace_.first_operation[rank]; i < trace_.first_operation[rank + 1]; ++i) {
        if (trace_.operations[i].kind != OperationKind::kAllToAll) continue;
        const size_t step = call / kLayers;
        const bool is_first = call++ % kLayers == 0 && step > 1 && step + 2 < static_cast<size_t>(kSteps);
        if (is_first) longest = std::max(longest, static_cast<double>(times_.before[i].seconds) * 1e3);
      }
    }
    return longest;
  }

 private:
  static constexpr double kGather = 6, kExchange = 1, kForward = 4, kBackward = 60;  // milliseconds
  static constexpr int32_t kLateRank = 2;

  void Step() {
    const double late = 100 * random_.Unit();
    std::vector<double> posted;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      posted.push_back(now_ + 0.1 * random_.Unit() + (rank / kLanes == kLateRank / kLanes ? late : 0));
    }
    std::vector<double> call = posted, begins = posted;
    double done = 0;
    for (int32_t layer = 0; layer < kLayers; ++layer) {
      const double gathered = Add("data", OperationKind::kAllGather, call, begins, kGather);
      begins.assign(kRanks, gathered);
      for (double& at : call) at += 0.01;
      const std::vector<double> exchanged(kRanks, std::max(done, gathered) + kForward * (1 + 0.01 * random_.Unit()));
      done = Add("pair", OperationKind::kAllToAll, call, exchanged, kExchange);
      for (double& at : call) at += 0.01;
    }
    done += kBackward;
    now_ =
        Add("data", OperationKind::kAllReduce, std::vector<double>(kRanks, done), std::vector<double>(kRanks, done), 1);
  }

  // All begin, and end when the last has begun and the data have moved. Returns when.
  double Add(const std::string& group, OperationKind kind, const std::vector<double>& call,
             const std::vector<double>& begins, double takes) {
    const double end = *std::max_element(begins.begin(), begins.end()) + takes;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const bool all = group == "data";
      const int32_t communicator =
          builder_.AddCommunicator(all ? group : absl::StrCat(group, rank / kLanes), "", all ? kRanks : kLanes);
      builder_.AddMember(communicator, all ? rank : rank % kLanes, rank);
      const auto at = static_cast<size_t>(rank);
      builder_.Add(rank, {.enqueue_ns = static_cast<int64_t>(call[at] * kMilli),
                          .start_ns = static_cast<int64_t>(begins[at] * kMilli),
                          .end_ns = static_cast<int64_t>(end * kMilli),
                          .sequence = sequences_[at][all ? 0 : 1]++,
                          .bytes = all ? 1U << 20 : 1U << 22,
                          .communicator = communicator,
                          .kind = kind});
    }
    return end;
  }

  Random random_{7};
  TraceBuilder builder_;
  double now_ = 1;  // milliseconds
  std::array<std::array<uint64_t, 2>, kRanks> sequences_ = {};
  Trace trace_;
  OwnTimes times_;
};

TEST(AwaitedEndsTest, AGatherThatWasCalledLaterIsNoneThatAnExchangeGoesOnBeside) {
  EXPECT_LT(GatheringJob().LongestBeforeFirstExchange(), 6);
}

TEST(AwaitedEndsTest, WhoWaitsForALateReductionDoesNotWork) {
  ReducingJob job(1.5);
  EXPECT_GT(job.Error(/*of_first=*/true), 5) << "the wait looks like work";
  job.Count();
  EXPECT_LT(job.Error(true), 0.2);
  EXPECT_LT(job.Error(false), 0.2) << "what goes on whatever the reductions do keeps its time";
}

TEST(AwaitedEndsTest, NothingIsShortenedWhereNobodyIsLate) {
  ReducingJob job(1);
  job.Count();
  EXPECT_LT(job.Error(true), 0.2);
}

}  // namespace
}  // namespace lockstep
