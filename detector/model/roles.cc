#include "detector/model/roles.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/shares.h"
#include "detector/model/communicator_families.h"
#include "detector/model/disjoint_sets.h"
#include "detector/model/input.h"
#include "detector/model/one_way_rings.h"
#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

// A member of a pipeline talks to the stage before and the one after; in an all-to-all of Send/Recv to many.
constexpr size_t kMaxPipelinePeers = 2;
// Not calibrated, by judgement: only their order counts.
constexpr double kHintConfidence = 0.95;
constexpr double kMixConfidence = 0.9;
constexpr double kShapeConfidence = 0.7;

// Of the collectives of a group, that are so large; a checkpoint or a start makes fewer.
constexpr double kMinLarge = kFew;
// Those that share an embedding are two stages, and reduce as much.
constexpr size_t kMaxSharers = 2;

// Calls that no rank makes more often, and that are few of its calls: a checkpoint's, of which a burst of losses leaves
// none. By judgement, not measured.
constexpr uint64_t kFewCalls = 8;

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

// What a communicator is used for.
struct Usage {
  uint64_t collectives = 0;
  uint64_t all_to_alls = 0;
  uint64_t sends = 0;
  uint64_t large = 0;  // collectives that reduce or gather much

  void Note(const TraceOperation& operation) {
    const OperationKind kind = operation.kind;
    const bool one_sided = IsSendOrRecv(kind);
    sends += one_sided;
    collectives += !one_sided;
    all_to_alls += kind == OperationKind::kAllToAll;
    const bool gathers = kind == OperationKind::kAllReduce || kind == OperationKind::kAllGather;
    // What each gets a part of is much, also where sizes are not recorded.
    large += kind == OperationKind::kReduceScatter || (gathers && operation.bytes >= kMuchBytes);
  }
  void Add(const Usage& other) {
    collectives += other.collectives;
    all_to_alls += other.all_to_alls;
    sends += other.sends;
    large += other.large;
  }
};

class Inference {
 public:
  Inference(const Trace& trace, const OperationInstances& matched, Executor* executor)
      : trace_(trace),
        matched_(matched),
        executor_(executor),
        pipelines_(trace.ranks.size()),
        peers_(trace.ranks.size()) {}

  JobRoles Run() {
    roles_.communicators.resize(trace_.communicators.size());
    CountUsage();
    FindEqualSenders();
    JoinPipelines();
    if (!any_pipeline_) SignRanks();
    JoinPeers();
    NumberClasses();
    NumberFamilies();
    for (size_t i = 0; i < trace_.communicators.size(); ++i) GiveRole(i);
    return std::move(roles_);
  }

 private:
  const std::vector<int32_t>& Members(size_t communicator) const { return trace_.communicators[communicator].members; }

  int32_t Member(int32_t communicator, int32_t place) const {
    const std::vector<int32_t>& members = Members(static_cast<size_t>(communicator));
    return place >= 0 && static_cast<size_t>(place) < members.size() ? members[static_cast<size_t>(place)] : -1;
  }

  void CountUsage() {
    usage_.resize(trace_.communicators.size());
    const size_t parts = PartsOf(executor_, trace_.operations.size());
    std::vector<std::vector<Usage>> of_part(parts, usage_);
    RunParts(executor_, trace_.operations.size(), parts, [&](size_t part, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const TraceOperation& operation = trace_.operations[i];
        of_part[part][static_cast<size_t>(operation.communicator)].Note(operation);
      }
    });
    for (const std::vector<Usage>& part : of_part) {
      for (size_t i = 0; i < usage_.size(); ++i) usage_[i].Add(part[i]);
    }
  }

  // What is reduced together belongs to the same layers, so that those who send to one another there are no stages.
  bool ReduceTogether(int32_t a, int32_t b) const {
    const std::vector<size_t>&of_a = reduces_in_[static_cast<size_t>(a)], &of_b = reduces_in_[static_cast<size_t>(b)];
    return std::find_first_of(of_a.begin(), of_a.end(), of_b.begin(), of_b.end()) != of_a.end();
  }

  // Communicators in which equals send to one another.
  void FindEqualSenders() {
    reduces_in_.resize(trace_.ranks.size());
    for (size_t i = 0; i < trace_.communicators.size(); ++i) {
      const bool reduces = usage_[i].large > 0 && static_cast<double>(usage_[i].large) >=
                                                      kMinLarge * static_cast<double>(usage_[i].collectives);
      if (!reduces || Members(i).size() <= kMaxSharers) continue;
      for (const int32_t member : Members(i)) {
        if (member >= 0) reduces_in_[static_cast<size_t>(member)].push_back(i);
      }
    }
    const std::vector<char> rings = FindOneWayRings(trace_, matched_);
    std::vector<char> equal(trace_.communicators.size(), 0), unequal(trace_.communicators.size(), 0);
    for (const OperationChannel& channel : matched_.channels) {
      if (channel.collective()) continue;
      const int32_t source = Member(channel.communicator, channel.source);
      const int32_t destination = Member(channel.communicator, channel.destination);
      if (source < 0 || destination < 0) continue;
      (ReduceTogether(source, destination) ? equal : unequal)[static_cast<size_t>(channel.communicator)] = 1;
    }
    equal_senders_.assign(trace_.communicators.size(), 0);
    for (size_t i = 0; i < equal_senders_.size(); ++i) {
      equal_senders_[i] = rings[i] != 0 || (equal[i] != 0 && unequal[i] == 0) ? 1 : 0;
    }
  }

  bool SendsToEquals(const OperationChannel& channel) const {
    return equal_senders_[static_cast<size_t>(channel.communicator)] != 0;
  }

  void JoinPipelines() {
    roles_.pipeline_of_rank.assign(trace_.ranks.size(), -1);
    std::map<std::pair<int32_t, int32_t>, std::set<int32_t>> partners;  // (communicator, place) -> places
    for (const OperationChannel& channel : matched_.channels) {
      if (channel.collective() || SendsToEquals(channel)) continue;
      partners[{channel.communicator, channel.source}].insert(channel.destination);
      partners[{channel.communicator, channel.destination}].insert(channel.source);
    }
    for (const OperationChannel& channel : matched_.channels) {
      if (channel.collective() || SendsToEquals(channel) ||
          partners[{channel.communicator, channel.source}].size() > kMaxPipelinePeers ||
          partners[{channel.communicator, channel.destination}].size() > kMaxPipelinePeers) {
        continue;
      }
      const int32_t source = Member(channel.communicator, channel.source);
      const int32_t destination = Member(channel.communicator, channel.destination);
      if (source < 0 || destination < 0) continue;
      pipelines_.Join(source, destination);
      roles_.pipeline_of_rank[static_cast<size_t>(source)] = 0;
      roles_.pipeline_of_rank[static_cast<size_t>(destination)] = 0;
      any_pipeline_ = true;
    }
    for (size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      int32_t& pipeline = roles_.pipeline_of_rank[rank];
      if (pipeline == 0) pipeline = pipelines_.Find(static_cast<int32_t>(rank));
    }
  }

  // What is done, and the size of the group that does it.
  using CallKind = std::pair<int, size_t>;

  std::map<CallKind, uint64_t> CallsOf(size_t rank) const {
    absl::flat_hash_map<uint64_t, uint64_t> counts;
    for (const TraceOperation& operation : trace_.OperationsOf(rank)) {
      ++counts[static_cast<uint64_t>(operation.communicator) * 16 + static_cast<uint64_t>(operation.kind)];
    }
    std::map<CallKind, uint64_t> calls;
    for (const auto& [key, count] : counts) calls[{static_cast<int>(key % 16), Members(key / 16).size()}] += count;
    return calls;
  }

  // Which kinds of calls on groups of which size each rank makes. All records of what is done a few times may be lost.
  void SignRanks() {
    const size_t ranks = trace_.ranks.size();
    std::vector<std::map<CallKind, uint64_t>> calls(ranks);
    std::map<CallKind, uint64_t> most;
    uint64_t longest = 0;
    for (size_t rank = 0; rank < ranks; ++rank) {
      calls[rank] = CallsOf(rank);
      for (const auto& [kind, count] : calls[rank]) most[kind] = std::max(most[kind], count);
      longest = std::max<uint64_t>(longest, trace_.OperationsOf(rank).size());
    }
    signature_.assign(ranks, 0);
    std::map<std::set<CallKind>, uint64_t> numbers;
    for (size_t rank = 0; rank < ranks; ++rank) {
      std::set<CallKind> regular;
      for (const auto& [kind, count] : calls[rank]) {
        const bool is_rare =
            most[kind] < kFewCalls && static_cast<double>(most[kind]) < kFew * static_cast<double>(longest);
        if (!is_rare) regular.insert(kind);
      }
      signature_[rank] = numbers.try_emplace(std::move(regular), numbers.size()).first->second;
    }
  }

  bool InsideStage(size_t communicator) const {
    const std::vector<int32_t>& members = Members(communicator);
    if (usage_[communicator].collectives == 0) return equal_senders_[communicator] != 0;
    std::vector<int32_t> pipelines;
    int32_t first = -1;
    for (const int32_t member : members) {
      if (member < 0) continue;
      if (first < 0) first = member;
      if (any_pipeline_) {
        const int32_t pipeline = roles_.pipeline_of_rank[static_cast<size_t>(member)];
        if (pipeline >= 0) pipelines.push_back(pipeline);
      } else if (signature_[static_cast<size_t>(member)] != signature_[static_cast<size_t>(first)]) {
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
      const Usage& usage = usage_[i];
      uses.push_back({.on_one_host = roles_.communicators[i].on_one_host,
                      .inside_stage = roles_.communicators[i].inside_stage,
                      .exchanges = usage.all_to_alls * 2 > usage.collectives,
                      .calls = usage.collectives > 0 ? usage.collectives : usage.sends});
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
    const auto collectives = static_cast<double>(usage_[communicator].collectives);
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
    const Usage& usage = usage_[communicator];
    role.confidence = kShapeConfidence;
    if (usage.collectives == 0 && usage.sends > 0) {
      role.role = role.inside_stage ? GroupRole::kContext : GroupRole::kPipeline;
      role.confidence = kMixConfidence;
    } else if (!role.inside_stage) {
      const bool all = Members(communicator).size() >= trace_.ranks.size() + trace_.missing_ranks.size();
      role.role = all ? GroupRole::kWorld : GroupRole::kAcrossStages;
    } else if (usage.all_to_alls * 2 > usage.collectives) {
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
  const OperationInstances& matched_;
  Executor* const executor_;
  DisjointSets pipelines_;
  DisjointSets peers_;
  bool any_pipeline_ = false;
  std::vector<Usage> usage_;
  std::vector<std::vector<size_t>> reduces_in_;  // by rank: communicators in which it reduces or gathers much
  std::vector<char> equal_senders_;              // by communicator
  std::vector<uint64_t> signature_;              // by rank; of jobs without pipelines
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
