#include "detector/steps/anchor_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/shares.h"
#include "detector/model/input.h"
#include "detector/steps/anchor_period.h"
#include "detector/steps/class_anchor.h"
#include "detector/steps/step_anchor.h"

namespace lockstep {
namespace {

// Of ranks and channels: as own_time.cc.
constexpr size_t kPartsPerLane = 4;
// Of the ranks of a class, that make an anchor's call: the majority.
constexpr double kMostRanks = kMainPart;
// Of the anchor's size: calls that differ by more are others.
constexpr double kOtherSize = kFew;

bool Matches(uint64_t bytes, const AnchorCall& anchor, uint64_t anchor_bytes) {
  return !anchor.by_bytes || bytes == anchor_bytes;
}

// 0 = not known.
int64_t Between(int64_t from_ns, int64_t to_ns) { return from_ns == kNoTime || to_ns == kNoTime ? 0 : to_ns - from_ns; }

class Numbering {
 public:
  Numbering(const Trace& trace, const OperationInstances& matched, const JobRoles& roles, Executor* executor)
      : trace_(trace), matched_(matched), roles_(roles), executor_(executor) {}

  AnchorNumbers Run() {
    // A class without an anchor is cut at that of others, if there are any.
    for (const bool agree : {true, false}) {
      if (std::any_of(anchors_.begin(), anchors_.end(), [](const AnchorCall& call) { return call.known(); })) break;
      anchors_.clear();
      for (const std::vector<int32_t>& peers : roles_.classes) {
        anchors_.push_back(FindClassAnchor(trace_, matched_, roles_, peers, agree));
      }
    }
    NumberInstances();
    ChooseAnchors();
    return std::move(numbers_);
  }

 private:
  bool IsOfKind(const TraceOperation& operation, const AnchorCall& anchor) const {
    const CommunicatorRole& role = roles_.communicators[static_cast<size_t>(operation.communicator)];
    return operation.kind == anchor.kind && role.family == anchor.family;
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
