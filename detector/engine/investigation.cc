#include "detector/engine/investigation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"
#include "detector/engine/coverage.h"
#include "detector/engine/pulled_trace.h"
#include "detector/engine/slow_group.h"
#include "detector/verdict/reason.h"

namespace lockstep {
namespace {

// Whether most operations have times that tell waiting from working.
bool TellWaitingFromWorking(const std::vector<PulledOperations>& pulled) {
  size_t all = 0;
  size_t blind = 0;
  for (const PulledOperations& batch : pulled) {
    all += batch.operations.size();
    for (const Operation& operation : batch.operations) blind += TellsWaiting(operation.quality) ? 0 : 1;
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

std::vector<PullRequest> Investigation::Begin(const Roster& roster, int64_t watermark_ns, int64_t window_ns,
                                              std::set<std::string> told) {
  if (open() || roster.ranks().empty()) return {};
  told_ = std::move(told);
  window_ns_ = std::clamp(window_ns, options_.min_window_ns, options_.max_window_ns);
  scope_.clear();
  scouts_ = 0;
  bytes_pulled_ = 0;
  bytes_left_ = static_cast<double>(options_.max_bytes);
  return BeginPart(roster, watermark_ns);
}

std::vector<PullRequest> Investigation::Advance(const Roster& roster, int64_t watermark_ns) {
  const bool answered = open() && (awaited_.empty() || watermark_ns - begun_ns_ >= options_.patience_ns);
  if (!answered) return {};
  bytes_pulled_ += PulledBytes();
  if (part_ == Part::kScout) {
    Narrow(roster);
    return BeginPart(roster, watermark_ns);
  }
  Conclude(roster);
  EndRound();
  return {};
}

std::optional<LookedAt> Investigation::Take() {
  std::optional<LookedAt> taken;
  taken.swap(ended_);
  return taken;
}

bool Investigation::EnoughFits(const Roster& roster, const std::vector<int32_t>& slots) const {
  const double bytes = OperationsPerSecond(roster, slots) * options_.operation_bytes +
                       static_cast<double>(MembershipsOf(roster, slots)) * options_.batch_bytes;
  return options_.enough_share * bytes * static_cast<double>(window_ns_) / kNanosPerSecond <= bytes_left_;
}

double Investigation::UnusedBytes() const {
  const auto hosts = static_cast<double>(next_id_ - first_id_);
  const double promised = bytes_asked_ * (1 - static_cast<double>(awaited_.size()) / hosts);
  return std::max(0.0, promised - PulledBytes());
}

double Investigation::PulledBytes() const {
  return static_cast<double>(operations_) * options_.operation_bytes +
         static_cast<double>(pulled_.size()) * options_.batch_bytes;
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

void Investigation::Conclude(const Roster& roster) {
  ++rounds_;
  ended_.emplace();
  ended_->bytes = bytes_pulled_;
  ended_->operations = operations_;
  if (!TellWaitingFromWorking(pulled_)) {
    ended_->judgement.why_not_judged = operations_ == 0 ? Reason(NoRecordsSent{}) : Reason(TimesOfHandingOver{});
    return;
  }
  JobEvidence evidence;
  evidence.trace = TraceOfPulled(roster, scope_, pulled_, missing_);
  ended_->judgement = Judge(evidence, {.min_cost = options_.min_cost,
                                       .told = told_,
                                       .job = {.hosts = roster.hosts().size(), .ranks = roster.ranks().size()},
                                       .remedies = true});
}

void Investigation::ForgetPulled() {
  pulled_.clear();
  pulled_.shrink_to_fit();
  operations_ = 0;
  missing_ = 0;
}

void Investigation::EndRound() {
  part_ = Part::kNone;
  awaited_.clear();
  plan_ = {};
  scope_.clear();
  ForgetPulled();
}

void Investigation::Clear() {
  EndRound();
  ended_.reset();
}

}  // namespace lockstep
