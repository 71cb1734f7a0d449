#include "detector/steps/stage_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/steps/step_finder.h"

namespace lockstep {
namespace {

constexpr int32_t kReplicas = 2;
constexpr int32_t kMicroBatches = 3;
constexpr int32_t kSteps = 6;
constexpr int64_t kCallNs = 1'000'000;

struct Pipeline {
  int32_t stages = 4;
  int64_t from_ns = 0;       // nothing before is recorded
  bool interleaved = false;  // the last stage sends to the first as well
  bool reduces = true;       // a group call ends each step
};

// rank = replica + 2 * stage. All micro-batches forward, then all backward, then a reduction over the replicas.
class PipelineJob {
 public:
  explicit PipelineJob(const Pipeline& shape) : shape_(shape), builder_("job") {
    for (int32_t rank = 0; rank < kReplicas * shape.stages; ++rank) {
      handles_.push_back(builder_.AddRank({.rank = rank, .host = builder_.AddHost(absl::StrCat("h", rank))}));
    }
    for (int32_t step = 0; step < kSteps; ++step) Step();
    trace_ = builder_.Build();
    const OperationInstances matched = MatchOperations(trace_);
    const JobRoles roles = InferRoles(trace_, matched);
    stages_ = StagesOfClasses(trace_, roles, FindSteps(trace_, matched, roles));
    class_of_rank_ = roles.class_of_rank;
  }

  int32_t StageOf(int32_t rank) const {
    return stages_[static_cast<size_t>(class_of_rank_[static_cast<size_t>(rank)])];
  }
  int64_t now_ns() const { return now_ns_; }

 private:
  void Step() {
    const int32_t hops = shape_.interleaved ? 2 * shape_.stages - 1 : shape_.stages - 1;
    for (int32_t batch = 0; batch < kMicroBatches; ++batch) {
      for (int32_t hop = 0; hop < hops; ++hop) Transfer(hop % shape_.stages, (hop + 1) % shape_.stages);
    }
    for (int32_t batch = 0; batch < kMicroBatches; ++batch) {
      for (int32_t hop = hops; hop > 0; --hop) Transfer(hop % shape_.stages, (hop - 1) % shape_.stages);
    }
    for (int32_t stage = 0; shape_.reduces && stage < shape_.stages; ++stage) Reduce(stage);
  }

  void Transfer(int32_t from, int32_t to) {
    now_ns_ += kCallNs;
    for (int32_t replica = 0; replica < kReplicas; ++replica) {
      const int32_t communicator = builder_.AddCommunicator(absl::StrCat("pipe", replica), "", shape_.stages);
      const auto add = [&](int32_t stage, int32_t peer, OperationKind kind) {
        Add(communicator, stage, replica + kReplicas * stage,
            {.sequence = Next(absl::StrCat(replica, "/", from, ">", to, "/", stage)), .peer = peer, .kind = kind});
      };
      add(from, to, OperationKind::kSend);
      add(to, from, OperationKind::kRecv);
    }
  }

  void Reduce(int32_t stage) {
    now_ns_ += kCallNs;
    const int32_t communicator = builder_.AddCommunicator(absl::StrCat("data", stage), "", kReplicas);
    for (int32_t replica = 0; replica < kReplicas; ++replica) {
      const int32_t rank = replica + kReplicas * stage;
      Add(communicator, replica, rank,
          {.sequence = Next(absl::StrCat("data", rank)), .kind = OperationKind::kAllReduce});
    }
  }

  uint64_t Next(const std::string& channel) { return ++sequences_[channel]; }

  void Add(int32_t communicator, int32_t member, int32_t rank, TraceOperation operation) {
    const int32_t handle = handles_[static_cast<size_t>(rank)];
    builder_.AddMember(communicator, member, handle);
    if (now_ns_ < shape_.from_ns) return;
    operation.communicator = communicator;
    operation.enqueue_ns = operation.start_ns = now_ns_;
    operation.end_ns = now_ns_ + kCallNs / 10;
    operation.bytes = 4096;
    builder_.Add(handle, operation);
  }

  const Pipeline shape_;
  TraceBuilder builder_;
  std::vector<int32_t> handles_;
  std::map<std::string, uint64_t> sequences_;
  int64_t now_ns_ = 0;
  Trace trace_;
  std::vector<int32_t> stages_;
  std::vector<int32_t> class_of_rank_;
};

void ExpectInOrder(const Pipeline& shape) {
  const PipelineJob job(shape);
  for (int32_t rank = 0; rank < kReplicas * shape.stages; ++rank) {
    EXPECT_EQ(job.StageOf(rank), rank / kReplicas) << "rank " << rank << " from " << shape.from_ns;
  }
}

TEST(StageOrderTest, TheOrderIsThatOfTheForwardPassWhereverTheRecordingBegins) {
  const int64_t step_ns = PipelineJob({}).now_ns() / kSteps;
  for (int64_t from_ns = 0; from_ns < 2 * step_ns; from_ns += kCallNs) ExpectInOrder({.from_ns = from_ns});
  for (const int32_t stages : {2, 3, 7}) ExpectInOrder({.stages = stages, .from_ns = step_ns / 2});
}

TEST(StageOrderTest, InACircleTheLowestRankBegins) {
  const int64_t step_ns = PipelineJob({.interleaved = true}).now_ns() / kSteps;
  for (const int64_t from_ns : {int64_t{0}, step_ns / 3, step_ns / 2}) {
    ExpectInOrder({.from_ns = from_ns, .interleaved = true});
  }
}

TEST(StageOrderTest, WithoutStepsTheRecordingCountsAsOne) { ExpectInOrder({.stages = 3, .reduces = false}); }

}  // namespace
}  // namespace lockstep
