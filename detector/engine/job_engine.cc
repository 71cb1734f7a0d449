#include "detector/engine/job_engine.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "detector/counters/counter_stream.h"
#include "detector/counters/group_member.h"
#include "detector/engine/close_look.h"
#include "detector/engine/counter_outliers.h"
#include "detector/engine/job_end.h"
#include "detector/engine/rank_summary.h"
#include "detector/engine/silent_job.h"
#include "detector/engine/steps_state.h"
#include "detector/hang/lasting_hangs.h"
#include "detector/hang/live_hangs.h"
#include "detector/hang/liveness.h"
#include "detector/hardware/event_judge.h"
#include "detector/hardware/evidence_log.h"
#include "detector/hardware/ras_evidence.h"
#include "detector/hardware/ras_memory.h"
#include "detector/hardware/ras_verdict.h"
#include "detector/model/place_table.h"
#include "detector/model/rank_rivals.h"
#include "detector/model/roster.h"
#include "detector/model/size_inference.h"
#include "detector/verdict/roster_names.h"
#include "detector/verdict/verdict_merge.h"
#include "detector/verdict/wording.h"

namespace lockstep {
namespace {

constexpr int64_t kFreshNs = 5 * kNanosPerSecond;  // without a report for this long there is nothing to conclude
// A job without a record for this long is one that nobody records: counters alone judge it.
constexpr int64_t kUnrecordedNs = 60 * kNanosPerSecond;
constexpr int64_t kAfterHangNs = 3 * kNanosPerSecond;  // a hang's last step must not open a second cause

}  // namespace

class JobEngine::State {
 public:
  explicit State(const JobEngineOptions& options)
      : options_(options),
        roster_({.max_ranks = options.max_ranks,
                 .max_communicators = options.max_communicators,
                 .host_silent_ns = options.host_silent_ns}),
        rivals_(static_cast<size_t>(options.max_ranks), options.host_silent_ns),
        counters_(options.max_series),
        close_look_(options.min_step_cost) {}

  void Observe(const HostReport& report);
  void ObservePlaces(const std::string& host, const Places& places);
  Conclusion Evaluate(int64_t watermark_ns, const FleetSight& fleet);
  void Resume(int64_t watermark_ns) {
    roster_.ForgiveSilence(watermark_ns);
    silence_.Clear();
    close_look_.Resume(watermark_ns);
    has_judged_ = false;
  }
  JobSummary Summary() const;
  const SeenLedger& ledger() const { return close_look_.ledger(); }
  std::vector<RankSummary> Ranks() const {
    return SummarizeRanks(roster_, close_look_.work(), close_look_.pace().RecentSeconds());
  }

 private:
  void ObserveRank(int32_t host_slot, const RankView& view, const HostReport& report);
  void BeginIncarnation();
  std::vector<Verdict> FindHangs(int64_t watermark_ns);
  Conclusion ConcludeEnd(int64_t watermark_ns);
  Conclusion ConcludeByRas(int64_t watermark_ns);
  Conclusion ConcludeByHosts(int64_t watermark_ns);
  Conclusion ConcludeSilence(int64_t watermark_ns, const FleetSight& fleet);
  // What kernel logs and error counters say.
  std::vector<HardwareFinding> Findings(int64_t watermark_ns) const {
    return JoinFindings(events_.Findings(watermark_ns), counters_.Findings(watermark_ns));
  }
  void Look(int64_t watermark_ns, const std::vector<MemberSign>& signs, Conclusion* conclusion);
  void AppendFindings(const std::vector<HardwareFinding>& findings, int64_t watermark_ns,
                      std::vector<Verdict>* verdicts) const;
  void Stamp(int64_t watermark_ns, std::vector<Verdict>* verdicts);
  bool JudgesAll(int64_t watermark_ns) const;
  void Summarize(int64_t watermark_ns);

  JobEngineOptions options_;
  Roster roster_;
  RankRivals rivals_;
  SizeInference sizes_;
  CounterStream counters_;
  EvidenceLog log_;
  EventJudge events_;
  CloseLook close_look_;
  RasMemory ras_;
  RasJudgement by_ras_;  // where records of operations do not tell
  LiveHangs hangs_;      // without their verdicts
  LastingHangs lasting_;
  JobEnd end_;
  SilentJob silence_;
  CounterOutliers outliers_;
  PlaceTable places_;
  NarrowedGroups narrowed_;
  std::map<std::string, int64_t> first_seen_ns_;  // by cause key, of what holds now
  int64_t first_report_ns_ = 0;
  int64_t newest_report_ns_ = 0;
  int64_t last_hang_ns_ = 0;
  int64_t watermark_ns_ = 0;
  uint64_t records_lost_ = 0;         // by agents
  uint64_t records_lost_before_ = 0;  // by recorders of earlier incarnations
  uint64_t records_ = 0;
  int64_t newest_record_ns_ = 0;  // receive time of the newest report with finished operations
  uint64_t places_refused_ = 0;
  bool has_judged_ = false;
  JobState state_ = JobState::kUnknown;
  bool is_well_ = false;
  std::string note_ = "No report yet.";
};

void JobEngine::State::BeginIncarnation() {
  for (const RankProcess& rank : roster_.ranks()) records_lost_before_ += rank.lost;
  roster_.Retire();
  rivals_.Forget();
  sizes_.Clear();
  ras_.Clear();
  by_ras_ = {};
  hangs_ = {};
  lasting_ = {};
  end_.Clear();
  narrowed_.Clear();
  first_seen_ns_.clear();
  last_hang_ns_ = 0;
  close_look_.Clear();
}

void JobEngine::State::ObserveRank(int32_t host_slot, const RankView& view, const HostReport& report) {
  const int32_t kept = roster_.SlotOfRank(view.rank);
  const Roster::Admission admission = roster_.Admit(report, view);
  if (admission == Roster::Admission::kContested) rivals_.Note(roster_, report, view);
  const bool is_ours = admission != Roster::Admission::kContested && admission != Roster::Admission::kIgnored;
  if (!is_ours || (kept < 0 && rivals_.IsOfOthers(view, roster_))) return;
  if (admission == Roster::Admission::kNewIncarnation) BeginIncarnation();
  const int32_t known = roster_.SlotOfRank(view.rank);
  const uint64_t lost_before = known >= 0 ? roster_.ranks()[static_cast<size_t>(known)].lost : view.operations_lost;
  RankProcess* const rank = roster_.Update(host_slot, view, report.received_ns, report.host_ns, report.waited_ns);
  if (rank == nullptr) return;
  const int32_t slot = roster_.SlotOfRank(view.rank);
  if (report.dropped_records > 0 || view.operations_lost > lost_before) sizes_.NoteLoss();
  for (const CommunicatorView& communicator : view.communicators) {
    const int32_t size = sizes_.Observe(view.rank, communicator, report.received_ns, &roster_);
    rank->unsized = rank->unsized || (size == 0 && !communicator.freed);
    const Roster::Place place = size > 0 ? roster_.Join(slot, communicator, size) : Roster::Place();
    if (place.member < 0) continue;
    records_ += communicator.operations.size();
    if (!communicator.operations.empty()) newest_record_ns_ = report.received_ns;
    close_look_.ObserveCommunicator(view.rank, slot, place, communicator, report.host_ns, report.received_ns);
  }
}

void JobEngine::State::Observe(const HostReport& report) {
  const int32_t host_slot = roster_.TouchHost(report.host, report.received_ns);
  if (host_slot < 0) return;
  if (newest_report_ns_ == 0) first_report_ns_ = report.received_ns;
  newest_report_ns_ = std::max(newest_report_ns_, report.received_ns);
  records_lost_ += report.dropped_records;
  for (const RankView& view : report.ranks) ObserveRank(host_slot, view, report);
  if (report.ras.has_value()) ras_.Observe(report.host, *report.ras, report.due_ns(), report.host_ns);
  // Machines that no job claims do not work together: there is nothing to compare.
  counters_.Observe(host_slot, report, /*compared=*/!roster_.ranks().empty());
  for (const KernelEvent& event : report.kernel_events) {
    const int64_t happened_ns = report.HappenedNs(event);
    log_.Add(report.host, event, happened_ns, report.due_ns());
    events_.Observe(report.host, event, happened_ns, report.due_ns());
  }
  for (const MetricSample& sample : report.samples) {
    if (sample.metric == Metric::kHostOomKillsTotal) log_.CountMemoryKills(report.host, sample.value, sample.host_ns);
  }
  for (const SourceFailure& failure : report.failing_sources) {
    events_.Observe(report.host, failure, report.due_ns());
  }
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
  hangs_ = JudgeLiveHangs(roster_, {.watermark_ns = watermark_ns,
                                    .longest_usual_step_seconds = close_look_.LongestUsualSeconds(),
                                    .step = close_look_.pace().steps() - 1,
                                    .hang_floor_ns = options_.hang_floor_ns,
                                    .hang_step_multiple = options_.hang_step_multiple,
                                    .host_silent_ns = options_.host_silent_ns,
                                    .log = &log_});
  const bool found = !hangs_.verdicts.empty();
  std::vector<Verdict> verdicts = lasting_.Of(std::move(hangs_.verdicts), watermark_ns);
  AddRasEvidence(roster_, ras_, watermark_ns, &verdicts);
  const bool ask_ras = !found && (hangs_.stuck_ranks > 0 || roster_.communicators().empty());
  by_ras_ = ask_ras ? JudgeByRas(roster_, ras_, watermark_ns, hangs_.stuck_ranks > 0) : RasJudgement();
  if (ask_ras) verdicts = by_ras_.verdicts;
  return end_.Settle(roster_, log_, std::move(verdicts), watermark_ns);
}

// Nobody is left. Of a job that died, or may have died, what held of it holds on, and is not judged again.
JobEngine::Conclusion JobEngine::State::ConcludeEnd(int64_t watermark_ns) {
  JobEnd::Over& over = end_.Of(roster_, log_, watermark_ns);
  state_ = over.state;
  note_ = over.note;
  const bool holds_on = over.state == JobState::kFailed || over.state == JobState::kGone;
  if (!holds_on) first_seen_ns_.clear();
  if (holds_on && std::exchange(over.is_new, false)) {
    const std::vector<HardwareFinding> findings = Findings(watermark_ns);
    for (Verdict& verdict : over.verdicts) AddCounterFindings(findings, watermark_ns, verdict);
    AppendFindings(findings, watermark_ns, &over.verdicts);
    Stamp(watermark_ns, &over.verdicts);
  }
  return {.verdicts = over.verdicts, .can_conclude = true, .has_judged = has_judged_ || !holds_on};
}

// No rank is known: idle hosts, and jobs that nobody records. What a host says of itself holds. What it does has nobody
// to be compared with, and an agent that falls silent may have been stopped.
JobEngine::Conclusion JobEngine::State::ConcludeByHosts(int64_t watermark_ns) {
  Conclusion conclusion;
  conclusion.can_conclude = newest_report_ns_ != 0 && watermark_ns - newest_report_ns_ <= kFreshNs;
  conclusion.has_judged = conclusion.can_conclude;
  state_ = JobState::kUnknown;
  note_ = conclusion.can_conclude ? "No rank has reported: hosts are judged by error counters and kernel logs alone."
                                  : "No rank and no host reports.";
  if (conclusion.can_conclude) AppendFindings(Findings(watermark_ns), watermark_ns, &conclusion.verdicts);
  Stamp(watermark_ns, &conclusion.verdicts);
  return conclusion;
}

// No host of the job reports any more. Nothing that held has been seen to go; the fleet may show that hosts are gone.
JobEngine::Conclusion JobEngine::State::ConcludeSilence(int64_t watermark_ns, const FleetSight& fleet) {
  state_ = JobState::kUnknown;
  note_ = "No host of the job reports any more.";
  Conclusion conclusion;
  conclusion.verdicts = silence_.Judge(roster_, log_,
                                       {.watermark_ns = watermark_ns,
                                        .fleet = fleet,
                                        .host_silent_ns = options_.host_silent_ns,
                                        .step = close_look_.pace().steps() - 1});
  return conclusion;
}

// A job of which nothing is known but what NCCL says.
JobEngine::Conclusion JobEngine::State::ConcludeByRas(int64_t watermark_ns) {
  by_ras_ = JudgeByRas(roster_, ras_, watermark_ns, /*stands_still=*/false);
  Conclusion conclusion = {.verdicts = by_ras_.verdicts, .can_conclude = true, .has_judged = true};
  AppendFindings(Findings(watermark_ns), watermark_ns, &conclusion.verdicts);
  state_ = by_ras_.verdicts.empty() ? JobState::kUnknown : JobState::kHung;
  note_ = Sentences({"No recorder tells of this job, NCCL's RAS service does.", by_ras_.why_none});
  Stamp(watermark_ns, &conclusion.verdicts);
  return conclusion;
}

// What only operations and transfers tell: who or what makes the steps of a moving job slow.
void JobEngine::State::Look(int64_t watermark_ns, const std::vector<MemberSign>& signs, Conclusion* conclusion) {
  // While nothing moves, nothing is learnt about slowness: what held before holds on, and nothing is added.
  const bool standing_still =
      hangs_.stuck_ranks > 0 || (last_hang_ns_ != 0 && watermark_ns - last_hang_ns_ < kAfterHangNs);
  Wishes wishes = close_look_.Advance(roster_, watermark_ns, standing_still);
  conclusion->requests = std::move(wishes.pulls);
  conclusion->watches = std::move(wishes.watches);
  // Those of an earlier incarnation hold until a look at this one tells.
  if (!close_look_.duty_of_host().empty()) counters_.SetDuties(close_look_.duty_of_host());
  std::vector<Verdict> found = close_look_.verdicts();
  for (Verdict& verdict : found) {
    if (verdict.culprits.empty()) continue;
    for (Evidence& evidence : log_.About(verdict.culprits.front().host, watermark_ns)) {
      verdict.evidence.push_back(std::move(evidence));
    }
  }
  conclusion->remarks = close_look_.remarks();
  narrowed_.Apply(signs, {.begin_ms = 0, .end_ms = watermark_ns / kNanosPerMilli}, &found);
  MergeVerdicts(found, &conclusion->verdicts);
}

void JobEngine::State::AppendFindings(const std::vector<HardwareFinding>& findings, int64_t watermark_ns,
                                      std::vector<Verdict>* verdicts) const {
  const auto stands = [this](const Verdict& verdict) { return first_seen_ns_.contains(CauseKey(verdict)); };
  MergeFindings(WithRanksOfGpus(roster_, FindingVerdicts(findings, watermark_ns)), stands, verdicts);
}

// Since when each cause holds, without interruption: the onset that its finder saw when it was first found. What rests
// on a look, on samples or on events says itself how old these are; the rest is seen now.
void JobEngine::State::Stamp(int64_t watermark_ns, std::vector<Verdict>* verdicts) {
  std::map<std::string, int64_t> first_seen_ns;
  std::vector<std::pair<std::string, Verdict>> keyed;
  for (Verdict& verdict : *verdicts) {
    std::string key = CauseKey(verdict);
    const auto known = first_seen_ns_.find(key);
    const int64_t onset_ns = verdict.first_seen_ns > 0 ? verdict.first_seen_ns : watermark_ns;
    verdict.first_seen_ns = known == first_seen_ns_.end() ? onset_ns : known->second;
    if (verdict.last_seen_ns == 0) verdict.last_seen_ns = watermark_ns;
    if (!first_seen_ns.emplace(key, verdict.first_seen_ns).second) continue;  // one verdict per cause: the first
    keyed.emplace_back(std::move(key), std::move(verdict));
  }
  std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  verdicts->clear();
  for (auto& [key, verdict] : keyed) verdicts->push_back(std::move(verdict));
  first_seen_ns_ = std::move(first_seen_ns);
}

void JobEngine::State::Summarize(int64_t watermark_ns) {
  const bool hangs = last_hang_ns_ == watermark_ns && (hangs_.stuck_ranks > 0 || hangs_.longest_wait_ns > 0);
  if (hangs) {
    state_ = JobState::kHung;
    note_ = absl::StrFormat("%d ranks are stuck inside collectives, the longest for %s.", hangs_.stuck_ranks,
                            Duration(static_cast<double>(hangs_.longest_wait_ns) / kNanosPerSecond));
  } else if (hangs_.stuck_ranks > 0) {
    state_ = JobState::kHung;
    note_ = Sentences(
        {absl::StrFormat("%d ranks are stuck inside collectives, and the data does not tell why.", hangs_.stuck_ranks),
         by_ras_.why_none});
  } else if (!by_ras_.verdicts.empty()) {
    state_ = JobState::kHung;
    note_ = "NCCL's RAS service names who holds the job up.";
  } else if (hangs_.all_outside) {
    state_ = JobState::kIrregular;
    note_ = absl::StrFormat("Pause: every rank has been outside collectives for at least %s.",
                            Duration(static_cast<double>(hangs_.shortest_idle_ns) / kNanosPerSecond));
  } else {
    StepsState steps = StateOfSteps(close_look_, {.still_ns = records_ > 0 ? watermark_ns - newest_record_ns_ : 0,
                                                  .others = {by_ras_.why_none, sizes_.why_unknown()}});
    state_ = steps.state;
    is_well_ = steps.is_well;
    note_ = std::move(steps.note);
  }
}

JobEngine::Conclusion JobEngine::State::Evaluate(int64_t watermark_ns, const FleetSight& fleet) {
  watermark_ns_ = watermark_ns;
  is_well_ = false;
  Conclusion conclusion;
  if (AllOver(roster_)) return ConcludeEnd(watermark_ns);
  if (roster_.ranks().empty()) {
    return ras_.Speaks(watermark_ns) ? ConcludeByRas(watermark_ns) : ConcludeByHosts(watermark_ns);
  }
  conclusion.can_conclude = watermark_ns - newest_report_ns_ <= kFreshNs;
  if (!conclusion.can_conclude) return ConcludeSilence(watermark_ns, fleet);
  silence_.Clear();
  sizes_.Infer(roster_, watermark_ns);
  conclusion.verdicts = FindHangs(watermark_ns);
  if (!conclusion.verdicts.empty()) last_hang_ns_ = watermark_ns;
  const std::vector<HardwareFinding> findings = Findings(watermark_ns);
  // Beside operations that can be judged counters are evidence; where there are none they accuse by themselves.
  outliers_.Find({.counters = counters_,
                  .roster = roster_,
                  .places = places_,
                  .may_accuse = records_ == 0 || close_look_.blind(),
                  .min_hosts = options_.min_peer_hosts,
                  .watermark_ns = watermark_ns});
  Look(watermark_ns, outliers_.NetworkSigns(findings), &conclusion);
  Summarize(watermark_ns);
  for (Verdict& verdict : conclusion.verdicts) AddCounterFindings(findings, watermark_ns, verdict);
  AppendFindings(findings, watermark_ns, &conclusion.verdicts);
  outliers_.AddTo(&conclusion.verdicts);
  Stamp(watermark_ns, &conclusion.verdicts);
  end_.Keep(conclusion.verdicts);
  has_judged_ = has_judged_ || JudgesAll(watermark_ns);
  conclusion.has_judged = has_judged_;
  return conclusion;
}

// A job that moves shows that nothing hangs; looks, or else counters, tell whether it is slow.
bool JobEngine::State::JudgesAll(int64_t watermark_ns) const {
  if (hangs_.stuck_ranks > 0 || hangs_.all_outside || !by_ras_.verdicts.empty()) return false;
  if (close_look_.blind() || (close_look_.judged() && close_look_.has_settled())) return true;
  return records_ == 0 && watermark_ns - first_report_ns_ >= kUnrecordedNs;
}

JobSummary JobEngine::State::Summary() const {
  JobSummary summary;
  const StepPace& pace = close_look_.pace();
  summary.state = state_;
  summary.note = note_;
  summary.is_well = is_well_;
  summary.steps = pace.steps();
  summary.step_seconds_median = close_look_.knows_steps() ? pace.MedianSeconds() : 0;
  const bool moving = state_ < JobState::kHung && !hangs_.all_outside;
  summary.steps_per_second = moving && close_look_.knows_steps() ? pace.StepsPerSecond() : 0;
  summary.world_size = roster_.world_size();
  summary.records_observed = records_;
  summary.records_lost = records_lost_ + records_lost_before_;
  for (const RankProcess& rank : roster_.ranks()) summary.records_lost += rank.lost;
  summary.records_discarded = roster_.refused() + counters_.discarded() + log_.dropped() + events_.refused() +
                              ras_.refused() + sizes_.refused() + close_look_.discarded() + places_refused_;
  summary.name_conflicts = rivals_.conflicts();
  summary.name_conflict = rivals_.newest();
  return summary;
}

JobEngine::JobEngine(const JobEngineOptions& options) : state_(std::make_unique<State>(options)) {}
JobEngine::~JobEngine() = default;
void JobEngine::Observe(const HostReport& report) { state_->Observe(report); }
void JobEngine::ObservePlaces(const std::string& host, const Places& places) { state_->ObservePlaces(host, places); }
JobEngine::Conclusion JobEngine::Evaluate(int64_t watermark_ns, const FleetSight& fleet) {
  return state_->Evaluate(watermark_ns, fleet);
}
void JobEngine::Resume(int64_t watermark_ns) { state_->Resume(watermark_ns); }
JobSummary JobEngine::summary() const { return state_->Summary(); }
std::vector<RankSummary> JobEngine::ranks() const { return state_->Ranks(); }
const SeenLedger& JobEngine::ledger() const { return state_->ledger(); }

}  // namespace lockstep
