#include "detector/slow/step_replay.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "detector/slow/excess_places.h"
#include "detector/slow/nearest_complete.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

// A Send this much longer than its Recv waited for the receiver. By judgement, not measured.
constexpr float kWaited = 1.5F;
// Of the operations, that a replay must reach. By judgement, not measured.
constexpr double kMinFinished = 0.95;

constexpr int64_t kTogether = 20;  // moments that differ by less than 1/20 of an operation's length are one

bool IssuedTogether(const TraceOperation& a, const TraceOperation& b) {
  const auto same = [&](int64_t x, int64_t y) { return std::abs(x - y) * kTogether <= a.duration_ns(); };
  return IsSendOrRecv(a.kind) && IsSendOrRecv(b.kind) && same(a.start_ns, b.start_ns) && same(a.end_ns, b.end_ns);
}

}  // namespace

void StepReplay::Load(int32_t step) {
  groups_count_ = true;
  Prepare(step);
}

void StepReplay::Prepare(int32_t step) {
  step_ = step;
  hidden_share_ = 0;
  for (const uint32_t instance : instance_) meeting_of_instance_[instance] = kNone;
  instance_.clear();
  nodes_.clear();
  operation_.clear();
  like_.clear();
  recorded_own_.clear();
  duration_.clear();
  first_node_.clear();
  Collect(*analysis_);
  Connect(*analysis_);
}

void StepReplay::Collect(const TraceAnalysis& analysis) {
  size_t operations = 0;
  for (size_t rank = 0; rank < analysis.trace->ranks.size(); ++rank) {
    const StepRange& range = analysis.steps.Of(rank, step_);
    operations += range.end - range.begin;
  }
  nodes_.reserve(operations);  // of these buffers the one that is large
  for (size_t rank = 0; rank < analysis.trace->ranks.size(); ++rank) {
    first_node_.push_back(static_cast<uint32_t>(operation_.size()));
    const std::vector<PatternCall>& calls = pattern_.Complete(rank, step_);
    calls.empty() ? CollectRecorded(rank) : CollectPattern(rank, calls);
    if (analysis.without_begins[rank] == 0) continue;
    for (size_t node = first_node_.back(); node < nodes_.size(); ++node) nodes_[node].after = kNone;
    std::fill(recorded_own_.begin() + first_node_.back(), recorded_own_.end(), 0.0F);
  }
  first_node_.push_back(static_cast<uint32_t>(operation_.size()));
}

void StepReplay::CollectRecorded(size_t rank) {
  const TraceAnalysis& analysis = *analysis_;
  const Trace& trace = *analysis.trace;
  const size_t first = operation_.size();
  const StepRange& range = analysis.steps.Of(rank, step_);
  order_.clear();
  for (uint32_t i = range.begin; i < range.end; ++i) {
    if (trace.operations[i].finished() && analysis.matched.instance_of[i] != kNoInstance) order_.push_back(i);
  }
  const auto by_start = [&trace](uint32_t a, uint32_t b) {
    return trace.operations[a].start_ns < trace.operations[b].start_ns;
  };
  if (!std::is_sorted(order_.begin(), order_.end(), by_start)) {
    std::stable_sort(order_.begin(), order_.end(), by_start);
  }
  node_of_.assign(range.end - range.begin, kNone);
  for (const uint32_t i : order_) {
    const OwnInterval& interval = analysis.times.before[i];
    const bool inside = interval.after >= range.begin && interval.after < range.end;
    node_of_[i - range.begin] = static_cast<uint32_t>(operation_.size());
    nodes_.push_back({.after = inside ? node_of_[interval.after - range.begin] : kNone,
                      .meeting = analysis.matched.instance_of[i],
                      .rank = static_cast<uint32_t>(rank),
                      .after_end = interval.after_end});
    operation_.push_back(i);
    like_.push_back(i);
    recorded_own_.push_back(interval.seconds);
    duration_.push_back(static_cast<float>(ToSeconds(trace.operations[i].duration_ns())));
  }
  GuessUnknownOwn(first);
  FindGroups(first);
}

void StepReplay::CollectPattern(size_t rank, const std::vector<PatternCall>& calls) {
  const size_t first = operation_.size();
  for (const PatternCall& call : calls) {
    const bool lost = call.recorded == kNoOperation;
    nodes_.push_back({.after = call.after == kNoOperation ? kNone : static_cast<uint32_t>(first) + call.after,
                      .meeting = call.instance,
                      .rank = static_cast<uint32_t>(rank),
                      .after_end = call.after_end});
    operation_.push_back(call.recorded);
    like_.push_back(call.like);
    recorded_own_.push_back(call.own_seconds);
    duration_.push_back(
        lost ? -1 : static_cast<float>(ToSeconds(analysis_->trace->operations[call.recorded].duration_ns())));
  }
  FindGroups(first);
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

// Where either is lost, times of the pattern tell.
void StepReplay::FindGroups(size_t first) {
  const std::vector<TraceOperation>& operations = analysis_->trace->operations;
  for (size_t node = first; node < operation_.size(); ++node) {
    nodes_[node].group = static_cast<uint32_t>(node);
    if (node == first || !groups_count_) continue;
    const uint32_t leader = nodes_[node - 1].group;
    const bool known = operation_[leader] != kNoOperation && operation_[node] != kNoOperation;
    const std::vector<uint32_t>& of = known ? operation_ : like_;
    if (IssuedTogether(operations[of[leader]], operations[of[node]])) nodes_[node].group = leader;
  }
}

// Instances of the step get consecutive numbers, by the order in which nodes meet them; until now a node's meeting is
// its instance.
void StepReplay::NumberMeetings(const TraceAnalysis& analysis) {
  meeting_of_instance_.resize(analysis.matched.instances.size(), kNone);
  for (Node& node : nodes_) {
    uint32_t& meeting = meeting_of_instance_[node.meeting];
    if (meeting == kNone) {
      meeting = static_cast<uint32_t>(instance_.size());
      instance_.push_back(node.meeting);
    }
    node.meeting = meeting;
  }
}

// Who goes on from whom.
void StepReplay::LinkNodes() {
  first_next_.assign(nodes_.size() + 1, 0);
  for (const Node& node : nodes_) {
    if (node.after != kNone) ++first_next_[node.after + 1];
  }
  for (size_t node = 0; node < nodes_.size(); ++node) first_next_[node + 1] += first_next_[node];
  next_.resize(nodes_.size());
  // Filled from the back, so that the first of them is the last to be put on the stack of open ones.
  std::vector<uint32_t>& filled = order_;
  filled.assign(first_next_.begin() + 1, first_next_.end());
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].after != kNone) next_[--filled[nodes_[node].after]] = node;
  }
}

void StepReplay::Connect(const TraceAnalysis& analysis) {
  LinkNodes();
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
    if (duration_[node] >= 0 && (transfer < 0 || duration_[node] < transfer)) transfer = duration_[node];
  }
  TrustIncompleteLess(analysis);
  TrustGroupsLess(analysis);
  for (size_t node = 0; node < nodes_.size(); ++node) {
    nodes_[node].eager = analysis.trace->operations[like_[node]].kind == OperationKind::kSend && !Grouped(node) &&
                         duration_[node] >= 0 && duration_[node] <= kWaited * recorded_transfer_[nodes_[node].meeting];
  }
}

// Neighbours disagree by an operation or two on where a step ends: a member that is merely in the next step is known.
bool StepReplay::HidesMember(const TraceAnalysis& analysis, uint32_t meeting) const {
  const OperationInstance& instance = analysis.matched.instances[instance_[meeting]];
  const OperationChannel& channel = analysis.matched.channels[static_cast<size_t>(instance.channel)];
  if (MembersIn(meeting) == OperationInstances::SizeOf(channel, *analysis.trace)) return false;
  if (!analysis.matched.Complete(instance, *analysis.trace)) return true;
  const absl::Span<const uint32_t> members = analysis.matched.MembersOf(instance);
  return std::any_of(members.begin(), members.end(), [&](uint32_t operation) {
    const StepRange& range = analysis.steps.Of(static_cast<size_t>(analysis.matched.rank_of[operation]), step_);
    return !range.complete && (operation < range.begin || operation >= range.end);
  });
}

// Whoever left no record may be the one that the others waited for: then the shortest known time inside is a wait. What
// complete instances took, of the same channel or at least kind, is the better guess.
void StepReplay::TrustIncompleteLess(const TraceAnalysis& analysis) {
  std::vector<uint32_t> recorded(instance_.size(), 0);
  for (size_t node = 0; node < nodes_.size(); ++node) recorded[nodes_[node].meeting] += duration_[node] >= 0 ? 1 : 0;
  // A member may be recorded and yet stand outside of the step, because its own step could not be made out.
  const auto is_complete = [&](uint32_t meeting) {
    const OperationInstance& instance = analysis.matched.instances[instance_[meeting]];
    const OperationChannel& channel = analysis.matched.channels[static_cast<size_t>(instance.channel)];
    return recorded[meeting] == OperationInstances::SizeOf(channel, *analysis.trace);
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
    return KindOf(analysis.roles, analysis.trace->operations[like_[node]]);
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
    float& transfer = recorded_transfer_[meeting];
    auto typical = static_cast<float>(NearestCompleteSeconds(analysis, instance_[meeting]));
    // Send and Recv are two kinds; either tells what the transfer takes.
    if (typical < 0) typical = usual[kind_of(meeting)];
    if (typical >= 0 && (transfer < 0 || typical < transfer)) transfer = typical;
    transfer = std::max(transfer, 0.0F);
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

void StepReplay::Shorten(const Counterfactual::OwnTime& changed, size_t lane) {
  const auto rank = static_cast<size_t>(changed.rank);
  const auto own_of = [this](size_t one) { return OwnOf(one); };
  shortened_.assign(OwnOf(rank).begin(), OwnOf(rank).end());
  const double own_seconds = std::accumulate(shortened_.begin(), shortened_.end(), 0.0);
  TakeOffExcess((1 - static_cast<double>(changed.scale)) * own_seconds + static_cast<double>(changed.less),
                OwnTimesOfPeers(rank, analysis_->PeersByWaitingOf(rank), shortens_, own_of),
                absl::MakeSpan(shortened_));
  for (size_t i = 0; i < shortened_.size(); ++i) own_[first_node_[rank] + i][lane] = shortened_[i];
}

void StepReplay::Prepare(const Counterfactual& counterfactual, size_t lane) {
  CHECK(counterfactual.own_of_node.empty() ||
        (counterfactual.own.empty() && counterfactual.own_of_node.size() == recorded_own_.size()));
  const std::vector<float>& own = counterfactual.own_of_node.empty() ? recorded_own_ : counterfactual.own_of_node;
  for (size_t node = 0; node < own.size(); ++node) own_[node][lane] = own[node];
  for (size_t meeting = 0; meeting < instance_.size(); ++meeting) {
    meetings_[meeting].transfer[lane] = recorded_transfer_[meeting];
  }
  shortens_.assign(first_node_.size(), 0);
  for (const Counterfactual::OwnTime& changed : counterfactual.own) shortens_[static_cast<size_t>(changed.rank)] = 1;
  for (const Counterfactual::OwnTime& changed : counterfactual.own) Shorten(changed, lane);
  for (const Counterfactual::Channel& changed : counterfactual.channels) {
    const OperationChannel& channel = analysis_->matched.channels[static_cast<size_t>(changed.channel)];
    for (uint32_t i = 0; i < channel.instances; ++i) {
      const uint32_t meeting = meeting_of_instance_[channel.first_instance + i];
      if (meeting != kNone) meetings_[meeting].transfer[lane] = recorded_transfer_[meeting] * changed.scale;
    }
  }
}

void StepReplay::Restart() {
  open_.clear();
  for (auto i = static_cast<uint32_t>(nodes_.size()); i > 0; --i) {
    if (nodes_[i - 1].after == kNone) open_.push_back(i - 1);
  }
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
}

std::pair<double, double> StepReplay::RunBoth(const Counterfactual& first, const Counterfactual& second) {
  const std::pair<double, double> lengths = RunOnce(first, second);
  if (lengths.first > 0 || !groups_count_) return lengths;
  // Calls on two streams may begin and end together without being one: as one they would wait for each other.
  groups_count_ = false;
  Prepare(step_);
  return RunOnce(first, second);
}

std::pair<double, double> StepReplay::RunOnce(const Counterfactual& first, const Counterfactual& second) {
  own_.resize(nodes_.size());
  Prepare(first, 0);
  Prepare(second, 1);
  Restart();
  while (!open_.empty()) {
    const uint32_t node = open_.back();
    open_.pop_back();
    Arrive(node);
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

void StepReplay::Wake(uint32_t number, bool after_end) {
  for (uint32_t i = first_next_[number]; i < first_next_[number + 1]; ++i) {
    if (nodes_[next_[i]].after_end == after_end) open_.push_back(next_[i]);
  }
}

void StepReplay::Arrive(uint32_t number) {
  Node& node = nodes_[number];
  Lanes ready{};
  if (node.after != kNone) ready = node.after_end ? nodes_[node.after].end : nodes_[node.after].arrival;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    node.arrival[lane] = ready[lane] + static_cast<double>(own_[number][lane]);
  }
  Meeting& meeting = meetings_[node.meeting];
  node.arrived = true;
  if (meeting.last_arriver == kNone || node.arrival[0] > meeting.last_arrival[0]) meeting.last_arriver = number;
  Lanes eager_end{};
  for (size_t lane = 0; lane < kLanes; ++lane) {
    meeting.last_arrival[lane] = std::max(meeting.last_arrival[lane], node.arrival[lane]);
    eager_end[lane] = node.arrival[lane] + static_cast<double>(meeting.transfer[lane]);
  }
  Wake(number, /*after_end=*/false);
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
  for (uint32_t mate = group; mate < nodes_.size() && nodes_[mate].group == group; ++mate) {
    nodes_[mate].end = first.end;
    nodes_[mate].finished = true;
    Wake(mate, /*after_end=*/true);
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
