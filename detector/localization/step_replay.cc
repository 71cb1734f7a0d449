#include "detector/localization/step_replay.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/container/flat_hash_map.h"
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

StepReplay::StepReplay(const TraceAnalysis& analysis, int32_t step) : analysis_(&analysis), step_(step) {
  Collect(analysis);
  Connect(analysis);
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
      after_.push_back(inside ? node_of[interval.after - range.begin] : kNone);
      after_end_.push_back(interval.after_end);
      recorded_own_.push_back(interval.seconds);
      duration_.push_back(static_cast<float>(ToSeconds(trace.operations[i].duration_ns())));
      rank_of_node_.push_back(static_cast<uint32_t>(rank));
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
    const bool joins =
        node > first && IssuedTogether(trace.operations[operation_[group_.back()]], trace.operations[operation_[node]]);
    group_.push_back(joins ? group_.back() : static_cast<uint32_t>(node));
  }
}

void StepReplay::Connect(const TraceAnalysis& analysis) {
  // Instances of the step get consecutive numbers, by the order in which nodes meet them.
  absl::flat_hash_map<uint32_t, uint32_t> number_of;
  number_of.reserve(operation_.size() / 2);
  meeting_.resize(operation_.size());
  for (size_t node = 0; node < operation_.size(); ++node) {
    const uint32_t instance = analysis.matched.instance_of[operation_[node]];
    const auto [it, added] = number_of.try_emplace(instance, static_cast<uint32_t>(instance_.size()));
    if (added) instance_.push_back(instance);
    meeting_[node] = it->second;
  }
  first_member_.assign(instance_.size() + 1, 0);
  for (const uint32_t meeting : meeting_) ++first_member_[meeting + 1];
  for (size_t i = 0; i < instance_.size(); ++i) first_member_[i + 1] += first_member_[i];
  member_.resize(operation_.size());
  recorded_transfer_.assign(instance_.size(), -1);
  std::vector<uint32_t> next(first_member_.begin(), first_member_.end() - 1);
  for (size_t node = 0; node < operation_.size(); ++node) {
    const uint32_t meeting = meeting_[node];
    member_[next[meeting]++] = static_cast<uint32_t>(node);
    float& transfer = recorded_transfer_[meeting];
    if (transfer < 0 || duration_[node] < transfer) transfer = duration_[node];
  }
  TrustIncompleteLess(analysis);
  TrustGroupsLess(analysis);
  eager_.assign(operation_.size(), 0);
  for (size_t node = 0; node < operation_.size(); ++node) {
    eager_[node] = analysis.trace->operations[operation_[node]].kind == OperationKind::kSend && !Grouped(node) &&
                   duration_[node] <= kWaited * recorded_transfer_[meeting_[node]];
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
  const size_t kinds = static_cast<size_t>(analysis.roles.families) * kOperationKinds;
  std::vector<std::vector<double>> complete(kinds);
  std::vector<uint32_t> incomplete;
  const auto kind_of = [&](uint32_t meeting) {
    const uint32_t node = member_[first_member_[meeting]];
    return KindOf(analysis.roles, analysis.trace->operations[operation_[node]]);
  };
  for (uint32_t meeting = 0; meeting < instance_.size(); ++meeting) {
    const OperationInstance& instance = analysis.matched.instances[instance_[meeting]];
    // A member may be recorded and yet stand outside of the step, because its own step could not be made out.
    const size_t members = first_member_[meeting + 1] - first_member_[meeting];
    const OperationChannel& channel = analysis.matched.channels[static_cast<size_t>(instance.channel)];
    if (members == OperationInstances::SizeOf(channel, *analysis.trace)) {
      complete[kind_of(meeting)].push_back(static_cast<double>(recorded_transfer_[meeting]));
    } else {
      incomplete.push_back(meeting);
    }
  }
  if (incomplete.empty()) return;
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
  absl::flat_hash_map<int32_t, float> quickest;
  const auto channel_of = [&](size_t meeting) { return analysis.matched.instances[instance_[meeting]].channel; };
  for (size_t meeting = 0; meeting < instance_.size(); ++meeting) {
    const auto [found, fresh] = quickest.try_emplace(channel_of(meeting), recorded_transfer_[meeting]);
    if (!fresh) found->second = std::min(found->second, recorded_transfer_[meeting]);
  }
  for (size_t node = 0; node < operation_.size(); ++node) {
    if (!Grouped(node)) continue;
    float& transfer = recorded_transfer_[meeting_[node]];
    const float alone = quickest.at(channel_of(meeting_[node]));
    if (transfer > kWaited * alone) transfer = alone;
  }
}

void StepReplay::Prepare(const Healing& healing) {
  CHECK(healing.own_of_node.empty() || healing.own_of_node.size() == recorded_own_.size());
  own_ = healing.own_of_node.empty() ? recorded_own_ : healing.own_of_node;
  transfer_ = recorded_transfer_;
  for (const Healing::OwnTime& healed : healing.own) {
    const auto rank = static_cast<size_t>(healed.rank);
    uint32_t largest = kNone;
    for (uint32_t node = first_node_[rank]; node < first_node_[rank + 1]; ++node) {
      own_[node] *= healed.scale;
      if (largest == kNone || own_[node] > own_[largest]) largest = node;
    }
    if (largest != kNone) own_[largest] = std::max(0.0F, own_[largest] - healed.largest_less);
  }
  if (!healing.channels.empty()) {
    absl::flat_hash_map<int32_t, float> scale_of;
    for (const Healing::Channel& channel : healing.channels) scale_of[channel.channel] = channel.scale;
    for (size_t meeting = 0; meeting < instance_.size(); ++meeting) {
      const auto found = scale_of.find(analysis_->matched.instances[instance_[meeting]].channel);
      if (found != scale_of.end()) transfer_[meeting] *= found->second;
    }
  }
  arrival_.assign(operation_.size(), 0);
  end_.assign(operation_.size(), 0);
  arrived_.assign(operation_.size(), 0);
  moved_.assign(operation_.size(), 0);
  finished_.assign(operation_.size(), 0);
  unmoved_.assign(operation_.size(), 0);
  for (const uint32_t group : group_) ++unmoved_[group];
  decisive_ = group_;
  missing_.resize(instance_.size());
  last_arriver_.assign(instance_.size(), kNone);
  for (size_t i = 0; i < instance_.size(); ++i) missing_[i] = first_member_[i + 1] - first_member_[i];
  cursor_.assign(first_node_.begin(), first_node_.end() - 1);
  open_.clear();
  for (size_t rank = cursor_.size(); rank > 0; --rank) open_.push_back(static_cast<uint32_t>(rank - 1));
}

double StepReplay::Run(const Healing& healing) {
  Prepare(healing);
  while (!open_.empty()) {
    const uint32_t rank = open_.back();
    open_.pop_back();
    Advance(rank);
  }
  double last = 0;
  size_t finished = 0;
  for (size_t node = 0; node < operation_.size(); ++node) {
    finished += finished_[node] != 0;
    last = std::max(last, end_[node]);
  }
  return static_cast<double>(finished) < kMinFinished * static_cast<double>(operation_.size()) ? 0 : last;
}

void StepReplay::Advance(uint32_t rank) {
  uint32_t& cursor = cursor_[rank];
  while (cursor < first_node_[rank + 1]) {
    const uint32_t after = after_[cursor];
    double ready = 0;
    if (after != kNone) {
      if ((after_end_[cursor] != 0 ? finished_[after] : arrived_[after]) == 0) return;
      ready = after_end_[cursor] != 0 ? end_[after] : arrival_[after];
    }
    arrival_[cursor] = ready + static_cast<double>(own_[cursor]);
    Arrive(cursor++);
  }
}

void StepReplay::Arrive(uint32_t node) {
  const uint32_t meeting = meeting_[node];
  arrived_[node] = 1;
  uint32_t& last = last_arriver_[meeting];
  if (last == kNone || arrival_[node] > arrival_[last]) last = node;
  if (eager_[node] != 0) Move(node, arrival_[node] + static_cast<double>(transfer_[meeting]));
  if (--missing_[meeting] == 0) Finish(meeting);
}

void StepReplay::Finish(uint32_t meeting) {
  const double end = arrival_[last_arriver_[meeting]] + static_cast<double>(transfer_[meeting]);
  for (uint32_t i = first_member_[meeting]; i < first_member_[meeting + 1]; ++i) {
    if (moved_[member_[i]] == 0) Move(member_[i], end);
  }
}

void StepReplay::Move(uint32_t node, double end) {
  moved_[node] = 1;
  end_[node] = end;
  const uint32_t group = group_[node];
  if (end > end_[decisive_[group]]) decisive_[group] = node;
  if (--unmoved_[group] > 0) return;
  const double last = end_[decisive_[group]];
  const uint32_t rank = rank_of_node_[node];
  for (uint32_t mate = group; mate < group_.size() && group_[mate] == group; ++mate) {
    end_[mate] = last;
    finished_[mate] = 1;
    // Whoever stands right behind it, or further on, may go on now.
    if (cursor_[rank] < first_node_[rank + 1] && after_[cursor_[rank]] == mate) open_.push_back(rank);
  }
}

std::vector<StepReplay::Link> StepReplay::CriticalPath() const {
  std::vector<Link> path;
  uint32_t node = kNone;
  for (uint32_t i = 0; i < operation_.size(); ++i) {
    if (finished_[i] != 0 && (node == kNone || end_[i] > end_[node])) node = i;
  }
  bool through_end = true;
  while (node != kNone && path.size() < operation_.size()) {
    // From an end to the member that arrived last; from an arrival on along the rank's own history.
    if (through_end) node = decisive_[group_[node]];
    const uint32_t meeting = meeting_[node];
    const uint32_t arriver = through_end && eager_[node] == 0 ? last_arriver_[meeting] : node;
    Link link;
    link.operation = operation_[arriver];
    link.rank = static_cast<int32_t>(rank_of_node_[arriver]);
    link.own_seconds = own_[arriver];
    link.transfer_seconds = through_end ? transfer_[meeting] : 0;
    link.waited = arriver != node;
    path.push_back(link);
    through_end = after_end_[arriver] != 0;
    node = after_[arriver];
  }
  return path;
}

}  // namespace lockstep
