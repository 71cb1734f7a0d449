#include "detector/model/roles.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "detector/model/call_signatures.h"
#include "detector/model/communicator_families.h"
#include "detector/model/disjoint_sets.h"
#include "detector/model/input.h"
#include "detector/model/operation_mix.h"
#include "detector/model/pipelines.h"

namespace lockstep {
namespace {

// Not calibrated, by judgement: only their order counts.
constexpr double kHintConfidence = 0.95;
constexpr double kMixConfidence = 0.9;
constexpr double kShapeConfidence = 0.7;

struct HintWord {
  absl::string_view word;
  GroupRole role;
};

// In this order: "expert_data_parallel" is a data group.
constexpr HintWord kHintWords[] = {
    {"data", GroupRole::kData},        {"dp", GroupRole::kData},          {"tensor", GroupRole::kTensor},
    {"tp", GroupRole::kTensor},        {"expert", GroupRole::kExpert},    {"ep", GroupRole::kExpert},
    {"context", GroupRole::kContext},  {"cp", GroupRole::kContext},       {"pipe", GroupRole::kPipeline},
    {"pp", GroupRole::kPipeline},      {"emb", GroupRole::kAcrossStages}, {"world", GroupRole::kWorld},
    {"default_pg", GroupRole::kWorld},
};

class Inference {
 public:
  Inference(const Trace& trace, const OperationInstances& matched, Executor* executor)
      : trace_(trace),
        mixes_(MixOperations(trace, executor)),
        pipelines_(FindPipelines(trace, matched, mixes_)),
        peers_(trace.ranks.size()) {}

  JobRoles Run() {
    roles_.communicators.resize(trace_.communicators.size());
    if (!pipelines_.any) signatures_ = SignCalls(trace_);
    JoinPeers();
    NumberClasses();
    NumberFamilies();
    for (size_t i = 0; i < trace_.communicators.size(); ++i) GiveRole(i);
    roles_.pipeline_of_rank = std::move(pipelines_.of_rank);
    return std::move(roles_);
  }

 private:
  const std::vector<int32_t>& Members(size_t communicator) const { return trace_.communicators[communicator].members; }

  bool InsideStage(size_t communicator) const {
    const std::vector<int32_t>& members = Members(communicator);
    if (mixes_[communicator].collectives == 0) return pipelines_.equal_senders[communicator] != 0;
    std::vector<int32_t> pipelines;
    int32_t first = -1;
    for (const int32_t member : members) {
      if (member < 0) continue;
      if (first < 0) first = member;
      if (pipelines_.any) {
        const int32_t pipeline = pipelines_.of_rank[static_cast<size_t>(member)];
        if (pipeline >= 0) pipelines.push_back(pipeline);
      } else if (signatures_[static_cast<size_t>(member)] != signatures_[static_cast<size_t>(first)]) {
        return false;
      }
    }
    std::sort(pipelines.begin(), pipelines.end());
    return std::adjacent_find(pipelines.begin(), pipelines.end()) == pipelines.end();
  }

  void JoinPeers() {
    for (size_t communicator = 0; communicator < trace_.communicators.size(); ++communicator) {
      CommunicatorRole& role = roles_.communicators[communicator];
      role.inside_stage = InsideStage(communicator);
      if (!role.inside_stage) continue;
      int32_t first = -1;
      for (const int32_t member : Members(communicator)) {
        if (member >= 0 && first < 0) first = member;
        if (member >= 0) peers_.Join(first, member);
      }
    }
  }

  void NumberClasses() {
    roles_.class_of_rank.assign(trace_.ranks.size(), -1);
    std::vector<int32_t> class_of_root(trace_.ranks.size(), -1);
    for (size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      int32_t& number = class_of_root[static_cast<size_t>(peers_.Find(static_cast<int32_t>(rank)))];
      if (number < 0) {
        number = static_cast<int32_t>(roles_.classes.size());
        roles_.classes.emplace_back();
      }
      roles_.class_of_rank[rank] = number;
      roles_.classes[static_cast<size_t>(number)].push_back(static_cast<int32_t>(rank));
    }
  }

  void NumberFamilies() {
    std::vector<CommunicatorUse> uses;
    for (size_t i = 0; i < trace_.communicators.size(); ++i) {
      DescribeMembers(i);
      const OperationMix& mix = mixes_[i];
      uses.push_back({.on_one_host = roles_.communicators[i].on_one_host,
                      .inside_stage = roles_.communicators[i].inside_stage,
                      .exchanges = mix.all_to_alls * 2 > mix.collectives,
                      .calls = mix.collectives > 0 ? mix.collectives : mix.sends});
    }
    const CommunicatorFamilies families = FindFamilies(trace_, uses);
    roles_.families = families.count;
    for (size_t i = 0; i < uses.size(); ++i) roles_.communicators[i].family = families.of[i];
  }

  void DescribeMembers(size_t communicator) {
    CommunicatorRole& role = roles_.communicators[communicator];
    std::set<int32_t> hosts;
    size_t known = 0;
    for (const int32_t member : Members(communicator)) {
      if (member < 0) continue;
      ++known;
      if (hosts.size() < 2) hosts.insert(trace_.ranks[static_cast<size_t>(member)].host);
    }
    role.on_one_host = hosts.size() == 1 && known > 1 && *hosts.begin() >= 0;
    const auto collectives = static_cast<double>(mixes_[communicator].collectives);
    role.calls_per_member = known == 0 ? 0 : collectives / static_cast<double>(known);
  }

  void GiveRole(size_t communicator) {
    CommunicatorRole& role = roles_.communicators[communicator];
    if (Members(communicator).size() < 2) return;  // whatever it is called, it connects nobody
    const std::string hint = absl::AsciiStrToLower(trace_.communicators[communicator].hint);
    for (const HintWord& known : kHintWords) {
      if (hint.empty() || !absl::StrContains(hint, known.word)) continue;
      role.role = known.role;
      role.confidence = kHintConfidence;
      return;
    }
    const OperationMix& mix = mixes_[communicator];
    role.confidence = kShapeConfidence;
    if (mix.collectives == 0 && mix.sends > 0) {
      role.role = role.inside_stage ? GroupRole::kContext : GroupRole::kPipeline;
      role.confidence = kMixConfidence;
    } else if (!role.inside_stage) {
      const bool all = Members(communicator).size() >= trace_.ranks.size() + trace_.missing_ranks.size();
      role.role = all ? GroupRole::kWorld : GroupRole::kAcrossStages;
    } else if (mix.all_to_alls * 2 > mix.collectives) {
      role.role = GroupRole::kExpert;
      role.confidence = kMixConfidence;
    } else {
      role.role = BusiestOfItsMembers(communicator) ? GroupRole::kTensor : GroupRole::kData;
    }
  }

  // Tensor groups sit on one host and are called several times in every layer; data groups a few times per step.
  bool BusiestOfItsMembers(size_t communicator) const {
    const CommunicatorRole& role = roles_.communicators[communicator];
    if (!role.on_one_host) return false;
    if (quietest_of_class_.empty()) FindQuietest();
    int32_t first = -1;
    for (const int32_t member : Members(communicator)) first = first < 0 ? member : first;
    const auto number = static_cast<size_t>(roles_.class_of_rank[static_cast<size_t>(first)]);
    return role.calls_per_member > 2 * quietest_of_class_[number];
  }

  void FindQuietest() const {
    quietest_of_class_.assign(roles_.classes.size(), -1);
    for (size_t i = 0; i < trace_.communicators.size(); ++i) {
      const CommunicatorRole& role = roles_.communicators[i];
      if (!role.inside_stage || role.calls_per_member == 0) continue;
      for (const int32_t member : Members(i)) {
        if (member < 0) continue;
        double& quietest = quietest_of_class_[static_cast<size_t>(roles_.class_of_rank[static_cast<size_t>(member)])];
        if (quietest < 0 || role.calls_per_member < quietest) quietest = role.calls_per_member;
        break;
      }
    }
  }

  const Trace& trace_;
  const std::vector<OperationMix> mixes_;  // by communicator
  Pipelines pipelines_;
  DisjointSets peers_;
  std::vector<uint64_t> signatures_;  // by rank; of jobs without pipelines
  mutable std::vector<double> quietest_of_class_;
  JobRoles roles_;
};

}  // namespace

const char* Name(GroupRole role) {
  static constexpr const char* kNames[] = {"group",        "tensor group",   "context group",           "data group",
                                           "expert group", "pipeline group", "group of several stages", "all ranks"};
  return kNames[static_cast<size_t>(role)];
}

JobRoles InferRoles(const Trace& trace, const OperationInstances& matched, Executor* executor) {
  return Inference(trace, matched, executor).Run();
}

}  // namespace lockstep
