#include "detector/job_engine.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "detector/collectives/collective_analysis.h"
#include "detector/collectives/slow_verdict.h"
#include "detector/counter_outliers.h"
#include "detector/counters/counter_stream.h"
#include "detector/counters/group_member.h"
#include "detector/events/event_judge.h"
#include "detector/evidence_log.h"
#include "detector/investigation/close_look.h"
#include "detector/places/place_table.h"
#include "detector/progress/hang_search.h"
#include "detector/progress/hang_timeout.h"
#include "detector/progress/hang_verdict.h"
#include "detector/progress/liveness.h"
#include "detector/ras/ras_evidence.h"
#include "detector/ras/ras_memory.h"
#include "detector/ras/ras_verdict.h"
#include "detector/roster.h"
#include "detector/size_inference.h"
#include "detector/verdict_merge.h"
#include "detector/wording.h"

namespace lockstep {
namespace {

constexpr int64_t kFreshNs = 5 * kNanosPerSecond;      // without a report for this long there is nothing to conclude
constexpr int64_t kAfterHangNs = 3 * kNanosPerSecond;  // a hang's last step must not open a second cause
constexpr int kTooManyUnusableBlocks = 8;
constexpr double kIrregularSpread = 3.0;  // longest usual step / median step

CollectiveAnalysisOptions AnalysisOptions(const JobEngineOptions& options) {
  CollectiveAnalysisOptions analysis;
  analysis.search.min_own_time_ratio = options.min_own_time_ratio;
  analysis.search.min_step_cost = options.min_step_cost;
  analysis.slow.min_own_time_ratio = options.min_own_time_ratio;
  analysis.slow.min_step_cost = options.min_step_cost;
  analysis.slow.min_persistence = options.min_persistence;
  analysis.slow.min_steps = options.min_steps;
  analysis.slow.min_significance = options.min_significance;
  analysis.slow.min_weak_share = options.min_weak_share;
  analysis.slow.window_blocks = options.window_steps;
  analysis.slow.min_span_seconds = static_cast<double>(options.min_persistence_ns) / kNanosPerSecond;
  analysis.max_instances = options.max_open_instances_per_communicator;
  return analysis;
}

}  // namespace

class JobEngine::State {
 public:
  explicit State(const JobEngineOptions& options)
      : options_(options),
        roster_({.max_ranks = options.max_ranks, .max_communicators = options.max_communicators}),
        analysis_(AnalysisOptions(options)),
        counters_(options.max_series),
        close_look_(options.min_step_cost) {}

  void Observe(const HostReport& report);
  void ObservePlaces(const std::string& host, const Places& places);
  Conclusion Evaluate(int64_t watermark_ns);
  JobSummary Summary() const;
  std::vector<RankSummary> Ranks() const;

 private:
  void ObserveRank(int32_t host_slot, const RankView& view, const HostReport& report);
  void BeginIncarnation();
  std::vector<Verdict> FindHangs(int64_t watermark_ns);
  Conclusion ConcludeByRas(int64_t watermark_ns);
  Conclusion ConcludeByHosts(int64_t watermark_ns);
  std::vector<Verdict> FindSlowRanks(int64_t watermark_ns, bool hung);
  bool IsExplained() const;
  void Investigate(int64_t watermark_ns, const std::vector<MemberSign>& signs, Conclusion* conclusion);
  // What kernel logs and error counters say.
  std::vector<HardwareFinding> Findings(int64_t watermark_ns) const {
    return JoinFindings(events_.Findings(watermark_ns), counters_.Findings(watermark_ns));
  }
  void AppendFindings(const std::vector<HardwareFinding>& findings, int64_t watermark_ns,
                      std::vector<Verdict>* verdicts) const;
  void Stamp(int64_t watermark_ns, std::vector<Verdict>* verdicts);
  void Judge(int64_t watermark_ns, const std::vector<Verdict>& verdicts);

  JobEngineOptions options_;
  Roster roster_;
  SizeInference sizes_;
  CollectiveAnalysis analysis_;
  CounterStream counters_;
  EvidenceLog log_;
  EventJudge events_;
  CloseLook close_look_;
  RasMemory ras_;
  RasJudgement by_ras_;  // where records of operations do not tell
  HangSearch hang_search_;
  std::vector<SlowRank> slow_;
  CounterOutliers outliers_;
  PlaceTable places_;
  NarrowedGroups narrowed_;
  std::map<std::string, int64_t> first_seen_ns_;  // by cause key, of what holds now
  int64_t newest_report_ns_ = 0;
  int64_t last_hang_ns_ = 0;
  int64_t watermark_ns_ = 0;
  uint64_t records_lost_ = 0;         // by agents
  uint64_t records_lost_before_ = 0;  // by recorders of earlier incarnations
  uint64_t discarded_before_ = 0;
  uint64_t records_before_ = 0;
  uint64_t places_refused_ = 0;
  bool ended_ = false;
  JobState state_ = JobState::kUnknown;
  std::string note_ = "No report yet.";
};

void JobEngine::State::BeginIncarnation() {
  for (const RankProcess& rank : roster_.ranks()) records_lost_before_ += rank.lost;
  records_before_ += analysis_.records();
  discarded_before_ += analysis_.discarded();
  roster_.Retire();
  analysis_ = CollectiveAnalysis(AnalysisOptions(options_));
  sizes_.Clear();
  ras_.Clear();
  by_ras_ = {};
  hang_search_ = {};
  slow_.clear();
  narrowed_.Clear();
  first_seen_ns_.clear();
  last_hang_ns_ = 0;
  close_look_.Clear();
}

void JobEngine::State::ObserveRank(int32_t host_slot, const RankView& view, const HostReport& report) {
  const Roster::Admission admission = roster_.Admit(report.host, view);
  if (admission == Roster::Admission::kIgnored) return;
  if (admission == Roster::Admission::kNewIncarnation) BeginIncarnation();
  const int32_t known = roster_.SlotOfRank(view.rank);
  const uint64_t lost_before = known >= 0 ? roster_.ranks()[static_cast<size_t>(known)].lost : view.operations_lost;
  RankProcess* const rank = roster_.Update(host_slot, view, report.received_ns, report.host_ns);
  if (rank == nullptr) return;
  const int32_t slot = roster_.SlotOfRank(view.rank);
  bool holes = report.dropped_records > 0 || view.operations_lost > lost_before;
  if (holes) sizes_.NoteLoss();
  for (const CommunicatorView& communicator : view.communicators) {
    const int32_t size = sizes_.Observe(view.rank, communicator, report.received_ns, &roster_);
    rank->unsized = rank->unsized || (size == 0 && !communicator.freed);
    holes = holes || (size == 0 && !communicator.operations.empty());
    const Roster::Place place = size > 0 ? roster_.Join(slot, communicator, size) : Roster::Place();
    if (place.member < 0) continue;
    analysis_.Collect(place, communicator);
    close_look_.ObserveTransfers(slot, place, communicator.transfers, report.received_ns);
  }
  analysis_.Finish(&roster_, slot, holes);
}

void JobEngine::State::Observe(const HostReport& report) {
  const int32_t host_slot = roster_.TouchHost(report.host, report.received_ns);
  if (host_slot < 0) return;
  newest_report_ns_ = std::max(newest_report_ns_, report.received_ns);
  records_lost_ += report.dropped_records;
  for (const RankView& view : report.ranks) ObserveRank(host_slot, view, report);
  if (report.ras.has_value()) ras_.Observe(report.host, *report.ras, report.received_ns, report.host_ns);
  // Machines that no job claims do not work together: there is nothing to compare.
  counters_.Observe(host_slot, report, /*compared=*/!roster_.ranks().empty());
  for (const KernelEvent& event : report.kernel_events) {
    log_.Add(report.host, event, report.received_ns);
    events_.Observe(report.host, event, report.received_ns);
  }
  analysis_.Advance(roster_, report.received_ns);
  close_look_.Observe(report);
}

void JobEngine::State::ObservePlaces(const std::string& host, const Places& places) {
  const auto known = places_.of_host.find(host);
  if (!AnyKnown(places)) {
    places_.of_host.erase(host);
  } else if (known != places_.of_host.end()) {
    known->second = places;
  } else if (places_.of_host.size() < kMaxPlacedHosts) {
    places_.of_host.emplace(host, places);
  } else {
    ++places_refused_;
  }
}

std::vector<Verdict> JobEngine::State::FindHangs(int64_t watermark_ns) {
  hang_search_ = {};
  const std::vector<DeadProcess> dead = FindDeadProcesses(roster_);
  std::vector<SilentHost> silent;
  const double longest_step_seconds = analysis_.clock().LongestUsualStepSeconds();
  if (StartedUp(roster_, analysis_.anchor_slot())) {
    const int64_t timeout_ns =
        HangTimeoutNs(roster_, longest_step_seconds,
                      {.floor_ns = options_.hang_floor_ns, .step_multiple = options_.hang_step_multiple});
    hang_search_ = SearchHangs(roster_, {.timeout_ns = timeout_ns, .host_silent_ns = options_.host_silent_ns});
    silent = FindSilentHosts(roster_, watermark_ns, options_.host_silent_ns);
  }
  const HangContext context{.roster = &roster_,
                            .log = &log_,
                            .watermark_ns = watermark_ns,
                            .longest_usual_step_seconds = longest_step_seconds,
                            .step = analysis_.newest_step()};
  std::vector<Verdict> verdicts = BuildHangVerdicts(context, hang_search_.hangs, dead, silent);
  AddRasEvidence(roster_, ras_, watermark_ns, &verdicts);
  by_ras_ = {};
  if (!verdicts.empty() || (hang_search_.stuck_ranks == 0 && !roster_.communicators().empty())) return verdicts;
  by_ras_ = JudgeByRas(roster_, ras_, watermark_ns, hang_search_.stuck_ranks > 0);
  return by_ras_.verdicts;
}

// No rank is known: idle hosts, and jobs that nobody records. What a host says of itself holds. What it does has nobody
// to be compared with, and an agent that falls silent may have been stopped.
JobEngine::Conclusion JobEngine::State::ConcludeByHosts(int64_t watermark_ns) {
  Conclusion conclusion;
  conclusion.can_conclude = newest_report_ns_ != 0 && watermark_ns - newest_report_ns_ <= kFreshNs;
  state_ = JobState::kUnknown;
  note_ = conclusion.can_conclude ? "No rank has reported: hosts are judged by error counters and kernel logs alone."
                                  : "No rank and no host reports.";
  if (conclusion.can_conclude) AppendFindings(Findings(watermark_ns), watermark_ns, &conclusion.verdicts);
  Stamp(watermark_ns, &conclusion.verdicts);
  return conclusion;
}

// A job of which nothing is known but what NCCL says.
JobEngine::Conclusion JobEngine::State::ConcludeByRas(int64_t watermark_ns) {
  Conclusion conclusion;
  conclusion.can_conclude = true;
  by_ras_ = JudgeByRas(roster_, ras_, watermark_ns, /*stands_still=*/false);
  conclusion.verdicts = by_ras_.verdicts;
  AppendFindings(Findings(watermark_ns), watermark_ns, &conclusion.verdicts);
  state_ = by_ras_.verdicts.empty() ? JobState::kUnknown : JobState::kHung;
  note_ = Sentences({"No recorder tells of this job, NCCL's RAS service does.", by_ras_.why_none});
  Stamp(watermark_ns, &conclusion.verdicts);
  return conclusion;
}

std::vector<Verdict> JobEngine::State::FindSlowRanks(int64_t watermark_ns, bool hung) {
  // While nothing moves, nothing is learnt about slowness: what held before holds on, and nothing is added.
  const bool shaken =
      hung || hang_search_.stuck_ranks > 0 || (last_hang_ns_ != 0 && watermark_ns - last_hang_ns_ < kAfterHangNs);
  if (!shaken) slow_ = analysis_.slow_ranks().Find();
  std::vector<Verdict> verdicts;
  for (const SlowRank& slow : slow_) {
    verdicts.push_back(BuildSlowVerdict(roster_, slow, watermark_ns));
    const std::string& host = verdicts.back().culprits.front().host;
    for (Evidence& evidence : log_.About(host, watermark_ns)) verdicts.back().evidence.push_back(std::move(evidence));
  }
  return verdicts;
}

bool JobEngine::State::IsExplained() const {
  if (state_ == JobState::kHung) return true;  // progress tells
  const int32_t anchor = analysis_.anchor_slot();
  const bool all_compared =
      anchor >= 0 && roster_.communicators()[static_cast<size_t>(anchor)].members.size() >= roster_.ranks().size();
  return all_compared && (state_ == JobState::kHealthy || !slow_.empty());
}

// What only all operations and transfers tell: jobs without one communicator over all ranks, links, structure.
void JobEngine::State::Investigate(int64_t watermark_ns, const std::vector<MemberSign>& signs, Conclusion* conclusion) {
  const StepClock& clock = analysis_.clock();
  const JobView job = {.explained = IsExplained(),
                       .irregular = state_ == JobState::kIrregular,
                       .culprit_known = state_ == JobState::kHung || !slow_.empty(),
                       .median_step_seconds = clock.MedianStepSeconds(),
                       .recent_step_seconds = clock.RecentMedianStepSeconds(),
                       .operations_per_step = clock.anchors_per_step()};
  Wishes wishes = close_look_.Advance(roster_, watermark_ns, job);
  conclusion->requests = std::move(wishes.pulls);
  conclusion->watches = std::move(wishes.watches);
  std::vector<Verdict> close = close_look_.verdicts();
  narrowed_.Apply(signs, {.begin_ms = 0, .end_ms = watermark_ns / kNanosPerMilli}, &close);
  MergeVerdicts(close, &conclusion->verdicts);
  if (state_ != JobState::kHung && state_ != JobState::kSlow && close_look_.accuses()) {
    state_ = JobState::kSlow;
    note_ = absl::StrFormat("Steps take %s: see the verdicts.", Duration(job.recent_step_seconds));
  }
}

void JobEngine::State::AppendFindings(const std::vector<HardwareFinding>& findings, int64_t watermark_ns,
                                      std::vector<Verdict>* verdicts) const {
  const auto stands = [this](const Verdict& verdict) { return first_seen_ns_.contains(CauseKey(verdict)); };
  MergeFindings(FindingVerdicts(findings, watermark_ns), stands, verdicts);
}

// Since when each cause holds, without interruption: the onset that its finder saw when it was first found.
void JobEngine::State::Stamp(int64_t watermark_ns, std::vector<Verdict>* verdicts) {
  std::map<std::string, int64_t> first_seen_ns;
  std::vector<std::pair<std::string, Verdict>> keyed;
  for (Verdict& verdict : *verdicts) {
    std::string key = CauseKey(verdict);
    const auto known = first_seen_ns_.find(key);
    const int64_t onset_ns = verdict.first_seen_ns > 0 ? verdict.first_seen_ns : watermark_ns;
    verdict.first_seen_ns = known == first_seen_ns_.end() ? onset_ns : known->second;
    verdict.last_seen_ns = watermark_ns;
    if (!first_seen_ns.emplace(key, verdict.first_seen_ns).second) continue;  // one verdict per cause: the first
    keyed.emplace_back(std::move(key), std::move(verdict));
  }
  std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  verdicts->clear();
  for (auto& [key, verdict] : keyed) verdicts->push_back(std::move(verdict));
  first_seen_ns_ = std::move(first_seen_ns);
}

void JobEngine::State::Judge(int64_t watermark_ns, const std::vector<Verdict>& verdicts) {
  const StepClock& clock = analysis_.clock();
  const bool hung = last_hang_ns_ == watermark_ns && hang_search_.stuck_ranks > 0;
  const double median = clock.MedianStepSeconds();
  if (hung || (last_hang_ns_ == watermark_ns && !verdicts.empty() && hang_search_.longest_wait_ns > 0)) {
    state_ = JobState::kHung;
    note_ = absl::StrFormat("%d ranks are stuck inside collectives, the longest for %s.", hang_search_.stuck_ranks,
                            Duration(static_cast<double>(hang_search_.longest_wait_ns) / kNanosPerSecond));
  } else if (hang_search_.stuck_ranks > 0) {
    state_ = JobState::kHung;
    note_ = Sentences({absl::StrFormat("%d ranks are stuck inside collectives, and the data does not tell why.",
                                       hang_search_.stuck_ranks),
                       by_ras_.why_none});
  } else if (!by_ras_.verdicts.empty()) {
    state_ = JobState::kHung;
    note_ = "NCCL's RAS service names who holds the job up.";
  } else if (hang_search_.all_outside) {
    state_ = JobState::kIrregular;
    note_ = absl::StrFormat("Pause: every rank has been outside collectives for at least %s.",
                            Duration(static_cast<double>(hang_search_.shortest_idle_ns) / kNanosPerSecond));
  } else if (!slow_.empty()) {
    state_ = JobState::kSlow;
    note_ = absl::StrFormat("%d slow %s.", slow_.size(), slow_.size() == 1 ? "rank" : "ranks");
  } else if (median <= 0) {
    state_ = JobState::kUnknown;
    note_ = Sentences({"No steps seen yet.", by_ras_.why_none, sizes_.why_unknown()});
  } else if (analysis_.unusable_blocks() >= kTooManyUnusableBlocks) {
    state_ = JobState::kUnknown;
    note_ = "Steps go on, but operation records or times are missing: slow ranks cannot be found.";
  } else if (clock.LongestUsualStepSeconds() > kIrregularSpread * median) {
    state_ = JobState::kIrregular;
    note_ = absl::StrFormat("Step times vary: median %s, longest usual %s; no rank is to blame.", Duration(median),
                            Duration(clock.LongestUsualStepSeconds()));
  } else {
    state_ = JobState::kHealthy;
    note_ = absl::StrFormat("Steps take %s (median).", Duration(median));
  }
}

JobEngine::Conclusion JobEngine::State::Evaluate(int64_t watermark_ns) {
  watermark_ns_ = watermark_ns;
  Conclusion conclusion;
  ended_ = AllOver(roster_);
  if (ended_) {
    state_ = JobState::kEnded;
    note_ = "All ranks have ended.";
    slow_.clear();
    first_seen_ns_.clear();
    conclusion.can_conclude = true;
    return conclusion;
  }
  if (roster_.ranks().empty()) {
    return ras_.Speaks(watermark_ns) ? ConcludeByRas(watermark_ns) : ConcludeByHosts(watermark_ns);
  }
  conclusion.can_conclude = watermark_ns - newest_report_ns_ <= kFreshNs;
  if (!conclusion.can_conclude) {
    state_ = JobState::kUnknown;
    note_ = "No host of the job reports any more.";
    return conclusion;
  }
  sizes_.Infer(roster_, watermark_ns);
  conclusion.verdicts = FindHangs(watermark_ns);
  const bool hung = !conclusion.verdicts.empty();
  if (hung) last_hang_ns_ = watermark_ns;
  for (Verdict& verdict : FindSlowRanks(watermark_ns, hung)) conclusion.verdicts.push_back(std::move(verdict));
  const std::vector<HardwareFinding> findings = Findings(watermark_ns);
  for (Verdict& verdict : conclusion.verdicts) AddCounterFindings(findings, watermark_ns, verdict);
  AppendFindings(findings, watermark_ns, &conclusion.verdicts);
  Judge(watermark_ns, conclusion.verdicts);
  outliers_.Find({.counters = counters_,
                  .roster = roster_,
                  .places = places_,
                  .may_accuse = analysis_.records() == 0,
                  .min_hosts = options_.min_peer_hosts,
                  .watermark_ns = watermark_ns});
  Investigate(watermark_ns, outliers_.NetworkSigns(findings), &conclusion);
  outliers_.AddTo(&conclusion.verdicts);
  Stamp(watermark_ns, &conclusion.verdicts);
  return conclusion;
}

JobSummary JobEngine::State::Summary() const {
  JobSummary summary;
  const StepClock& clock = analysis_.clock();
  summary.state = state_;
  summary.note = note_;
  summary.steps = clock.steps();
  summary.step_seconds_median = clock.MedianStepSeconds();
  const double recent = clock.RecentStepSeconds();
  const bool moving = state_ != JobState::kHung && state_ != JobState::kEnded && !hang_search_.all_outside;
  summary.steps_per_second = moving && recent > 0 ? 1 / recent : 0;
  summary.world_size = roster_.world_size();
  summary.records_observed = records_before_ + analysis_.records();
  summary.records_lost = records_lost_ + records_lost_before_;
  for (const RankProcess& rank : roster_.ranks()) summary.records_lost += rank.lost;
  summary.records_discarded = discarded_before_ + analysis_.discarded() + roster_.refused() + counters_.discarded() +
                              log_.dropped() + events_.refused() + ras_.refused() + sizes_.refused() +
                              close_look_.discarded() + places_refused_;
  return summary;
}

std::vector<RankSummary> JobEngine::State::Ranks() const {
  std::vector<RankSummary> ranks(roster_.ranks().size());
  for (size_t slot = 0; slot < ranks.size(); ++slot) {
    const RankProcess& process = roster_.ranks()[slot];
    RankSummary& rank = ranks[slot];
    rank.rank = process.rank;
    rank.host = roster_.HostName(static_cast<int32_t>(slot));
    rank.pid = process.pid;
    rank.local_rank = process.local_rank;
    rank.gpu = process.gpu;
    rank.process_state = process.state;
    rank.finalized = process.finalized;
    rank.lost_records = process.lost;
    rank.last_seen_ns = process.received_ns;
    for (const RankProcess::Membership& place : process.memberships) {
      const Member& member = roster_.communicators()[static_cast<size_t>(place.communicator_slot)]
                                 .members[static_cast<size_t>(place.member)];
      rank.enqueued += member.enqueued;
      rank.finished += member.finished;
    }
  }
  if (!analysis_.slow_ranks().blocks().empty()) {
    const BlockSummary& block = analysis_.slow_ranks().blocks().back();
    for (size_t i = 0; i < block.rank_slots.size(); ++i) {
      RankSummary& rank = ranks[static_cast<size_t>(block.rank_slots[i])];
      rank.own_seconds_per_step = block.own_seconds[i];
      rank.wait_seconds_per_step = std::max(0.0, block.step_seconds - block.own_seconds[i]);
    }
  }
  std::sort(ranks.begin(), ranks.end(), [](const RankSummary& a, const RankSummary& b) { return a.rank < b.rank; });
  return ranks;
}

JobEngine::JobEngine(const JobEngineOptions& options) : state_(std::make_unique<State>(options)) {}
JobEngine::~JobEngine() = default;
void JobEngine::Observe(const HostReport& report) { state_->Observe(report); }
void JobEngine::ObservePlaces(const std::string& host, const Places& places) { state_->ObservePlaces(host, places); }
JobEngine::Conclusion JobEngine::Evaluate(int64_t watermark_ns) { return state_->Evaluate(watermark_ns); }
JobSummary JobEngine::summary() const { return state_->Summary(); }
std::vector<RankSummary> JobEngine::ranks() const { return state_->Ranks(); }

}  // namespace lockstep
