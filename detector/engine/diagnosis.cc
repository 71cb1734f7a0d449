#include "detector/engine/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "detector/counters/counter_diagnosis.h"
#include "detector/counters/host_duties.h"
#include "detector/engine/coverage.h"
#include "detector/engine/findings_ledger.h"
#include "detector/engine/grown_alone.h"
#include "detector/engine/past_cost.h"
#include "detector/engine/remedies.h"
#include "detector/engine/same_onset.h"
#include "detector/engine/stalled_group.h"
#include "detector/engine/time_ledger.h"
#include "detector/hang/frontier.h"
#include "detector/hang/trace_frontier.h"
#include "detector/hang/trace_hangs.h"
#include "detector/network/link_verdict.h"
#include "detector/network/transfer_table.h"
#include "detector/slow/counterfactual_gain.h"
#include "detector/slow/even_work.h"
#include "detector/slow/hidden_work.h"
#include "detector/slow/host_excess.h"
#include "detector/slow/intermittent_excess.h"
#include "detector/slow/late_return.h"
#include "detector/slow/more_input.h"
#include "detector/slow/persistent_excess.h"
#include "detector/slow/program_duty.h"
#include "detector/slow/shared_batch.h"
#include "detector/slow/slow_cause.h"
#include "detector/slow/slow_rank_verdict.h"
#include "detector/slow/slow_within_host.h"
#include "detector/slow/starved_host.h"
#include "detector/slow/wait_echo.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/pacemaker.h"
#include "detector/steps/slow_transfers.h"
#include "detector/steps/step_profile.h"
#include "detector/steps/trace_analysis.h"
#include "detector/steps/usual_work.h"
#include "detector/structure/finding.h"
#include "detector/structure/structural_verdicts.h"
#include "detector/verdict/cost_limit.h"
#include "detector/verdict/many_named.h"
#include "detector/verdict/reason.h"
#include "detector/verdict/trace_names.h"

namespace lockstep {
namespace {

// Of these is told what a rank does: as many as a look holds at least, in a recording or a longer look the newest.
constexpr int32_t kRecentSteps = 16;

void Describe(const JobEvidence& evidence, const TraceAnalysis& analysis, JobReport* report) {
  const Trace& trace = evidence.trace;
  report->job = evidence.job.empty() ? trace.job : evidence.job;
  report->ranks = static_cast<int32_t>(trace.ranks.size());
  std::set<std::string> hosts(trace.hosts.begin(), trace.hosts.end());
  hosts.insert(evidence.metrics.hosts.begin(), evidence.metrics.hosts.end());
  report->hosts = static_cast<int32_t>(hosts.size());
  report->steps = analysis.steps.steps;
  report->step_seconds_median = analysis.steps.usual_seconds;
  report->completeness = {trace.operations.size(), trace.missing_ranks, trace.lost_records};
}

// What has been told of batches of different length; nullptr = nothing.
Verdict* UnevenBatchesIn(JobReport* report) {
  const auto told = std::find_if(report->verdicts.begin(), report->verdicts.end(), [](const Verdict& verdict) {
    return verdict.verdict_class == VerdictClass::kSequenceImbalance;
  });
  return told == report->verdicts.end() ? nullptr : &*told;
}

// Of a replica whose machines are slow together, at what removing all of them gives back; none if it has been told.
void AddSharedBatch(const SharedBatch& batch, const std::vector<SlowCause>& causes,
                    const std::vector<CounterfactualGain>& gains, const CostLimit& limit, JobReport* report) {
  const Suspect& first = causes[batch.causes.front()].suspects.front();
  StructuralFinding finding{
      .verdict_class = VerdictClass::kSequenceImbalance, .first_step = first.first_step, .last_step = first.last_step};
  double step_seconds = 0;
  for (const size_t i : batch.causes) {
    const double share = std::max(gains[i].slowdown(), gains[i].event_share);
    if (share <= finding.gain) continue;
    finding.gain = share;
    finding.steps_affected = gains[i].steps_affected;
    step_seconds = gains[i].step_seconds;
  }
  if (UnevenBatchesIn(report) != nullptr || finding.gain < limit.Of(finding.verdict_class)) return;
  finding.reason = LongReplica{.hosts = batch.causes.size(), .first_step = finding.first_step};
  report->verdicts.push_back(StructuralVerdict(std::move(finding), step_seconds));
}

FoundSlowness::Told ToldOf(const Verdict& verdict, std::vector<size_t> causes, std::vector<size_t> transfers) {
  return {.verdict_class = verdict.verdict_class,
          .culprits = verdict.culprits,
          .first_step = verdict.first_step,
          .causes = std::move(causes),
          .transfers = std::move(transfers)};
}

// Of a cause that is given more to do. Where batches of different length have been told of, it is one of them.
void AddMoreInput(const Trace& trace, const MoreInput& more, const SlowCause& cause, const CounterfactualGain& gain,
                  const CostLimit& limit, JobReport* report) {
  const Suspect& strongest = cause.suspects.front();
  const GivenMore reason{.rank = NameOf(trace, strongest.rank),
                         .host_ranks = cause.whole_host ? cause.suspects.size() : 0,
                         .times = strongest.own_seconds / (strongest.own_seconds - strongest.excess_seconds),
                         .kind = more.kind,
                         .bytes = more.bytes,
                         .peer_bytes = more.peer_bytes,
                         .peers = more.peers};
  if (Verdict* const told = UnevenBatchesIn(report)) {
    told->evidence.push_back({EvidenceKind::kLateness, reason});
    return;
  }
  StructuralFinding finding{.verdict_class = VerdictClass::kSequenceImbalance,
                            .first_step = strongest.first_step,
                            .last_step = strongest.last_step,
                            .gain = gain.slowdown(),
                            .steps_affected = gain.steps_affected,
                            .reason = reason};
  if (finding.gain < limit.Of(finding.verdict_class)) return;
  report->verdicts.push_back(StructuralVerdict(std::move(finding), gain.step_seconds));
}

// Slow ranks, each at what removing it gives back; those that share a slow batch as one.
void AddSlowRanks(const TraceAnalysis& analysis, absl::Span<const PlaceInJob> places,
                  const std::vector<SlowCause>& causes, const std::vector<CounterfactualGain>& gains,
                  const CostLimit& limit, FoundSlowness* found, JobReport* report) {
  const Trace& trace = *analysis.trace;
  std::vector<char> shared(causes.size(), 0);
  for (const SharedBatch& batch : FindSharedBatches(trace, places, causes)) {
    for (const size_t i : batch.causes) shared[i] = 1;
    const size_t before = report->verdicts.size();
    AddSharedBatch(batch, causes, gains, limit, report);
    if (report->verdicts.size() > before) found->told.push_back(ToldOf(report->verdicts.back(), batch.causes, {}));
  }
  for (size_t i = 0; i < causes.size(); ++i) {
    if (shared[i] != 0 || gains[i].IsOfMany(trace.hosts.size())) continue;
    if (const std::optional<MoreInput> more = FindMoreInput(analysis, causes[i])) {
      const size_t before = report->verdicts.size();
      AddMoreInput(trace, *more, causes[i], gains[i], limit, report);
      if (report->verdicts.size() > before) found->told.push_back(ToldOf(report->verdicts.back(), {i}, {}));
      continue;
    }
    Verdict verdict = SlowRankVerdict(trace, causes[i], gains[i]);
    if (std::optional<DutyOfPlace> duty = FindProgramDuty(analysis, places, causes, i)) BlameProgram(*duty, &verdict);
    const double worth = std::max(verdict.cost.slowdown_fraction, gains[i].Worth(trace.hosts.size()));
    if (worth < limit.Of(verdict)) continue;
    if (gains[i].replayed) found->told.push_back(ToldOf(verdict, {i}, {}));
    report->verdicts.push_back(std::move(verdict));
  }
}

// What an analysis shows without a replay.
struct Findings {
  StepProfile profile;
  std::vector<Verdict> structural;
  TransferTable transfers;
  std::vector<SlowLink> links;
  std::vector<Suspect> suspects;
  std::optional<StepShift> longer_steps;
};

Findings FindAll(const TraceAnalysis& analysis, const DiagnosisOptions& options) {
  Findings found;
  const auto find_links = [&] {
    found.transfers = MeasureTransfers(*analysis.trace, analysis.matched, analysis.roles, analysis.steps,
                                       analysis.without_begins, options.executor);
    found.links = FindSlowLinks(*analysis.trace, found.transfers, analysis.steps);
  };
  const auto find_structural = [&] {
    found.profile = StructuralProfile(analysis);
    const auto gain = [&](UnevenWork which) { return GainOfEven(analysis, found.profile, which); };
    found.structural = FindStructural(found.profile, gain, CostLimit(options.min_cost, options.told));
  };
  const auto find_suspects = [&] {
    const PersistenceOptions persistence{.min_cost = options.min_cost};
    found.suspects = FindPersistentExcess(analysis.profile, analysis.roles, analysis.steps, persistence);
    AddIntermittentExcess(analysis.profile, analysis.roles, analysis.steps, persistence, &found.suspects);
    AddHostExcess(*analysis.trace, analysis.roles, analysis.profile, analysis.steps, persistence, &found.suspects);
  };
  const absl::FunctionRef<void()> finders[] = {find_links, find_structural, find_suspects};
  RunPieces(options.executor, std::size(finders), [&](size_t i) { finders[i](); });
  found.longer_steps = FindLongerSteps(analysis.steps, options.min_cost);
  return found;
}

// What slow transfers cost.
void TellCost(const CounterfactualGain& gain, Verdict* verdict) {
  if (gain.step_seconds > 0) {
    verdict->cost.slowdown_fraction = gain.slowdown();
    verdict->cost.seconds_per_step = gain.steps_affected * gain.seconds_per_step;
  }
  verdict->evidence.push_back(
      {EvidenceKind::kWhatIf, CounterfactualTransfers{.replayed = gain.replayed,
                                                      .seconds_per_step = verdict->cost.seconds_per_step,
                                                      .share = verdict->cost.slowdown_fraction}});
}

// Where nothing else is known to be slow since the steps became longer.
void AddGrownAlone(const TraceAnalysis& analysis, const StepShift& shift, const std::vector<SlowLink>& links,
                   std::vector<SlowCause>* causes) {
  const bool known =
      std::any_of(causes->begin(), causes->end(),
                  [&shift](const SlowCause& cause) {
                    const Suspect& first = cause.suspects.front();
                    // When what comes and goes was seen first says little.
                    const bool comes_and_goes = shift.in_some_steps() && first.share_of_steps < kAllButFew;
                    return (comes_and_goes || BeganWith(cause, shift)) && TakesPart(first.excess_seconds, shift);
                  }) ||
      std::any_of(links.begin(), links.end(), [&shift](const SlowLink& link) {
        return std::abs(link.transfers.first_step - shift.first_step) <= kSameOnsetSteps &&
               TakesPart(link.transfers.excess_seconds, shift);
      });
  if (known) return;
  if (std::optional<SlowCause> alone = FindGrownAlone(analysis, shift)) causes->push_back(*std::move(alone));
}

// Of hosts that are not told as slow in other steps.
void AddLateReturns(const TraceAnalysis& analysis, const PersistenceOptions& persistence, JobReport* report) {
  for (Verdict& late : FindLateReturns(analysis, persistence)) {
    const std::string& host = FindReason<LateReturn>(late)->host;
    const bool known = std::any_of(report->verdicts.begin(), report->verdicts.end(), [&host](const Verdict& verdict) {
      return AccusesNode(verdict) && std::any_of(verdict.culprits.begin(), verdict.culprits.end(),
                                                 [&host](const Culprit& culprit) { return culprit.host == host; });
    });
    if (!known) report->verdicts.push_back(std::move(late));
  }
}

// Slow ranks and slow transfers, each at what removing it gives back. Returns what the verdicts are about.
FoundSlowness AddSlowness(const TraceAnalysis& analysis, const DiagnosisOptions& options, Findings found,
                          JobReport* report) {
  const Trace& trace = *analysis.trace;
  const CostLimit limit(options.min_cost, options.told);
  FoundSlowness slowness;
  std::vector<SlowTransfers>& transfers = slowness.transfers;
  for (const SlowLink& link : found.links) transfers.push_back(link.transfers);
  const PersistenceOptions persistence{.min_cost = options.min_cost};
  AddSlowBesideTransfers(analysis.profile, analysis.roles, analysis.steps, persistence, transfers, &found.suspects);
  DropWaitEchoes(trace, analysis.matched, transfers, &found.suspects);
  std::vector<SlowCause>& causes = slowness.causes;
  causes = GroupSuspects(trace, analysis.roles, analysis.profile, found.suspects);
  AddSlowWithinHosts(analysis.profile, analysis.steps, persistence, &causes);
  AddStarvedHosts(trace, analysis.roles, analysis.profile, analysis.steps, persistence, &causes);
  const std::optional<StepShift> longer =
      found.longer_steps.has_value() ? found.longer_steps : FindGrownWork(analysis, options.min_cost);
  if (longer.has_value()) AddGrownAlone(analysis, *longer, found.links, &causes);
  TellHiddenWork(analysis, &causes);
  CounterfactualGains gains = GainsOf(analysis, causes, transfers, options.min_cost, options.executor);
  if (found.longer_steps.has_value() &&
      UnexplainedSeconds(*found.longer_steps, report->verdicts, options.min_cost) > 0) {
    PayFromPast(trace, *found.longer_steps, causes, transfers, options.min_cost, &gains);
  }
  for (size_t i = 0; i < found.links.size(); ++i) {
    Verdict& verdict = found.links[i].verdict;
    TellCost(gains.of_transfers[i], &verdict);
    if (verdict.cost.slowdown_fraction < limit.Of(verdict)) continue;
    if (gains.of_transfers[i].replayed) slowness.told.push_back(ToldOf(verdict, {}, {i}));
    report->verdicts.push_back(std::move(verdict));
  }
  for (Verdict& verdict : FindStalls(trace, found.transfers, analysis.steps, found.links, options.min_cost)) {
    for (const Verdict& group : JoinStalledGroups(&verdict, &report->verdicts)) slowness.Retell(group, verdict);
    report->verdicts.push_back(std::move(verdict));
  }
  AddSlowRanks(analysis, found.profile.places, causes, gains.of_ranks, limit, &slowness, report);
  AddLateReturns(analysis, persistence, report);
  return slowness;
}

// A GPU that computes slowly, and a group of its that transfers slowly since the same step, are one cause: what both
// pass is the way between the GPU and its host.
void JoinGpuWithItsGroup(std::vector<Verdict>* verdicts) {
  for (Verdict& gpu : *verdicts) {
    if (gpu.verdict_class != VerdictClass::kComputeSlow || gpu.culprits.size() != 1 || gpu.culprits[0].rank < 0)
      continue;
    const auto is_its_group = [&gpu](const Verdict& verdict) {
      return verdict.verdict_class == VerdictClass::kGroupSlow &&
             std::abs(verdict.first_step - gpu.first_step) <= kSameOnsetSteps &&
             std::any_of(verdict.culprits.begin(), verdict.culprits.end(),
                         [&gpu](const Culprit& culprit) { return culprit.rank == gpu.culprits[0].rank; });
    };
    const auto group = std::find_if(verdicts->begin(), verdicts->end(), is_its_group);
    if (group == verdicts->end()) continue;
    gpu.verdict_class = VerdictClass::kPcieDegraded;
    gpu.evidence.insert(gpu.evidence.end(), group->evidence.begin(), group->evidence.end());
    verdicts->erase(group);
    return JoinGpuWithItsGroup(verdicts);
  }
}

// Stalls that go round are the only structural finding of the software.
bool HasPassingStalls(const std::vector<Verdict>& structural) {
  return std::any_of(structural.begin(), structural.end(),
                     [](const Verdict& verdict) { return verdict.scope == VerdictScope::kSoftware; });
}

// What the caller knows counts more than what agents said.
PlaceTable AllPlaces(const JobEvidence& evidence, const DiagnosisOptions& options) {
  PlaceTable places = options.places;
  places.of_host.insert(evidence.places.of_host.begin(), evidence.places.of_host.end());
  return places;
}

// Median own time of every rank in one of the newest steps, and that of its peers.
std::vector<RankWork> WorkOf(const TraceAnalysis& analysis) {
  const OwnProfile& profile = analysis.profile;
  const std::vector<TraceRank>& ranks = analysis.trace->ranks;
  const auto first_step = std::max<decltype(analysis.steps.steps)>(analysis.steps.steps - kRecentSteps, 0);
  std::vector<double> own(ranks.size(), 0);
  for (size_t rank = 0; rank < ranks.size() && profile.steps > 0; ++rank) {
    own[rank] = UsualWorkIn(profile.Row(profile.own, rank), first_step, analysis.steps.steps).seconds;
  }
  const bool has_peers = analysis.roles.has_peers();
  std::vector<RankWork> work;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (own[rank] <= 0) continue;
    std::vector<double> peers;
    for (const int32_t peer : analysis.roles.PeersOf(rank)) {
      const auto at = static_cast<size_t>(peer);
      if (at != rank && own[at] > 0) peers.push_back(own[at]);
    }
    work.push_back({.rank = ranks[rank].rank,
                    .own_seconds = own[rank],
                    .peer_seconds = MedianInPlace(&peers),
                    .duty = has_peers ? analysis.roles.class_of_rank[rank] : -1});
  }
  return work;
}

std::map<std::string, int32_t> DutyOfHost(const TraceAnalysis& analysis) {
  const std::vector<std::string>& hosts = analysis.trace->hosts;
  const std::vector<int32_t> duties = DutiesOfHosts(*analysis.trace, analysis.roles, hosts);
  std::map<std::string, int32_t> duty_of_host;
  for (size_t host = 0; host < duties.size(); ++host) duty_of_host.emplace(hosts[host], duties[host]);
  return duty_of_host;
}

std::vector<StepCount> StepCountsOf(const TraceAnalysis& analysis) {
  std::vector<StepCount> counts;
  const Trace& trace = *analysis.trace;
  for (const Pacemaker& pacemaker : FindPacemakers(trace, analysis.steps)) {
    counts.push_back({.rank = trace.ranks[pacemaker.rank_index].rank,
                      .communicator = trace.communicators[static_cast<size_t>(pacemaker.communicator)].name,
                      .operations_per_step = pacemaker.operations_per_step,
                      .newest_sequence = pacemaker.newest_sequence});
  }
  return counts;
}

}  // namespace

JobReport Diagnose(const JobEvidence& evidence, const DiagnosisOptions& options) {
  return Judge(evidence, options).report;
}

Judgement Judge(const JobEvidence& evidence, const DiagnosisOptions& options) {
  Judgement judgement;
  JobReport& report = judgement.report;
  TraceAnalysis analysis;
  std::optional<Frontier> frontier;
  RunPieces(options.executor, 2, [&](size_t piece) {
    if (piece == 0) {
      analysis = AnalyseTrace(evidence.trace, options.sabotage_lateness_sign, options.executor);
    } else {
      frontier.emplace(FrontierOf(evidence.trace));
    }
  });
  Describe(evidence, analysis, &report);
  Findings found = FindAll(analysis, options);
  HangFindings hangs = FindHangs(*frontier, evidence.events, HasPassingStalls(found.structural));
  report.verdicts = std::move(hangs.verdicts);
  const bool hung = !report.verdicts.empty();
  for (Verdict& verdict : found.structural) {
    if (hung && verdict.scope == VerdictScope::kJob) continue;  // the hang itself moves the common mode
    report.verdicts.push_back(std::move(verdict));
  }
  const std::optional<StepShift> longer_steps = found.longer_steps;
  const FoundSlowness slowness = AddSlowness(analysis, options, std::move(found), &report);
  JoinGpuWithItsGroup(&report.verdicts);
  DropEchoesOfDearer(&report.verdicts);
  NameNobodyOfMany({.hosts = std::max(evidence.trace.hosts.size(), options.job.hosts),
                    .ranks = std::max(evidence.trace.ranks.size(), options.job.ranks)},
                   &report.verdicts);
  std::stable_sort(report.verdicts.begin(), report.verdicts.end(), [](const Verdict& a, const Verdict& b) {
    if (IsHang(a.verdict_class) != IsHang(b.verdict_class)) return IsHang(a.verdict_class);
    if (IsPlanned(a) != IsPlanned(b)) return IsPlanned(b);
    return a.cost.slowdown_fraction > b.cost.slowdown_fraction;
  });
  Coverage coverage = CoverageOf(analysis);
  judgement.why_not_judged = std::move(coverage.why_not_judged);
  judgement.left_out = std::move(coverage.left_out);
  const std::optional<Reason>& unsaid =
      judgement.why_not_judged.has_value() ? judgement.why_not_judged : judgement.left_out;
  const bool judged = !unsaid.has_value() && !hangs.open_question.has_value();
  report.state = judged ? JobState::kHealthy : JobState::kUnknown;
  AddLedger(analysis, slowness,
            longer_steps.has_value() ? longer_steps : FindFewWaited(analysis.steps, options.min_cost),
            CostLimit(options.min_cost, options.told), options.remedies, &report);
  const PlaceTable places = AllPlaces(evidence, options);
  AddCounters(evidence.metrics,
              {.has_records = !evidence.trace.operations.empty(),
               .duty_of_host = DutiesOfHosts(evidence.trace, analysis.roles, evidence.metrics.hosts),
               .places = &places},
              &report);
  if (hangs.open_question.has_value()) {
    report.verdicts.push_back(Verdict::Abstention(*std::move(hangs.open_question)));
  }
  judgement.work = WorkOf(analysis);
  judgement.duty_of_host = DutyOfHost(analysis);
  judgement.step_counts = StepCountsOf(analysis);
  judgement.short_records = ShortRecordsOf(analysis);
  if (unsaid.has_value() && !hung && !hangs.open_question.has_value()) {
    report.verdicts.push_back(Verdict::Abstention(*unsaid));
  }
  return judgement;
}

}  // namespace lockstep
