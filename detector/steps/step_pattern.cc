#include "detector/steps/step_pattern.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/types/span.h"
#include "base/median.h"
#include "base/shares.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

// Whole steps that tell the middle: a budget of time.
constexpr size_t kMaxWhole = 64;
// That tell what a rank needs before a call, and how far they may be: the fewest of which a median leaves one out.
constexpr size_t kNearSteps = 3;
constexpr int32_t kFarthestStep = 8;
// Of the calls, that tell how the step differs from others: the majority.
constexpr double kMinRecorded = kMainPart;

// Index of the instance with this number; kNoInstance = nobody recorded it.
uint32_t InstanceAt(const OperationInstances& matched, int32_t channel, int64_t sequence) {
  const OperationChannel& of = matched.channels[static_cast<size_t>(channel)];
  const absl::Span<const OperationInstance> instances = matched.InstancesOf(of);
  const auto at = std::lower_bound(instances.begin(), instances.end(), sequence,
                                   [](const OperationInstance& instance, int64_t wanted) {
                                     return static_cast<int64_t>(instance.sequence) < wanted;
                                   });
  if (at == instances.end() || static_cast<int64_t>(at->sequence) != sequence) return kNoInstance;
  return of.first_instance + static_cast<uint32_t>(at - instances.begin());
}

}  // namespace

const std::vector<PatternCall>& StepPattern::Complete(size_t rank, int32_t step) {
  calls_.clear();
  if (analysis_.whole_steps.empty() || IsWhole(rank, step)) return calls_;
  const Pattern& pattern = PatternOf(rank);
  if (pattern.calls.empty()) return calls_;
  const RankChannels& own = ChannelsFor(rank, pattern);
  if (own.channel.empty()) return calls_;
  const StepRange range = RecordsAround(rank, step);
  calls_ = pattern.calls;
  size_t recorded = 0;
  for (uint32_t i = range.begin; i < range.end; ++i) {
    const uint32_t at = PositionOf(pattern, own, i, step);
    if (at == kNoOperation) {
      if (!range.complete) continue;
      calls_.clear();  // something else happened in this step
      return calls_;
    }
    calls_[at].recorded = i;
    calls_[at].instance = analysis_.matched.instance_of[i];
    ++recorded;
  }
  const bool is_known = static_cast<double>(recorded) >= kMinRecorded * static_cast<double>(calls_.size());
  if (is_known && FindLost(rank, step, pattern, own)) {
    TakeOwn(rank, step, range, pattern, own);
  } else {
    calls_.clear();
  }
  return calls_;
}

bool StepPattern::IsWhole(size_t rank, int32_t step) const {
  return analysis_.whole_steps[rank * static_cast<size_t>(analysis_.steps.steps) + static_cast<size_t>(step)] != 0;
}

const StepPattern::Pattern& StepPattern::PatternOf(size_t rank) {
  patterns_.resize(analysis_.roles.classes.size());
  Pattern& pattern = patterns_[static_cast<size_t>(analysis_.roles.class_of_rank[rank])];
  if (!std::exchange(pattern.is_sought, true)) BuildPattern(analysis_.PeersByWaitingOf(rank), &pattern);
  return pattern;
}

// Of the whole steps of the class, the first with as many calls as the middle one.
void StepPattern::BuildPattern(const std::vector<int32_t>& peers, Pattern* pattern) {
  const StepTable& steps = analysis_.steps;
  std::vector<std::pair<size_t, int32_t>> whole;
  std::vector<double> lengths;
  // Of as many peers as there are, each time in another step: who is sick is so in many steps, and what happens in one
  // step happens to many.
  for (int32_t turn = 0; turn < steps.steps && whole.size() < kMaxWhole; ++turn) {
    for (size_t i = 0; i < peers.size() && whole.size() < kMaxWhole; ++i) {
      const auto rank = static_cast<size_t>(peers[i]);
      const auto step = static_cast<int32_t>((static_cast<size_t>(turn) + i) % static_cast<size_t>(steps.steps));
      if (steps.usual[static_cast<size_t>(step)] == 0 || !IsWhole(rank, step)) continue;
      if (analysis_.without_begins[rank] != 0) continue;  // in which order they begin, and when, it does not know
      const StepRange& range = steps.Of(rank, step);
      whole.emplace_back(rank, step);
      lengths.push_back(static_cast<double>(range.end - range.begin));
    }
  }
  if (whole.empty()) return;
  std::vector<double> sorted = lengths;
  const double usual = UpperMedian(&sorted);
  const auto first = static_cast<size_t>(std::find(lengths.begin(), lengths.end(), usual) - lengths.begin());
  LayOut(whole[first].first, whole[first].second, pattern);
  if (!pattern->calls.empty()) TakeMiddleOwn(whole, pattern);
}

// The calls of a whole step in the order of their starts, and by channel.
void StepPattern::LayOut(size_t rank, int32_t step, Pattern* pattern) {
  const Trace& trace = *analysis_.trace;
  const OperationInstances& matched = analysis_.matched;
  const StepRange& range = analysis_.steps.Of(rank, step);
  std::vector<PatternCall> calls;
  for (uint32_t i = range.begin; i < range.end; ++i) {
    if (!trace.operations[i].finished() || matched.instance_of[i] == kNoInstance) return;
    calls.push_back({.like = i});
  }
  std::stable_sort(calls.begin(), calls.end(), [&trace](const PatternCall& a, const PatternCall& b) {
    return trace.operations[a.like].start_ns < trace.operations[b.like].start_ns;
  });
  std::vector<uint32_t> position(calls.size(), kNoOperation);
  for (uint32_t at = 0; at < calls.size(); ++at) {
    const OwnInterval& interval = analysis_.times.before[calls[at].like];
    const bool inside = interval.after >= range.begin && interval.after < range.end;
    if (inside) calls[at].after = position[interval.after - range.begin];
    calls[at].after_end = interval.after_end;
    position[calls[at].like - range.begin] = at;
  }
  pattern->channels = ChannelsOf(rank, range);
  for (const Channel& channel : pattern->channels) {
    pattern->first_of.push_back(static_cast<uint32_t>(pattern->position_of.size()));
    std::vector<std::pair<uint64_t, uint32_t>> by_sequence;
    for (uint32_t i = range.begin; i < range.end; ++i) {
      const OperationInstance& instance = matched.instances[matched.instance_of[i]];
      if (instance.channel == channel.channel) by_sequence.emplace_back(instance.sequence, position[i - range.begin]);
    }
    std::sort(by_sequence.begin(), by_sequence.end());
    for (const auto& [sequence, at] : by_sequence) pattern->position_of.push_back(at);
  }
  pattern->first_of.push_back(static_cast<uint32_t>(pattern->position_of.size()));
  pattern->channel_of.resize(calls.size());
  pattern->place_of.resize(calls.size());
  for (uint32_t channel = 0; channel < pattern->channels.size(); ++channel) {
    for (uint32_t place = 0; place < pattern->CallsIn(channel); ++place) {
      const uint32_t at = pattern->position_of[pattern->first_of[channel] + place];
      pattern->channel_of[at] = channel;
      pattern->place_of[at] = place;
    }
  }
  pattern->calls = std::move(calls);
}

// By call, the median over whole steps in which it goes on from the same call.
void StepPattern::TakeMiddleOwn(const std::vector<std::pair<size_t, int32_t>>& whole, Pattern* pattern) {
  std::vector<std::vector<double>> seconds(pattern->calls.size());
  for (const auto& [rank, step] : whole) {
    const RankChannels& own = ChannelsFor(rank, *pattern);
    if (own.channel.empty()) continue;
    const StepRange& range = analysis_.steps.Of(rank, step);
    for (uint32_t i = range.begin; i < range.end; ++i) {
      const uint32_t at = PositionOf(*pattern, own, i, step);
      const OwnInterval& interval = analysis_.times.before[i];
      if (at == kNoOperation || interval.seconds < 0) continue;
      const bool inside = interval.after >= range.begin && interval.after < range.end;
      const uint32_t after = inside ? PositionOf(*pattern, own, interval.after, step) : kNoOperation;
      if (after != pattern->calls[at].after || interval.after_end != pattern->calls[at].after_end) continue;
      seconds[at].push_back(static_cast<double>(interval.seconds));
    }
  }
  for (size_t at = 0; at < seconds.size(); ++at) {
    pattern->calls[at].own_seconds = static_cast<float>(MedianInPlace(&seconds[at]));
  }
}

const StepPattern::RankChannels& StepPattern::ChannelsFor(size_t rank, const Pattern& pattern) {
  of_rank_.resize(analysis_.trace->ranks.size());
  RankChannels& own = of_rank_[rank];
  if (std::exchange(own.is_sought, true)) return own;
  const std::vector<Channel> channels = UsualChannelsOf(rank);
  const bool is_like = std::equal(channels.begin(), channels.end(), pattern.channels.begin(), pattern.channels.end(),
                                  [](const Channel& a, const Channel& b) { return a.IsLike(b); });
  if (!is_like) return own;
  for (const Channel& channel : channels) own.channel.push_back(channel.channel);
  FindBases(rank, pattern, &own);
  return own;
}

// The lowest number that step 0 can have begun with: some step has its first call recorded. Where numbers of a step go
// beyond those of the pattern, other calls were made in between.
void StepPattern::FindBases(size_t rank, const Pattern& pattern, RankChannels* own) {
  const StepTable& steps = analysis_.steps;
  own->base.assign(own->channel.size(), std::numeric_limits<int64_t>::max());
  std::vector<int64_t> highest(own->channel.size(), std::numeric_limits<int64_t>::min());
  for (int32_t step = 0; step < steps.steps; ++step) {
    const StepRange& range = steps.Of(rank, step);
    if (!range.complete || steps.usual[static_cast<size_t>(step)] == 0) continue;
    for (uint32_t i = range.begin; i < range.end; ++i) {
      if (analysis_.matched.instance_of[i] == kNoInstance) continue;
      const OperationInstance& instance = analysis_.matched.instances[analysis_.matched.instance_of[i]];
      const auto at = std::find(own->channel.begin(), own->channel.end(), instance.channel);
      if (at == own->channel.end()) continue;  // a call that usual steps do not make
      const auto channel = static_cast<size_t>(at - own->channel.begin());
      const int64_t first = static_cast<int64_t>(instance.sequence) - int64_t{pattern.CallsIn(channel)} * step;
      own->base[channel] = std::min(own->base[channel], first);
      highest[channel] = std::max(highest[channel], first);
    }
  }
  for (size_t channel = 0; channel < own->channel.size(); ++channel) {
    if (highest[channel] - own->base[channel] < int64_t{pattern.CallsIn(channel)}) continue;
    own->channel.clear();
    return;
  }
}

std::vector<StepPattern::Channel> StepPattern::ChannelsOf(size_t rank, const StepRange& range) {
  seen_.resize(analysis_.matched.channels.size(), 0);
  turn_.resize(seen_.size(), 0);
  ++mark_;
  std::vector<Channel> channels;
  for (uint32_t i = range.begin; i < range.end; ++i) {
    if (analysis_.matched.instance_of[i] == kNoInstance) continue;
    const int32_t channel = analysis_.matched.instances[analysis_.matched.instance_of[i]].channel;
    uint32_t& turn = turn_[static_cast<size_t>(channel)];
    if (std::exchange(seen_[static_cast<size_t>(channel)], mark_) != mark_) {
      turn = static_cast<uint32_t>(channels.size());
      channels.push_back(Describe(rank, channel));
      channels.back().turn = turn;
    }
    channels[turn].largest = std::max(channels[turn].largest, analysis_.trace->operations[i].bytes);
  }
  std::sort(channels.begin(), channels.end(), [](const Channel& a, const Channel& b) { return a.Order() < b.Order(); });
  return channels;
}

std::vector<StepPattern::Channel> StepPattern::UsualChannelsOf(size_t rank) {
  const StepTable& steps = analysis_.steps;
  std::vector<Channel> channels;
  for (int32_t step = 0; step < steps.steps; ++step) {
    const StepRange& range = steps.Of(rank, step);
    if (!range.complete || steps.usual[static_cast<size_t>(step)] == 0) continue;
    std::vector<Channel> more = ChannelsOf(rank, range);
    if (more.size() > channels.size()) channels = std::move(more);
  }
  return channels;
}

StepPattern::Channel StepPattern::Describe(size_t rank, int32_t channel) const {
  const OperationChannel& of = analysis_.matched.channels[static_cast<size_t>(channel)];
  const std::vector<int32_t>& members = analysis_.trace->communicators[static_cast<size_t>(of.communicator)].members;
  Channel result;
  result.family = analysis_.roles.communicators[static_cast<size_t>(of.communicator)].family;
  result.channel = channel;
  if (of.collective()) return result;
  result.one_sided = true;
  result.sends = members[static_cast<size_t>(of.source)] == static_cast<int32_t>(rank);
  result.ahead = result.sends ? of.destination - of.source : of.source - of.destination;
  const int32_t other = members[static_cast<size_t>(result.sends ? of.destination : of.source)];
  if (other >= 0) result.other_class = analysis_.roles.class_of_rank[static_cast<size_t>(other)];
  return result;
}

// Of a step whose beginning or end is not known, all that is recorded between its neighbours.
StepRange StepPattern::RecordsAround(size_t rank, int32_t step) const {
  const StepTable& steps = analysis_.steps;
  const StepRange& range = steps.Of(rank, step);
  if (range.complete && !range.empty()) return range;
  StepRange around{static_cast<uint32_t>(analysis_.trace->first_operation[rank]),
                   static_cast<uint32_t>(analysis_.trace->first_operation[rank + 1]), false};
  for (int32_t before = step - 1; before >= 0; --before) {
    if (steps.Of(rank, before).empty()) continue;
    around.begin = steps.Of(rank, before).end;
    break;
  }
  for (int32_t after = step + 1; after < steps.steps; ++after) {
    if (steps.Of(rank, after).empty()) continue;
    around.end = steps.Of(rank, after).begin;
    break;
  }
  return around;
}

uint32_t StepPattern::PositionOf(const Pattern& pattern, const RankChannels& own, uint32_t operation,
                                 int32_t step) const {
  if (analysis_.matched.instance_of[operation] == kNoInstance) return kNoOperation;
  if (!analysis_.trace->operations[operation].finished()) return kNoOperation;
  const OperationInstance& instance = analysis_.matched.instances[analysis_.matched.instance_of[operation]];
  const auto at = std::find(own.channel.begin(), own.channel.end(), instance.channel);
  if (at == own.channel.end()) return kNoOperation;
  const auto channel = static_cast<size_t>(at - own.channel.begin());
  const int64_t calls = pattern.CallsIn(channel);
  const int64_t place = static_cast<int64_t>(instance.sequence) - own.base[channel] - calls * step;
  if (place < 0 || place >= calls) return kNoOperation;
  return pattern.position_of[pattern.first_of[channel] + static_cast<size_t>(place)];
}

// The operations that the lost calls took part in; false = one is not known, or not lost.
bool StepPattern::FindLost(size_t rank, int32_t step, const Pattern& pattern, const RankChannels& own) {
  const OperationInstances& matched = analysis_.matched;
  for (size_t channel = 0; channel < own.channel.size(); ++channel) {
    const uint32_t calls = pattern.CallsIn(channel);
    for (uint32_t place = 0; place < calls; ++place) {
      PatternCall& call = calls_[pattern.position_of[pattern.first_of[channel] + place]];
      if (call.recorded != kNoOperation) continue;
      call.instance = InstanceAt(matched, own.channel[channel], own.base[channel] + int64_t{calls} * step + place);
      if (call.instance == kNoInstance || RecordOf(rank, call.instance) != kNoOperation) return false;
    }
  }
  return true;
}

uint32_t StepPattern::RecordOf(size_t rank, uint32_t instance) const {
  const OperationInstances& matched = analysis_.matched;
  const absl::Span<const uint32_t> members = matched.MembersOf(matched.instances[instance]);
  const auto at = std::find_if(members.begin(), members.end(), [&](uint32_t operation) {
    return matched.rank_of[operation] == static_cast<int32_t>(rank);
  });
  return at == members.end() ? kNoOperation : *at;
}

// What is recorded and goes on from the same call as in the pattern is known.
void StepPattern::TakeOwn(size_t rank, int32_t step, const StepRange& range, const Pattern& pattern,
                          const RankChannels& own) {
  std::vector<std::pair<double, double>> ratios;  // with the usual seconds, their weights
  double weight = 0;
  for (size_t at = 0; at < calls_.size(); ++at) {
    PatternCall& call = calls_[at];
    const auto usual = static_cast<double>(pattern.calls[at].own_seconds);
    call.own_seconds = -1;
    if (call.recorded == kNoOperation) continue;
    const OwnInterval& interval = analysis_.times.before[call.recorded];
    const bool inside = interval.after >= range.begin && interval.after < range.end;
    const bool is_same = call.after == kNoOperation ? !inside : inside && interval.after == calls_[call.after].recorded;
    if (!is_same || interval.after_end != call.after_end || interval.seconds < 0) continue;
    call.own_seconds = interval.seconds;
    if (usual <= 0) continue;
    ratios.emplace_back(static_cast<double>(interval.seconds) / usual, usual);
    weight += usual;
  }
  std::sort(ratios.begin(), ratios.end());
  double ratio = 1, below = 0;
  for (const auto& [value, seconds] : ratios) {
    ratio = value;
    below += seconds;
    if (2 * below >= weight) break;
  }
  for (uint32_t at = 0; at < calls_.size(); ++at) {
    float& seconds = calls_[at].own_seconds;
    if (seconds < 0) seconds = NearestOwn(rank, step, at, pattern, own);
    if (seconds < 0) seconds = static_cast<float>(ratio) * pattern.calls[at].own_seconds;
  }
}

float StepPattern::NearestOwn(size_t rank, int32_t step, uint32_t at, const Pattern& pattern,
                              const RankChannels& own) const {
  const uint32_t channel = pattern.channel_of[at];
  std::vector<double> known;
  const auto look_at = [&](int32_t other) {
    if (other < 0 || other >= analysis_.steps.steps || analysis_.steps.usual[static_cast<size_t>(other)] == 0) return;
    const int64_t sequence = own.base[channel] + int64_t{pattern.CallsIn(channel)} * other + pattern.place_of[at];
    const uint32_t instance = InstanceAt(analysis_.matched, own.channel[channel], sequence);
    const uint32_t operation = instance == kNoInstance ? kNoOperation : RecordOf(rank, instance);
    if (operation == kNoOperation) return;
    const OwnInterval& interval = analysis_.times.before[operation];
    if (interval.seconds < 0 || interval.after_end != pattern.calls[at].after_end) return;
    const uint32_t after =
        interval.after == kNoOperation ? kNoOperation : PositionOf(pattern, own, interval.after, other);
    if (after == pattern.calls[at].after) known.push_back(static_cast<double>(interval.seconds));
  };
  for (int32_t apart = 1; apart <= kFarthestStep && known.size() < kNearSteps; ++apart) {
    look_at(step - apart);
    look_at(step + apart);
  }
  return known.empty() ? -1 : static_cast<float>(MedianInPlace(&known));
}

}  // namespace lockstep
