#include "detector/localization/step_replay.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/check.h"
#include "detector/localization/order_statistics.h"

namespace lockstep {
namespace {

constexpr float kWaited = 1.5F;        // a Send this much longer than its Recv waited for the receiver
constexpr double kMinFinished = 0.95;  // of the operations, that a replay must reach
constexpr int64_t kTogether = 20;      // moments that differ by less than 1/20 of an operation's length are one

bool IssuedTogether(const TraceOperation& a, const TraceOperation& b) {
  const auto same = [&](int64_t x, int64_t y) { return std::abs(x - y) * kTogether <= a.duration_ns(); };
  return IsSendOrRecv(a.kind) && IsSendOrRecv(b.kind) && same(a.start_ns, b.start_ns) && same(a.end_ns, b.end_ns);
}

}  // namespace

void StepReplay::Load(int32_t step) {
  step_ = step;
  hidden_share_ = 0;
  for (const uint32_t instance : instance_) meeting_of_instance_[instance] = kNone;
  instance_.clear();
  nodes_.clear();
  operation_.clear();
  recorded_own_.clear();
  duration_.clear();
  first_node_.clear();
  Collect(*analysis_);
  Connect(*analysis_);
}

void StepReplay::Collect(const TraceAnalysis& analysis) {
  const Trace& trace = *analysis.trace;
  std::vector<uint32_t> order, node_of;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const size_t first = operation_.size();
    first_node_.push_back(static_cast<uint32_t>(first));
    const StepRange& range = analysis.steps.Of(rank, step_);
    order.clear();
    for (uint32_t i = range.begin; i < range.end; ++i) {
      if (trace.operations[i].finished() && analysis.matched.instance_of[i] != kNoInstance) order.push_back(i);
    }
    const auto by_start = [&trace](uint32_t a, uint32_t b) {
      return trace.operations[a].start_ns < trace.operations[b].start_ns;
    };
    if (!std::is_sorted(order.begin(), order.end(), by_start)) std::stable_sort(order.begin(), order.end(), by_start);
    node_of.assign(range.end - range.begin, kNone);
    for (const uint32_t i : order) {
      const OwnInterval& interval = analysis.times.before[i];
      const bool inside = interval.after >= range.begin && interval.after < range.end;
      node_of[i - range.begin] = static_cast<uint32_t>(operation_.size());
      operation_.push_back(i);
      nodes_.push_back({.after = inside ? node_of[interval.after - range.begin] : kNone,
                        .rank = static_cast<uint32_t>(rank),
                        .after_end = interval.after_end});
      recorded_own_.push_back(interval.seconds);
      duration_.push_back(static_cast<float>(ToSeconds(trace.operations[i].duration_ns())));
    }
    GuessUnknownOwn(first);
    FindGroups(trace, first);
  }
  first_node_.push_back(static_cast<uint32_t>(operation_.size()));
}

// An interval that is not known is taken to be like the rank's others.
void StepReplay::GuessUnknownOwn(size_t first) {
  double sum = 0;
  size_t known = 0;
  for (size_t node = first; node < recorded_own_.size(); ++node) {
    if (recorded_own_[node] < 0) continue;
    sum += static_cast<double>(recorded_own_[node]);
    ++known;
  }
  const float guess = known == 0 ? 0 : static_cast<float>(sum / static_cast<double>(known));
  for (size_t node = first; node < recorded_own_.size(); ++node) {
    if (recorded_own_[node] < 0) recorded_own_[node] = guess;
  }
}

void StepReplay::FindGroups(const Trace& trace, size_t first) {
  for (size_t node = first; node < operation_.size(); ++node) {
    const bool joins = node > first && IssuedTogether(trace.operations[operation_[nodes_[node - 1].group]],
                                                      trace.operations[operation_[node]]);
    nodes_[node].group = joins ? nodes_[node - 1].group : static_cast<uint32_t>(node);
  }
}

// Instances of the step get consecutive numbers, by the order in which nodes meet them.
void StepReplay::NumberMeetings(const TraceAnalysis& analysis) {
  meeting_of_instance_.resize(analysis.matched.instances.size(), kNone);
  for (size_t node = 0; node < operation_.size(); ++node) {
    const uint32_t instance = analysis.matched.instance_of[operation_[node]];
    uint32_t& meeting = meeting_of_instance_[instance];
    if (meeting == kNone) {
      meeting = static_cast<uint32_t>(instance_.size());
      instance_.push_back(instance);
    }
    nodes_[node].meeting = meeting;
  }
}

void StepReplay::Connect(const TraceAnalysis& analysis) {
  NumberMeetings(analysis);
  meetings_.assign(instance_.size() + 1, {});
  for (const Node& node : nodes_) ++meetings_[node.meeting + 1].first_member;
  for (size_t i = 0; i < instance_.size(); ++i) meetings_[i + 1].first_member += meetings_[i].first_member;
  member_.resize(nodes_.size());
  recorded_transfer_.assign(instance_.size(), -1);
  for (size_t node = 0; node < nodes_.size(); ++node) {
    Meeting& meeting = meetings_[nodes_[node].meeting];
    member_[meeting.first_member + meeting.missing++] = static_cast<uint32_t>(node);
    float& transfer = recorded_transfer_[nodes_[node].meeting];
    if (transfer < 0 || duration_[node] < transfer) transfer = duration_[node];
  }
  TrustIncompleteLess(analysis);
  TrustGroupsLess(analysis);
  for (size_t node = 0; node < nodes_.size(); ++node) {
    nodes_[node].eager = analysis.trace->operations[operation_[node]].kind == OperationKind::kSend && !Grouped(node) &&
                         duration_[node] <= kWaited * recorded_transfer_[nodes_[node].meeting];
  }
}

// Neighbours disagree by an operation or two on where a step ends: a member that is merely in the next step is known.
bool StepReplay::HidesMember(const TraceAnalysis& analysis, uint32_t meeting) const {
  const OperationInstance& instance = analysis.matched.instances[instance_[meeting]];
  if (!analysis.matched.Complete(instance, *analysis.trace)) return true;
  const absl::Span<const uint32_t> members = analysis.matched.MembersOf(instance);
  return std::any_of(members.begin(), members.end(), [&](uint32_t operation) {
    const StepRange& range = analysis.steps.Of(static_cast<size_t>(analysis.matched.rank_of[operation]), step_);
    return !range.complete && (operation < range.begin || operation >= range.end);
  });
}

// Whoever left no record may be the one that the others waited for: then the shortest known time inside is a wait. What
// complete instances of the same kind took is the better guess.
void StepReplay::TrustIncompleteLess(const TraceAnalysis& analysis) {
  // A member may be recorded and yet stand outside of the step, because its own step could not be made out.
  const auto is_complete = [&](uint32_t meeting) {
    const OperationInstance& instance = analysis.matched.instances[instance_[meeting]];
    const OperationChannel& channel = analysis.matched.channels[static_cast<size_t>(instance.channel)];
    return meetings_[meeting + 1].first_member - meetings_[meeting].first_member ==
           OperationInstances::SizeOf(channel, *analysis.trace);
  };
  std::vector<uint32_t> incomplete;
  for (uint32_t meeting = 0; meeting < instance_.size(); ++meeting) {
    if (!is_complete(meeting)) incomplete.push_back(meeting);
  }
  if (incomplete.empty()) return;
  const size_t kinds = static_cast<size_t>(analysis.roles.families) * kOperationKinds;
  std::vector<std::vector<double>> complete(kinds);
  const auto kind_of = [&](uint32_t meeting) {
    const uint32_t node = member_[meetings_[meeting].first_member];
    return KindOf(analysis.roles, analysis.trace->operations[operation_[node]]);
  };
  for (uint32_t meeting = 0; meeting < instance_.size(); ++meeting) {
    if (is_complete(meeting)) complete[kind_of(meeting)].push_back(static_cast<double>(recorded_transfer_[meeting]));
  }
  const auto hidden = std::count_if(incomplete.begin(), incomplete.end(),
                                    [&](uint32_t meeting) { return HidesMember(analysis, meeting); });
  hidden_share_ = static_cast<double>(hidden) / static_cast<double>(instance_.size());
  std::vector<float> usual(kinds, -1);
  for (size_t kind = 0; kind < kinds; ++kind) {
    if (!complete[kind].empty()) usual[kind] = static_cast<float>(MedianInPlace(&complete[kind]));
  }
  for (const uint32_t meeting : incomplete) {
    // Send and Recv are two kinds; either tells what the transfer takes.
    const float typical = usual[kind_of(meeting)];
    if (typical >= 0) recorded_transfer_[meeting] = std::min(recorded_transfer_[meeting], typical);
  }
}

// A transfer that ends with a longer one of its group says nothing of itself: then the quickest of its channel does.
void StepReplay::TrustGroupsLess(const TraceAnalysis& analysis) {
  bool any = false;
  for (size_t node = 0; node < nodes_.size() && !any; ++node) any = Grouped(node);
  if (!any) return;
  const auto channel_of = [&](size_t meeting) {
    return static_cast<size_t>(analysis.matched.instances[instance_[meeting]].channel);
  };
  std::vector<float> quickest(analysis.matched.channels.size(), std::numeric_limits<float>::infinity());
  for (size_t meeting = 0; meeting < instance_.size(); ++meeting) {
    quickest[channel_of(meeting)] = std::min(quickest[channel_of(meeting)], recorded_transfer_[meeting]);
  }
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (!Grouped(node)) continue;
    float& transfer = recorded_transfer_[nodes_[node].meeting];
    const float alone = quickest[channel_of(nodes_[node].meeting)];
    if (transfer > kWaited * alone) transfer = alone;
  }
}

void StepReplay::Prepare(const Healing& healing, size_t lane) {
  CHECK(healing.own_of_node.empty() || healing.own_of_node.size() == recorded_own_.size());
  const std::vector<float>& own = healing.own_of_node.empty() ? recorded_own_ : healing.own_of_node;
  for (size_t node = 0; node < own.size(); ++node) own_[node][lane] = own[node];
  for (size_t meeting = 0; meeting < instance_.size(); ++meeting) {
    meetings_[meeting].transfer[lane] = recorded_transfer_[meeting];
  }
  for (const Healing::OwnTime& healed : healing.own) {
    const auto rank = static_cast<size_t>(healed.rank);
    uint32_t largest = kNone;
    for (uint32_t node = first_node_[rank]; node < first_node_[rank + 1]; ++node) {
      own_[node][lane] *= healed.scale;
      if (largest == kNone || own_[node][lane] > own_[largest][lane]) largest = node;
    }
    if (largest != kNone) own_[largest][lane] = std::max(0.0F, own_[largest][lane] - healed.largest_less);
  }
  for (const Healing::Channel& healed : healing.channels) {
    const OperationChannel& channel = analysis_->matched.channels[static_cast<size_t>(healed.channel)];
    for (uint32_t i = 0; i < channel.instances; ++i) {
      const uint32_t meeting = meeting_of_instance_[channel.first_instance + i];
      if (meeting != kNone) meetings_[meeting].transfer[lane] = recorded_transfer_[meeting] * healed.scale;
    }
  }
}

void StepReplay::Restart() {
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.end = {};
    node.arrived = node.moved = node.finished = false;
    node.unmoved = 0;
    node.decisive = node.group;
    ++nodes_[node.group].unmoved;  // the first comes first
  }
  for (size_t i = 0; i < instance_.size(); ++i) {
    Meeting& meeting = meetings_[i];
    meeting.missing = meetings_[i + 1].first_member - meeting.first_member;
    meeting.last_arriver = kNone;
    meeting.last_arrival = {};
  }
  cursor_.assign(first_node_.begin(), first_node_.end() - 1);
  open_.clear();
  for (size_t rank = cursor_.size(); rank > 0; --rank) open_.push_back(static_cast<uint32_t>(rank - 1));
}

std::pair<double, double> StepReplay::RunBoth(const Healing& first, const Healing& second) {
  own_.resize(nodes_.size());
  Prepare(first, 0);
  Prepare(second, 1);
  Restart();
  while (!open_.empty()) {
    const uint32_t rank = open_.back();
    open_.pop_back();
    Advance(rank);
  }
  Lanes last{};
  size_t finished = 0;
  for (const Node& node : nodes_) {
    finished += node.finished ? 1 : 0;
    for (size_t lane = 0; lane < kLanes; ++lane) last[lane] = std::max(last[lane], node.end[lane]);
  }
  if (static_cast<double>(finished) < kMinFinished * static_cast<double>(nodes_.size())) return {0, 0};
  return {last[0], last[1]};
}

void StepReplay::Advance(uint32_t rank) {
  uint32_t& cursor = cursor_[rank];
  while (cursor < first_node_[rank + 1]) {
    Node& node = nodes_[cursor];
    Lanes ready{};
    if (node.after != kNone) {
      const Node& after = nodes_[node.after];
      if (!(node.after_end ? after.finished : after.arrived)) return;
      ready = node.after_end ? after.end : after.arrival;
    }
    for (size_t lane = 0; lane < kLanes; ++lane) {
      node.arrival[lane] = ready[lane] + static_cast<double>(own_[cursor][lane]);
    }
    Arrive(cursor++);
  }
}

void StepReplay::Arrive(uint32_t number) {
  Node& node = nodes_[number];
  Meeting& meeting = meetings_[node.meeting];
  node.arrived = true;
  if (meeting.last_arriver == kNone || node.arrival[0] > meeting.last_arrival[0]) meeting.last_arriver = number;
  Lanes eager_end{};
  for (size_t lane = 0; lane < kLanes; ++lane) {
    meeting.last_arrival[lane] = std::max(meeting.last_arrival[lane], node.arrival[lane]);
    eager_end[lane] = node.arrival[lane] + static_cast<double>(meeting.transfer[lane]);
  }
  if (node.eager) Move(number, eager_end);
  if (--meeting.missing == 0) Finish(node.meeting);
}

void StepReplay::Finish(uint32_t number) {
  const Meeting& meeting = meetings_[number];
  Lanes end = meeting.last_arrival;
  for (size_t lane = 0; lane < kLanes; ++lane) end[lane] += static_cast<double>(meeting.transfer[lane]);
  for (uint32_t i = meeting.first_member; i < meetings_[number + 1].first_member; ++i) {
    if (!nodes_[member_[i]].moved) Move(member_[i], end);
  }
}

void StepReplay::Move(uint32_t number, const Lanes& end) {
  nodes_[number].moved = true;
  const uint32_t group = nodes_[number].group;
  Node& first = nodes_[group];
  if (end[0] > first.end[0]) first.decisive = number;
  for (size_t lane = 0; lane < kLanes; ++lane) first.end[lane] = std::max(first.end[lane], end[lane]);
  if (--first.unmoved > 0) return;
  const uint32_t next = cursor_[first.rank];
  const uint32_t awaited = next < first_node_[first.rank + 1] ? nodes_[next].after : kNone;
  for (uint32_t mate = group; mate < nodes_.size() && nodes_[mate].group == group; ++mate) {
    nodes_[mate].end = first.end;
    nodes_[mate].finished = true;
    // Whoever stands right behind it, or further on, may go on now.
    if (awaited == mate) open_.push_back(first.rank);
  }
}

std::vector<StepReplay::Link> StepReplay::CriticalPath() const {
  std::vector<Link> path;
  uint32_t number = kNone;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].finished && (number == kNone || nodes_[i].end[0] > nodes_[number].end[0])) number = i;
  }
  bool through_end = true;
  while (number != kNone && path.size() < nodes_.size()) {
    // From an end to the member that arrived last; from an arrival on along the rank's own history.
    if (through_end) number = nodes_[nodes_[number].group].decisive;
    const Node& node = nodes_[number];
    const uint32_t arriver = through_end && !node.eager ? meetings_[node.meeting].last_arriver : number;
    Link link;
    link.operation = operation_[arriver];
    link.rank = static_cast<int32_t>(nodes_[arriver].rank);
    link.own_seconds = own_[arriver][0];
    link.transfer_seconds = through_end ? meetings_[node.meeting].transfer[0] : 0;
    link.waited = arriver != number;
    path.push_back(link);
    through_end = nodes_[arriver].after_end;
    number = nodes_[arriver].after;
  }
  return path;
}

}  // namespace lockstep
