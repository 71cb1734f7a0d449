#include "detector/steps/anchor_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/model/disjoint_sets.h"
#include "detector/model/input.h"
#include "detector/steps/anchor_period.h"
#include "detector/steps/step_anchor.h"
#include "detector/steps/telling_sizes.h"

namespace lockstep {
namespace {

// Of ranks and channels: as own_time.cc.
constexpr size_t kPartsPerLane = 4;
// Of the ranks of a class, that make an anchor's call: the majority.
constexpr double kMostRanks = kMainPart;
// Of the time of the longest kind of call, each as it usually is without waits: what is less is latency.
constexpr double kSlightTime = kFew;
constexpr size_t kSampledTransfers = 64;  // budget of time
// Of the anchor's size: calls that differ by more are others.
constexpr double kOtherSize = kFew;

struct AnchorCall {
  int32_t family = -1;
  OperationKind kind = OperationKind::kUnknown;
  uint64_t bytes = 0;
  bool by_bytes = false;
  uint32_t per_step = 1;
  StretchMeasure measure = StretchMeasure::kCalls;

  bool known() const { return kind != OperationKind::kUnknown; }
  bool operator==(const AnchorCall&) const = default;
};

class Numbering {
 public:
  Numbering(const Trace& trace, const OperationInstances& matched, const JobRoles& roles, Executor* executor)
      : trace_(trace), matched_(matched), roles_(roles), executor_(executor) {}

  AnchorNumbers Run() {
    // A class without an anchor is cut at that of others, if there are any.
    for (const bool agree : {true, false}) {
      if (std::any_of(anchors_.begin(), anchors_.end(), [](const AnchorCall& call) { return call.known(); })) break;
      anchors_.clear();
      for (const std::vector<int32_t>& peers : roles_.classes) anchors_.push_back(AnchorOf(peers, agree));
    }
    NumberInstances();
    ChooseAnchors();
    return std::move(numbers_);
  }

 private:
  int32_t FamilyOf(const TraceOperation& operation) const {
    return roles_.communicators[static_cast<size_t>(operation.communicator)].family;
  }

  bool IsOfKind(const TraceOperation& operation, const AnchorCall& anchor) const {
    return operation.kind == anchor.kind && FamilyOf(operation) == anchor.family;
  }

  static bool Matches(uint64_t bytes, const AnchorCall& anchor, uint64_t anchor_bytes) {
    return !anchor.by_bytes || bytes == anchor_bytes;
  }

  // The size that the anchor's calls have in the channel: groups of equal duty may hold parts of slightly other sizes.
  // None = the channel makes no such call.
  std::optional<uint64_t> BytesIn(const OperationChannel& channel, const AnchorCall& anchor) const {
    std::optional<uint64_t> nearest;
    double least = kOtherSize * static_cast<double>(anchor.bytes);
    for (uint32_t i = channel.first_instance; i < channel.first_instance + channel.instances; ++i) {
      const TraceOperation& operation = trace_.operations[matched_.members[matched_.instances[i].first_member]];
      if (!IsOfKind(operation, anchor)) continue;
      if (Matches(operation.bytes, anchor, anchor.bytes)) return anchor.bytes;
      const double distance = std::abs(static_cast<double>(operation.bytes) - static_cast<double>(anchor.bytes));
      if (distance >= least) continue;
      least = distance;
      nearest = operation.bytes;
    }
    return nearest;
  }

  // From the peer with the most records.
  AnchorCall AnchorOf(const std::vector<int32_t>& peers, bool agree) const {
    size_t richest = static_cast<size_t>(peers.front());
    for (const int32_t peer : peers) {
      if (trace_.OperationsOf(static_cast<size_t>(peer)).size() > trace_.OperationsOf(richest).size()) {
        richest = static_cast<size_t>(peer);
      }
    }
    const absl::Span<const TraceOperation> operations = trace_.OperationsOf(richest);
    const std::set<std::pair<int32_t, OperationKind>> telling = WithTellingSizes(operations);
    std::map<std::tuple<int32_t, OperationKind, uint64_t, int32_t>, int32_t> numbers;
    std::vector<AnchorCall> calls;
    std::vector<CallKind> kinds;
    std::vector<std::vector<int64_t>> transfers_ns;  // by kind
    std::vector<int32_t> history;
    std::vector<int64_t> launched_ns, begun_ns;
    for (size_t i = trace_.first_operation[richest]; i < trace_.first_operation[richest + 1]; ++i) {
      const TraceOperation& operation = trace_.operations[i];
      const bool one_sided = IsSendOrRecv(operation.kind);
      const int32_t family = FamilyOf(operation);
      const bool by_bytes = !one_sided && telling.contains({family, operation.kind});
      const auto key =
          std::make_tuple(family, operation.kind, by_bytes ? operation.bytes : 0, one_sided ? operation.peer : -1);
      const auto [it, added] = numbers.try_emplace(key, static_cast<int32_t>(calls.size()));
      if (added) {
        const size_t members = trace_.communicators[static_cast<size_t>(operation.communicator)].members.size();
        calls.push_back({family, operation.kind, operation.bytes, by_bytes});
        kinds.push_back({one_sided ? 0 : static_cast<int32_t>(members), by_bytes && operation.bytes > 0});
        transfers_ns.emplace_back();
      }
      std::vector<int64_t>& known = transfers_ns[static_cast<size_t>(it->second)];
      if (!one_sided && operation.bytes == 0 && known.size() < kSampledTransfers) AddTransfer(i, &known);
      history.push_back(it->second);
      launched_ns.push_back(LaunchOf(operation));
      begun_ns.push_back(operation.start_ns);
    }
    MarkSlight(calls, &transfers_ns, &kinds);
    std::map<std::set<int32_t>, size_t> parts_with;  // by families; candidates have few different ones
    const auto parts = [&](const std::vector<int32_t>& some) {
      std::set<int32_t> families;
      for (const int32_t kind : some) families.insert(calls[static_cast<size_t>(kind)].family);
      const auto [known, added] = parts_with.try_emplace(std::move(families), 0);
      if (added) known->second = PartsOfPeers(peers, known->first);
      return known->second;
    };
    const StepAnchor anchor = FindAnchor({history, launched_ns, begun_ns, kinds, parts}, agree);
    if (anchor.kind < 0) return AnchorCall{};
    AnchorCall call = calls[static_cast<size_t>(anchor.kind)];
    call.per_step = anchor.per_step;
    call.measure = anchor.measure;
    return call;
  }

  // Into how many the peers fall that groups of these families connect.
  size_t PartsOfPeers(const std::vector<int32_t>& peers, const std::set<int32_t>& families) const {
    const int32_t number = roles_.class_of_rank[static_cast<size_t>(peers.front())];
    DisjointSets connected(trace_.ranks.size());
    for (size_t c = 0; c < trace_.communicators.size(); ++c) {
      if (!families.contains(roles_.communicators[c].family)) continue;
      int32_t before = -1;
      for (const int32_t member : trace_.communicators[c].members) {
        if (member < 0 || roles_.class_of_rank[static_cast<size_t>(member)] != number) continue;
        if (before >= 0) connected.Join(before, member);
        before = member;
      }
    }
    return static_cast<size_t>(
        std::count_if(peers.begin(), peers.end(), [&](int32_t peer) { return connected.Find(peer) == peer; }));
  }

  // What the last member to come spends inside.
  void AddTransfer(size_t operation, std::vector<int64_t>* transfers_ns) const {
    const uint32_t instance = matched_.instance_of[operation];
    if (instance == kNoInstance) return;
    int64_t quickest_ns = std::numeric_limits<int64_t>::max();
    for (const uint32_t member : matched_.MembersOf(matched_.instances[instance])) {
      const TraceOperation& of_member = trace_.operations[member];
      if (of_member.started() && of_member.finished()) quickest_ns = std::min(quickest_ns, of_member.duration_ns());
    }
    if (quickest_ns < std::numeric_limits<int64_t>::max()) transfers_ns->push_back(quickest_ns);
  }

  // Where sizes are not recorded, times tell. Calls of several sizes may be of one kind: the longer ones count.
  static void MarkSlight(const std::vector<AnchorCall>& calls, std::vector<std::vector<int64_t>>* transfers_ns,
                         std::vector<CallKind>* kinds) {
    std::vector<int64_t> usual_ns;
    for (std::vector<int64_t>& known : *transfers_ns) {
      std::sort(known.begin(), known.end());
      usual_ns.push_back(known.empty() ? 0 : known[known.size() * 3 / 4]);
    }
    const auto longest_ns = static_cast<double>(*std::max_element(usual_ns.begin(), usual_ns.end()));
    for (size_t kind = 0; kind < kinds->size(); ++kind) {
      const AnchorCall& call = calls[kind];
      const bool known = call.bytes > 0 || IsSendOrRecv(call.kind) || usual_ns[kind] == 0;
      const bool is_quick = !known && static_cast<double>(usual_ns[kind]) < kSlightTime * longest_ns;
      const bool is_small = call.bytes > 0 && call.bytes < kMuchBytes;
      (*kinds)[kind].slight = call.kind == OperationKind::kBarrier || is_quick || is_small;
    }
    // Where nothing else is called, it has to do.
    const bool all = std::all_of(kinds->begin(), kinds->end(), [](const CallKind& kind) { return kind.slight; });
    for (CallKind& kind : *kinds) kind.slight = kind.slight && !all;
  }

  // Kinds of calls of which the sizes tell which they are.
  std::set<std::pair<int32_t, OperationKind>> WithTellingSizes(absl::Span<const TraceOperation> operations) const {
    std::map<std::pair<int32_t, OperationKind>, std::vector<uint64_t>> sizes;
    for (const TraceOperation& operation : operations) {
      sizes[{FamilyOf(operation), operation.kind}].push_back(operation.bytes);
    }
    std::set<std::pair<int32_t, OperationKind>> telling;
    for (const auto& [kind, bytes] : sizes) {
      if (SizesTell(bytes)) telling.insert(kind);
    }
    return telling;
  }

  // Where a host runs ahead, its launches tell what the program does, and begins what others do.
  static int64_t LaunchOf(const TraceOperation& operation) {
    return operation.enqueue_ns != kNoTime ? operation.enqueue_ns : operation.start_ns;
  }

  // 0 = not known.
  static int64_t Between(int64_t from_ns, int64_t to_ns) {
    return from_ns == kNoTime || to_ns == kNoTime ? 0 : to_ns - from_ns;
  }

  // Numbers the anchor's instances within their communicator.
  void NumberInstances() {
    numbers_.of_instance.assign(matched_.instances.size(), AnchorNumbers::kNone);
    numbers_.of_channel.assign(matched_.channels.size(), -1);
    const size_t channels = matched_.channels.size();
    RunParts(executor_, channels, PartsOf(executor_, channels, kPartsPerLane),
             [this](size_t, size_t begin, size_t end) {
               for (size_t i = begin; i < end; ++i) NumberInstancesOf(i);
             });
  }

  void NumberInstancesOf(size_t channel_index) {
    const OperationChannel& channel = matched_.channels[channel_index];
    if (channel.collective()) numbers_.of_channel[channel_index] = AnchorOfChannel(channel);
    if (numbers_.of_channel[channel_index] < 0) return;
    const AnchorCall& anchor = anchors_[static_cast<size_t>(numbers_.of_channel[channel_index])];
    const uint64_t bytes = BytesIn(channel, anchor).value_or(anchor.bytes);
    int32_t number = 0;
    for (uint32_t i = channel.first_instance; i < channel.first_instance + channel.instances; ++i) {
      const TraceOperation& operation = trace_.operations[matched_.members[matched_.instances[i].first_member]];
      if (!IsOfKind(operation, anchor) || !Matches(operation.bytes, anchor, bytes) || number >= kMaxSteps) continue;
      numbers_.of_instance[i] = number++;
    }
    if (anchor.per_step > 1) KeepLastOfSteps(channel, anchor);
  }

  // Of several anchors per step the one behind which the next step begins, with its long stretch, numbers the step.
  void KeepLastOfSteps(const OperationChannel& channel, const AnchorCall& anchor) {
    const auto per_step = static_cast<int32_t>(anchor.per_step);
    const uint32_t first_member = matched_.members[matched_.instances[channel.first_instance].first_member];
    const auto first_rank = static_cast<size_t>(matched_.rank_of[first_member]);
    const int32_t last = LastOfStep(first_rank, channel, anchor);
    for (uint32_t i = channel.first_instance; i < channel.first_instance + channel.instances; ++i) {
      int32_t& number = numbers_.of_instance[i];
      if (number == AnchorNumbers::kNone) continue;
      number = number % per_step == last ? number / per_step : AnchorNumbers::kNone;
    }
  }

  // Its number modulo those per step, as the calls of this member tell.
  int32_t LastOfStep(size_t rank, const OperationChannel& channel, const AnchorCall& anchor) const {
    std::vector<int64_t> stretches;
    std::vector<int32_t> numbers;  // of the anchors that these begin behind
    int32_t last = AnchorNumbers::kNone;
    int64_t calls = 0, last_ns = 0;
    const auto time_of = [&](const TraceOperation& operation) {
      return anchor.measure == StretchMeasure::kBegins ? operation.start_ns : LaunchOf(operation);
    };
    for (size_t i = trace_.first_operation[rank]; i < trace_.first_operation[rank + 1]; ++i) {
      ++calls;
      const uint32_t instance = matched_.instance_of[i];
      if (instance < channel.first_instance || instance >= channel.first_instance + channel.instances) continue;
      const int32_t number = numbers_.of_instance[instance];
      if (number == AnchorNumbers::kNone) continue;
      if (last != AnchorNumbers::kNone && number == last + 1) {
        const bool by_calls = anchor.measure == StretchMeasure::kCalls;
        stretches.push_back(by_calls ? calls : Between(last_ns, time_of(trace_.operations[i])));
        numbers.push_back(last);
      }
      last = number;
      last_ns = time_of(trace_.operations[i]);
      calls = 0;
    }
    const std::vector<char> is_long = LongStretches(stretches);
    std::vector<int> votes(anchor.per_step, 0);
    for (size_t i = 0; i < numbers.size(); ++i) votes[static_cast<size_t>(numbers[i]) % anchor.per_step] += is_long[i];
    return static_cast<int32_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
  }

  // Of the anchors of the members' classes that occur in the channel, that of most members: the first class that has
  // it; -1 = none occurs.
  int32_t AnchorOfChannel(const OperationChannel& channel) const {
    std::map<size_t, int> classes;
    for (const int32_t rank : trace_.communicators[static_cast<size_t>(channel.communicator)].members) {
      if (rank >= 0) ++classes[static_cast<size_t>(roles_.class_of_rank[static_cast<size_t>(rank)])];
    }
    int32_t best = -1;
    int most = 0;
    for (const auto& [candidate, unused] : classes) {
      int members = 0;
      for (const auto& [other, count] : classes) members += anchors_[other] == anchors_[candidate] ? count : 0;
      if (members <= most || !BytesIn(channel, anchors_[candidate]).has_value()) continue;
      const auto first = std::find(anchors_.begin(), anchors_.end(), anchors_[candidate]);
      best = static_cast<int32_t>(first - anchors_.begin());
      most = members;
    }
    return best;
  }

  // Those that a rank makes, rising.
  std::vector<int32_t> AnchorsOf(size_t rank) const {
    std::vector<int32_t> made;
    for (size_t i = trace_.first_operation[rank]; i < trace_.first_operation[rank + 1]; ++i) {
      const int32_t anchor = numbers_.AnchorAt(matched_, i);
      const auto at = std::lower_bound(made.begin(), made.end(), anchor);
      if (anchor >= 0 && (at == made.end() || *at != anchor)) made.insert(at, anchor);
    }
    return made;
  }

  void ChooseAnchors() {
    std::vector<std::vector<int32_t>> made(trace_.ranks.size());
    RunParts(executor_, made.size(), PartsOf(executor_, made.size(), kPartsPerLane),
             [&](size_t, size_t begin, size_t end) {
               for (size_t rank = begin; rank < end; ++rank) made[rank] = AnchorsOf(rank);
             });
    std::vector<size_t> of_job(anchors_.size(), 0);
    for (const std::vector<int32_t>& of_rank : made) {
      for (const int32_t anchor : of_rank) ++of_job[static_cast<size_t>(anchor)];
    }
    for (size_t c = 0; c < roles_.classes.size(); ++c) {
      std::map<int32_t, size_t> of_class;
      for (const int32_t rank : roles_.classes[c]) {
        for (const int32_t anchor : made[static_cast<size_t>(rank)]) ++of_class[anchor];
      }
      int32_t best = -1;
      std::pair<size_t, bool> most;
      for (const auto& [anchor, ranks] : of_class) {
        const auto at = static_cast<size_t>(anchor);
        if (static_cast<double>(ranks) < kMostRanks * static_cast<double>(roles_.classes[c].size())) continue;
        const std::pair<size_t, bool> worth(of_job[at], anchors_[at] == anchors_[c]);
        if (best < 0 || worth > most) std::tie(best, most) = std::tie(anchor, worth);
      }
      numbers_.of_class.push_back(best);
    }
  }

  const Trace& trace_;
  const OperationInstances& matched_;
  const JobRoles& roles_;
  Executor* const executor_;
  std::vector<AnchorCall> anchors_;  // by class; equal ones are one, and have the number of the first class
  AnchorNumbers numbers_;
};

}  // namespace

AnchorNumbers NumberAnchors(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                            Executor* executor) {
  return Numbering(trace, matched, roles, executor).Run();
}

}  // namespace lockstep
