// Steps put together again, against the same job recorded without losses.

#include "detector/steps/step_pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/slow/step_replay.h"
#include "detector/steps/trace_analysis.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kReplicas = 8, kSteps = 14, kBatches = 4;
constexpr int32_t kSlowReplica = 5;   // its transfers from stage 0 to stage 1 take kSlowFactor times as long
constexpr int32_t kSickReplicas = 2;  // the first ones: the work before the first batch of each step takes long
constexpr int32_t kOddReplica = 3;    // makes a call of its own in kOddStep, whose first rank then loses another one
constexpr uint64_t kOddStep = 7;
constexpr double kTransfer = 0.002, kSlowFactor = 8, kWork = 0.01;

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

// Replicas of two stages, a rank and host each: batches go to the second stage and come back, then each stage meets in
// its data group, and everybody in the world.
class PipelineJob {
 public:
  explicit PipelineJob(double lost_share, bool paired = false) : lost_share_(lost_share), builder_("job") {
    for (int32_t rank = 0; rank < 2 * kReplicas; ++rank) {
      handles_.push_back(builder_.AddRank({.rank = rank, .host = builder_.AddHost(absl::StrCat("h", rank))}));
    }
    for (int32_t replica = 0; replica < kReplicas; ++replica) {
      pipelines_.push_back(Group(absl::StrCat("pp", replica), {2 * replica, 2 * replica + 1}));
    }
    for (int32_t stage = 0; stage < 2; ++stage) {
      for (int32_t replica = 0; replica < kReplicas; ++replica) stages_[stage].push_back(2 * replica + stage);
      data_[stage] = Group(absl::StrCat("dp", stage), stages_[stage]);
      world_members_.insert(world_members_.end(), stages_[stage].begin(), stages_[stage].end());
    }
    std::sort(world_members_.begin(), world_members_.end());
    world_ = Group("world", world_members_);
    for (int32_t replica = 0; paired && replica < kReplicas; ++replica) {
      const std::vector<int32_t> both = {2 * replica, 2 * replica + 1};
      const int32_t first = Group(absl::StrCat("a", replica), both), second = Group(absl::StrCat("b", replica), both);
      pairs_.emplace_back(replica % 2 == 0 ? first : second, replica % 2 == 0 ? second : first);
    }
    now_.assign(2 * kReplicas, 1);
  }

  Trace PlayWithOddStep() {
    odd_ = Group("odd", {2 * kOddReplica, 2 * kOddReplica + 1});
    return Play();
  }

  Trace Play() {
    for (uint64_t step = 0; step < kSteps; ++step) {
      for (uint64_t batch = 0; batch < kBatches; ++batch) {
        for (int32_t replica = 0; replica < kReplicas; ++replica) PassOn(replica, 0, kBatches * step + batch);
        for (int32_t replica = 0; replica < kReplicas; ++replica) PassOn(replica, 1, kBatches * step + batch);
      }
      if (odd_ >= 0 && step == kOddStep) Meet(odd_, {2 * kOddReplica, 2 * kOddReplica + 1}, 0, 0);
      for (int32_t stage = 0; stage < 2; ++stage) Meet(data_[stage], stages_[stage], step, 3 * kWork);
      for (size_t replica = 0; replica < pairs_.size(); ++replica) {
        const auto stage = static_cast<int32_t>(2 * replica);
        Meet(pairs_[replica].first, {stage, stage + 1}, step, kWork, 100'000'000);
        Meet(pairs_[replica].second, {stage, stage + 1}, step, 0, 4);
      }
      Meet(world_, world_members_, step, 0);
    }
    return builder_.Build();
  }

 private:
  int32_t Group(const std::string& name, const std::vector<int32_t>& members) {
    const int32_t group = builder_.AddCommunicator(name, "", static_cast<int32_t>(members.size()));
    for (size_t place = 0; place < members.size(); ++place) {
      builder_.AddMember(group, static_cast<int32_t>(place), handles_[static_cast<size_t>(members[place])]);
    }
    return group;
  }

  double& Now(int32_t rank) { return now_[static_cast<size_t>(rank)]; }

  // The stage works, and sends what it has done to the other one.
  void PassOn(int32_t replica, int32_t stage, uint64_t sequence) {
    const int32_t from = 2 * replica + stage, to = 2 * replica + 1 - stage;
    const bool sick = replica < kSickReplicas && stage == 0 && sequence % kBatches == 0;
    Now(from) += (sick ? 3 : 1 + stage) * kWork * (1 + 0.01 * random_.Gaussian());
    const double seconds = kTransfer * (stage == 0 && replica == kSlowReplica ? kSlowFactor : 1);
    const double end = std::max(Now(from), Now(to)) + seconds;
    TraceOperation operation{
        .sequence = sequence, .bytes = 8'000'000, .communicator = pipelines_[static_cast<size_t>(replica)]};
    operation.kind = OperationKind::kSend;
    operation.peer = 1 - stage;
    Add(from, operation, end);
    operation.kind = OperationKind::kRecv;
    operation.peer = stage;
    Add(to, operation, end);
  }

  void Meet(int32_t group, const std::vector<int32_t>& members, uint64_t sequence, double work,
            uint64_t bytes = 1'000'000) {
    double end = 0;
    for (const int32_t rank : members) {
      Now(rank) += work * (1 + 0.01 * random_.Gaussian());
      end = std::max(end, Now(rank) + kTransfer);
    }
    const TraceOperation operation{
        .sequence = sequence, .bytes = bytes, .communicator = group, .kind = OperationKind::kAllReduce};
    for (const int32_t rank : members) Add(rank, operation, end);
  }

  void Add(int32_t rank, TraceOperation operation, double end) {
    const double clock = 3.7 * rank;
    operation.enqueue_ns = operation.start_ns = Nanos(Now(rank) + clock);
    operation.end_ns = Nanos(end + clock);
    Now(rank) = end;
    const bool odd =
        odd_ >= 0 && rank == 2 * kOddReplica && operation.communicator == data_[0] && operation.sequence == kOddStep;
    if (losses_.Unit() >= lost_share_ && !odd) builder_.Add(handles_[static_cast<size_t>(rank)], operation);
  }

  Random random_{1};
  Random losses_{2};
  double lost_share_;
  TraceBuilder builder_;
  std::vector<int32_t> handles_, pipelines_, world_members_;
  std::array<std::vector<int32_t>, 2> stages_;
  std::array<int32_t, 2> data_ = {};
  int32_t world_ = -1, odd_ = -1;
  std::vector<std::pair<int32_t, int32_t>> pairs_;  // by replica: the group with much, and that with little
  std::vector<double> now_;
};

// What identifies a call: communicator, source and destination, sequence.
using Call = std::tuple<int32_t, int32_t, int32_t, uint64_t>;

Call CallOf(const TraceAnalysis& analysis, uint32_t instance) {
  const OperationInstance& of = analysis.matched.instances[instance];
  const OperationChannel& channel = analysis.matched.channels[static_cast<size_t>(of.channel)];
  return {channel.communicator, channel.source, channel.destination, of.sequence};
}

// Of the step of a rank, by rising start.
std::vector<Call> CallsOf(const TraceAnalysis& analysis, size_t rank, int32_t step) {
  const StepRange& range = analysis.steps.Of(rank, step);
  std::vector<Call> calls;
  for (uint32_t i = range.begin; i < range.end; ++i) calls.push_back(CallOf(analysis, analysis.matched.instance_of[i]));
  return calls;
}

TEST(StepPatternTest, PutsEveryLostCallInItsPlace) {
  const Trace whole = PipelineJob(0).Play(), lossy = PipelineJob(0.02).Play();
  ASSERT_LT(lossy.operations.size(), whole.operations.size());
  const TraceAnalysis expected = AnalyseTrace(whole, false), analysis = AnalyseTrace(lossy, false);
  ASSERT_EQ(analysis.steps.steps, kSteps);
  ASSERT_EQ(expected.steps.steps, kSteps);
  StepPattern pattern(analysis);
  size_t lost = 0, without_bounds = 0, given_up = 0;
  for (size_t rank = 0; rank < lossy.ranks.size(); ++rank) {
    for (int32_t step = 1; step + 1 < kSteps; ++step) {
      const StepRange& truth = expected.steps.Of(rank, step);
      const std::vector<PatternCall>& calls = pattern.Complete(rank, step);
      const StepRange& range = analysis.steps.Of(rank, step);
      if (calls.empty()) {
        given_up += range.end - range.begin < truth.end - truth.begin;
        continue;
      }
      ASSERT_EQ(calls.size(), truth.end - truth.begin);
      without_bounds += range.complete ? 0 : 1;
      const std::vector<Call> in_truth = CallsOf(expected, rank, step);
      for (size_t at = 0; at < calls.size(); ++at) {
        EXPECT_EQ(CallOf(analysis, calls[at].instance), in_truth[at]) << rank << " " << step;
        const OwnInterval& interval = expected.times.before[truth.begin + at];
        const bool inside = interval.after >= truth.begin && interval.after < truth.end;
        EXPECT_EQ(calls[at].after, inside ? interval.after - truth.begin : kNoOperation);
        EXPECT_NEAR(calls[at].own_seconds, interval.seconds, 0.1 * kWork);
        lost += calls[at].recorded == kNoOperation ? 1 : 0;
      }
    }
  }
  EXPECT_GT(lost, 20u);
  EXPECT_GT(without_bounds, 5u) << "the call that ends the step is lost";
  EXPECT_LE(given_up, 1u) << "both sides of a Send are lost";
}

TEST(StepPatternTest, HasNothingToDoWhereNothingIsLost) {
  const Trace trace = PipelineJob(0).Play();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  EXPECT_TRUE(analysis.whole_steps.empty());
  StepPattern pattern(analysis);
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) EXPECT_TRUE(pattern.Complete(rank, 5).empty());
}

// The step has as many channels as usual ones, but not the same.
TEST(StepPatternTest, GivesUpOnlyTheStepWithACallThatOthersLack) {
  const Trace trace = PipelineJob(0.02).PlayWithOddStep();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  ASSERT_EQ(analysis.steps.steps, kSteps);
  StepPattern pattern(analysis);
  constexpr size_t kOddRank = 2 * kOddReplica;
  EXPECT_TRUE(pattern.Complete(kOddRank, kOddStep).empty());
  size_t put_together = 0;
  for (int32_t step = 1; step + 1 < kSteps; ++step) put_together += pattern.Complete(kOddRank, step).empty() ? 0 : 1;
  EXPECT_GT(put_together, 0u);
}

// Lengths of all steps, as recorded and with the slow transfers removed.
std::vector<std::pair<double, double>> Replayed(const Trace& trace) {
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  Counterfactual counterfactual;
  for (size_t i = 0; i < analysis.matched.channels.size(); ++i) {
    const OperationChannel& channel = analysis.matched.channels[i];
    const std::string& name = trace.communicators[static_cast<size_t>(channel.communicator)].name;
    if (channel.source != 0 || name != absl::StrCat("pp", kSlowReplica)) continue;
    counterfactual.channels.push_back({.channel = static_cast<int32_t>(i), .scale = 1 / kSlowFactor});
  }
  EXPECT_EQ(counterfactual.channels.size(), 1u);
  std::vector<std::pair<double, double>> lengths;
  for (int32_t step = 1; step + 1 < kSteps; ++step) {
    StepReplay replay(analysis, step);
    lengths.push_back(replay.RunBoth({}, counterfactual));
    EXPECT_LT(replay.hidden_share(), 0.01) << step;
  }
  return lengths;
}

TEST(StepPatternTest, ReplaysOfLossyStepsTakeAsLongAsThoseOfWholeOnes) {
  for (const bool paired : {false, true}) {
    const auto whole = Replayed(PipelineJob(0, paired).Play()), lossy = Replayed(PipelineJob(0.02, paired).Play());
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_NEAR(lossy[i].first, whole[i].first, 0.01 * whole[i].first) << i << " " << paired;
      EXPECT_NEAR(lossy[i].second, whole[i].second, 0.01 * whole[i].second) << i << " " << paired;
      EXPECT_GT(whole[i].first - whole[i].second, 0.1 * whole[i].first);
    }
  }
}

}  // namespace
}  // namespace lockstep
