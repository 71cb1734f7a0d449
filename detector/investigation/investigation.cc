#include "detector/investigation/investigation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/diagnosis.h"
#include "detector/investigation/slow_group.h"
#include "detector/trace/trace_builder.h"

namespace lockstep {
namespace {

TraceOperation ToTrace(const Operation& from, int32_t communicator) {
  TraceOperation to;
  to.enqueue_ns = from.enqueue_ns;
  to.start_ns = from.start_ns;
  to.end_ns = from.end_ns;
  to.sequence = from.sequence;
  to.bytes = from.bytes;
  to.communicator = communicator;
  to.peer = from.peer;
  to.kind = from.kind;
  to.quality = from.quality;
  to.tuning = from.tuning;
  return to;
}

// Whether most operations have times that tell waiting from working: not that of being handed over by the host, nor the
// envelope of a network proxy, which begins before the GPU does (NCCL before 2.26).
bool TellWaitingFromWorking(const std::vector<PulledOperations>& pulled) {
  size_t all = 0;
  size_t blind = 0;
  for (const PulledOperations& batch : pulled) {
    all += batch.operations.size();
    for (const Operation& operation : batch.operations) {
      const bool is_blind =
          operation.quality == TimingQuality::kHostEnqueue || operation.quality == TimingQuality::kProxyEnvelope;
      blind += is_blind ? 1 : 0;
    }
  }
  return 2 * blind < all;
}

// Of the ranks `slots` (all when empty), over all communicators.
size_t MembershipsOf(const Roster& roster, const std::vector<int32_t>& slots) {
  size_t memberships = 0;
  for (const int32_t slot : slots) memberships += roster.ranks()[static_cast<size_t>(slot)].memberships.size();
  if (!slots.empty()) return memberships;
  for (const RankProcess& rank : roster.ranks()) memberships += rank.memberships.size();
  return memberships;
}

// The ranks `chosen` (all when empty) as a job: communicators have the members that are chosen, numbered anew.
class TraceOfRanks {
 public:
  TraceOfRanks(const Roster& roster, const std::vector<int32_t>& chosen)
      : roster_(roster), handles_(roster.ranks().size(), chosen.empty() ? 0 : -1) {
    for (const int32_t slot : chosen) handles_[static_cast<size_t>(slot)] = 0;
  }

  Trace Build(const std::vector<PulledOperations>& pulled, uint64_t missing) {
    builder_.AddLost(missing);
    for (size_t slot = 0; slot < handles_.size(); ++slot) {
      if (handles_[slot] >= 0) handles_[slot] = AddRank(slot);
    }
    for (const Communicator& communicator : roster_.communicators()) AddCommunicator(communicator);
    for (const PulledOperations& batch : pulled) AddBatch(batch);
    return builder_.Build();
  }

 private:
  struct Numbers {
    int32_t handle = -1;
    bool is_cut = false;             // members are left out
    std::vector<int32_t> of_member;  // -1 = not chosen
  };

  int32_t AddRank(size_t slot) {
    const RankProcess& process = roster_.ranks()[slot];
    TraceRank rank;
    rank.rank = process.rank;
    rank.host = builder_.AddHost(roster_.HostName(static_cast<int32_t>(slot)));
    rank.gpu = process.gpu;
    rank.pid = process.pid;
    rank.process_state = process.state;
    return builder_.AddRank(rank);
  }

  // Members that have not reported may be chosen or not: they stay missing.
  void AddCommunicator(const Communicator& communicator) {
    Numbers numbers;
    int32_t count = 0;
    bool any = false;
    for (const Member& member : communicator.members) {
      const bool left_out = member.rank_slot >= 0 && handles_[static_cast<size_t>(member.rank_slot)] < 0;
      numbers.of_member.push_back(left_out ? -1 : count++);
      numbers.is_cut = numbers.is_cut || left_out;
      any = any || (member.rank_slot >= 0 && !left_out);
    }
    if (!any) return;
    numbers.handle = builder_.AddCommunicator(absl::StrCat(communicator.id), communicator.name, count);
    for (size_t member = 0; member < communicator.members.size(); ++member) {
      const int32_t slot = communicator.members[member].rank_slot;
      if (slot < 0 || numbers.of_member[member] < 0) continue;
      builder_.AddMember(numbers.handle, numbers.of_member[member], handles_[static_cast<size_t>(slot)]);
    }
    numbers_.emplace(communicator.id, std::move(numbers));
  }

  void AddBatch(const PulledOperations& batch) {
    const int32_t slot = roster_.SlotOfRank(batch.rank);
    const bool same_process =
        slot >= 0 && roster_.ranks()[static_cast<size_t>(slot)].process_start_ticks == batch.process_start_ticks;
    const auto known = numbers_.find(batch.communicator);
    // Where it waits in communicators of unknown size, its time would look like work.
    if (same_process && roster_.ranks()[static_cast<size_t>(slot)].unsized) return;
    if (!same_process || handles_[static_cast<size_t>(slot)] < 0 || known == numbers_.end()) return;
    const Numbers& numbers = known->second;
    for (const Operation& operation : batch.operations) {
      TraceOperation to = ToTrace(operation, numbers.handle);
      // All that were chosen may wait for one that was not: this is no time of a transfer.
      if (numbers.is_cut && to.peer < 0) to.quality = TimingQuality::kHostCall;
      if (to.peer >= 0 && static_cast<size_t>(to.peer) < numbers.of_member.size()) {
        to.peer = numbers.of_member[static_cast<size_t>(to.peer)];
        if (to.peer < 0) continue;
      }
      builder_.Add(handles_[static_cast<size_t>(slot)], to);
    }
  }

  const Roster& roster_;
  TraceBuilder builder_{""};
  std::vector<int32_t> handles_;  // by rank slot; -1 = not chosen
  absl::flat_hash_map<CommunicatorId, Numbers> numbers_;
};

}  // namespace

void Investigation::Observe(const HostReport& report) {
  for (const PullAnswer& answer : report.answers) {
    const bool mine = part_ != Part::kNone && answer.request >= first_id_ && answer.request < next_id_;
    if (!mine || awaited_.erase(report.host) == 0) continue;
    for (const PulledOperations& batch : answer.pulled) {
      if (operations_ + batch.operations.size() > options_.max_operations) {
        discarded_ += batch.operations.size();
        missing_ += batch.operations.size();
        continue;
      }
      operations_ += batch.operations.size();
      pulled_.push_back(batch);
    }
  }
}

std::vector<PullRequest> Investigation::Advance(const Roster& roster, int64_t watermark_ns, bool wanted,
                                                double step_seconds) {
  const bool answered = part_ != Part::kNone && (awaited_.empty() || watermark_ns - begun_ns_ >= options_.patience_ns);
  if (answered && part_ == Part::kScout) {
    Narrow(roster);
    return BeginPart(roster, watermark_ns);
  }
  if (answered) {
    Conclude(roster, watermark_ns);
    EndRound(watermark_ns);
  }
  if (!wanted) {
    if (part_ == Part::kNone) Clear();
    return {};
  }
  if (part_ != Part::kNone || (ended_ns_ != 0 && watermark_ns - ended_ns_ < options_.pause_ns)) return {};
  return Begin(roster, watermark_ns, step_seconds);
}

std::vector<PullRequest> Investigation::Begin(const Roster& roster, int64_t watermark_ns, double step_seconds) {
  if (roster.ranks().empty()) return {};
  window_ns_ = static_cast<int64_t>(std::clamp(options_.steps * step_seconds * kNanosPerSecond,
                                               static_cast<double>(options_.min_window_ns),
                                               static_cast<double>(options_.max_window_ns)));
  scope_.clear();
  scouts_ = 0;
  bytes_left_ = static_cast<double>(options_.max_bytes);
  return BeginPart(roster, watermark_ns);
}

bool Investigation::EnoughFits(const Roster& roster, const std::vector<int32_t>& slots) const {
  const double bytes = OperationsPerSecond(roster, slots) * options_.operation_bytes +
                       static_cast<double>(MembershipsOf(roster, slots)) * options_.batch_bytes;
  return options_.enough_share * bytes * static_cast<double>(window_ns_) / kNanosPerSecond <= bytes_left_;
}

double Investigation::UnusedBytes() const {
  const auto hosts = static_cast<double>(next_id_ - first_id_);
  const double promised = bytes_asked_ * (1 - static_cast<double>(awaited_.size()) / hosts);
  const double used = static_cast<double>(operations_) * options_.operation_bytes +
                      static_cast<double>(pulled_.size()) * options_.batch_bytes;
  return std::max(0.0, promised - used);
}

std::vector<PullRequest> Investigation::BeginPart(const Roster& roster, int64_t watermark_ns) {
  begun_ns_ = watermark_ns;
  plan_ = {};
  const bool may_scout = scouts_ < options_.max_scouts && !EnoughFits(roster, scope_);
  if (may_scout) plan_ = PlanSearch(roster, scope_);
  if (plan_.scouted.empty()) {
    part_ = Part::kAll;
    return Ask(roster, scope_, {}, bytes_left_);
  }
  part_ = Part::kScout;
  ++scouts_;
  return Ask(roster, scope_, plan_.scouted, options_.scout_share * bytes_left_);
}

void Investigation::Narrow(const Roster& roster) {
  const UnitOrder order = OrderUnits(roster, plan_, pulled_);
  SlowGroup group = FindSlowGroup(roster, plan_, pulled_);
  bytes_left_ += UnusedBytes();
  ForgetPulled();
  if (group.excess_seconds > order.latest_seconds) {
    scope_ = std::move(group.ranks);
    scouts_ = options_.max_scouts;
    return;
  }
  std::vector<int32_t> few = SuspectsAndPeers(plan_, order.units);
  if (few.empty()) {
    scouts_ = options_.max_scouts;  // nothing to go by: everything of those in question, as far as it fits
    return;
  }
  std::vector<int32_t> latest = LatestUnit(plan_, order.units);
  const bool goes_on = !EnoughFits(roster, few) && latest.size() >= options_.min_scope;
  scope_ = goes_on ? std::move(latest) : std::move(few);
  if (!goes_on) scouts_ = options_.max_scouts;
}

std::vector<PullRequest> Investigation::Ask(const Roster& roster, const std::vector<int32_t>& slots,
                                            const std::vector<CommunicatorId>& communicators, double bytes) {
  std::map<std::string, std::vector<int32_t>> ranks_of;
  for (const int32_t slot : slots) {
    ranks_of[roster.HostName(slot)].push_back(roster.ranks()[static_cast<size_t>(slot)].rank);
  }
  if (slots.empty()) {
    for (size_t slot = 0; slot < roster.ranks().size(); ++slot) ranks_of[roster.HostName(static_cast<int32_t>(slot))];
  }
  // Each host knows only its own communicators, and is told of no others.
  std::map<std::string, std::vector<CommunicatorId>> communicators_of;
  for (size_t slot = 0; slot < roster.ranks().size() && !communicators.empty(); ++slot) {
    if (!slots.empty() && !std::binary_search(slots.begin(), slots.end(), static_cast<int32_t>(slot))) continue;
    std::vector<CommunicatorId>& here = communicators_of[roster.HostName(static_cast<int32_t>(slot))];
    for (const RankProcess::Membership& place : roster.ranks()[slot].memberships) {
      const CommunicatorId id = roster.communicators()[static_cast<size_t>(place.communicator_slot)].id;
      if (std::binary_search(communicators.begin(), communicators.end(), id)) here.push_back(id);
    }
  }
  if (!communicators.empty())
    std::erase_if(ranks_of, [&](const auto& host) { return communicators_of[host.first].empty(); });
  bytes_asked_ = bytes;
  bytes_left_ -= bytes;
  first_id_ = next_id_;
  std::vector<PullRequest> requests;
  requests.reserve(ranks_of.size());
  for (auto& [host, ranks] : ranks_of) {
    PullRequest& request = requests.emplace_back();
    request.host = host;
    request.id = next_id_++;
    request.newest_ns = window_ns_;
    request.max_bytes = static_cast<uint64_t>(bytes / static_cast<double>(ranks_of.size()));
    request.ranks = std::move(ranks);
    if (communicators.empty()) continue;
    std::vector<CommunicatorId>& here = communicators_of[host];
    std::sort(here.begin(), here.end());
    here.erase(std::unique(here.begin(), here.end()), here.end());
    request.communicators = std::move(here);
  }
  awaited_.clear();
  for (const PullRequest& request : requests) awaited_.insert(request.host);
  return requests;
}

void Investigation::Conclude(const Roster& roster, int64_t watermark_ns) {
  ++rounds_;
  told_.clear();
  candidates_.clear();
  if (!TellWaitingFromWorking(pulled_)) return found_before_.clear();
  looked_ = true;
  JobEvidence evidence;
  evidence.trace = TraceOfRanks(roster, scope_).Build(pulled_, missing_);
  const JobReport report = Diagnose(evidence, {.min_cost = options_.min_cost});
  std::set<std::string> found;
  for (Verdict verdict : report.verdicts) {
    // Observations and abstentions explain nothing.
    if (IsHang(verdict.verdict_class) || verdict.scope == VerdictScope::kUnknown) continue;
    const std::string key = CauseKey(verdict);
    // Steps and times of a trace that begins somewhere mean nothing to anybody else.
    verdict.first_step = verdict.last_step = -1;
    verdict.first_seen_ns = 0;
    verdict.last_seen_ns = watermark_ns;
    if (found_before_.contains(key)) told_.push_back(verdict);
    candidates_.push_back(std::move(verdict));
    found.insert(key);
  }
  found_before_ = std::move(found);
}

void Investigation::ForgetPulled() {
  pulled_.clear();
  pulled_.shrink_to_fit();
  operations_ = 0;
  missing_ = 0;
}

void Investigation::EndRound(int64_t watermark_ns) {
  part_ = Part::kNone;
  ended_ns_ = watermark_ns;
  awaited_.clear();
  plan_ = {};
  scope_.clear();
  ForgetPulled();
}

void Investigation::Clear() {
  EndRound(0);
  found_before_.clear();
  candidates_.clear();
  told_.clear();
  looked_ = false;
}

}  // namespace lockstep
