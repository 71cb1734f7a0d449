#include "detector/patterns/pattern_verdict.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "detector/verdict/ledger_line.h"
#include "detector/verdict/pattern_reasons.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

// How a class is called in verdicts. Scope unknown: an observation.
struct Wording {
  VerdictScope some_scope;
  VerdictClass some_class;
  VerdictScope all_scope;
  VerdictClass all_class;
};

constexpr VerdictScope kSoftware = VerdictScope::kSoftware;
constexpr VerdictScope kObserved = VerdictScope::kUnknown;

constexpr Wording kWordings[] = {
    {kSoftware, VerdictClass::kStorageStall, kSoftware, VerdictClass::kStorageStall},   // data loading
    {kSoftware, VerdictClass::kHostSlow, kSoftware, VerdictClass::kJobRegression},      // garbage collection
    {kSoftware, VerdictClass::kHostSlow, kSoftware, VerdictClass::kJobRegression},      // launches
    {kObserved, VerdictClass::kPcieDegraded, kSoftware, VerdictClass::kJobRegression},  // copies
    {kObserved, VerdictClass::kComputeSlow, kSoftware, VerdictClass::kJobRegression},   // a slow kernel
    {kObserved, VerdictClass::kGroupSlow, kObserved, VerdictClass::kGroupSlow},         // communication
    {kSoftware, VerdictClass::kHostSlow, kSoftware, VerdictClass::kJobRegression},      // recompilation
    {kSoftware, VerdictClass::kHostSlow, kSoftware, VerdictClass::kJobRegression},      // swapping
    {kObserved, VerdictClass::kHostSlow, kSoftware, VerdictClass::kJobRegression},      // contention
    {kSoftware, VerdictClass::kHostSlow, kObserved, VerdictClass::kJobRegression},      // work of the host
};
static_assert(std::size(kWordings) == static_cast<size_t>(PatternClass::kHostWork) + 1);

constexpr double kMostConfidence = 0.95;  // one window is no more

class PatternVerdicts {
 public:
  PatternVerdicts(const PatternFleet& fleet, const Trace& trace) : fleet_(fleet), trace_(trace) {
    for (const TraceRank& rank : trace.ranks) rank_by_number_.emplace(rank.rank, &rank);
  }

  Verdict Of(const PatternFinding& finding) const {
    const Wording& words = kWordings[static_cast<size_t>(finding.pattern_class)];
    const VerdictScope scope = finding.of_all ? words.all_scope : words.some_scope;
    const VerdictClass verdict_class = finding.of_all ? words.all_class : words.some_class;
    Verdict verdict = scope == VerdictScope::kUnknown ? Verdict::Observation(verdict_class)
                                                      : Verdict::Accusation(scope, verdict_class);
    if (scope == VerdictScope::kSoftware) verdict.advice = Advice::kCheckSoftware;
    if (!finding.of_all) verdict.culprits = Culprits(finding);
    verdict.cost.slowdown_fraction = finding.excess();
    const FleetWorker& worker = fleet_.workers()[finding.workers.front()];
    if (worker.steps > 0) {
      verdict.cost.seconds_per_step =
          finding.excess() * static_cast<double>(worker.window_seconds) / static_cast<double>(worker.steps);
    }
    verdict.cost.steps_affected_fraction = 1;
    verdict.evidence = Evidences(finding);
    return verdict;
  }

 private:
  std::vector<Culprit> Culprits(const PatternFinding& finding) const {
    std::vector<Culprit> culprits;
    for (const uint32_t worker : finding.workers) {
      Culprit& culprit = culprits.emplace_back();
      culprit.rank = fleet_.workers()[worker].rank;
      culprit.confidence = std::min(kMostConfidence, finding.excess() / (finding.excess() + 0.02));
      const auto known = rank_by_number_.find(culprit.rank);
      if (known == rank_by_number_.end()) continue;
      culprit.gpu = known->second->gpu;
      culprit.pid = known->second->pid;
      if (known->second->host >= 0) culprit.host = trace_.hosts[static_cast<size_t>(known->second->host)];
    }
    return culprits;
  }

  std::vector<Evidence> Evidences(const PatternFinding& finding) const {
    WorkTakesLonger work;
    work.work = Name(finding.pattern_class);
    work.compared = finding.peers;
    for (const uint32_t worker : finding.workers) {
      if (!finding.of_all) work.ranks.push_back(fleet_.workers()[worker].rank);
    }
    work.share = finding.beta;
    work.usual_share = finding.usual_beta;
    work.distance = finding.of_all ? 0 : finding.distance;
    work.threshold = finding.threshold;
    std::vector<Evidence> evidence = {{EvidenceKind::kCounter, work}};
    for (const FunctionExcess& excess : finding.functions) {
      const FleetFunction& function = fleet_.functions()[static_cast<size_t>(excess.function)];
      evidence.push_back({EvidenceKind::kCounter, FunctionTakesLonger{
                                                      .function = function.name,
                                                      .kind = Name(function.kind),
                                                      .share = excess.beta,
                                                      .usual_share = excess.usual_beta,
                                                      .mean_seconds = excess.mean_seconds,
                                                      .usual_mean_seconds = excess.usual_mean_seconds,
                                                      .calls_per_second = excess.calls_per_second,
                                                      .usual_calls_per_second = excess.usual_calls_per_second,
                                                      .has_peers = !finding.of_all,
                                                  }});
    }
    return evidence;
  }

  const PatternFleet& fleet_;
  const Trace& trace_;
  absl::flat_hash_map<int32_t, const TraceRank*> rank_by_number_;
};

// A verdict about the rank, or about the host that it runs on.
bool IsAbout(const Verdict& verdict, const Culprit& culprit) {
  return std::any_of(verdict.culprits.begin(), verdict.culprits.end(), [&](const Culprit& named) {
    return named.rank >= 0 ? named.rank == culprit.rank : !named.host.empty() && named.host == culprit.host;
  });
}

// Whether all culprits of `found` are named by `verdict` already.
bool Covers(const Verdict& verdict, const Verdict& found) {
  return !found.culprits.empty() && std::all_of(found.culprits.begin(), found.culprits.end(),
                                                [&](const Culprit& one) { return IsAbout(verdict, one); });
}

std::optional<ProfilesLeftOut> LeftOut(const PatternFleet& fleet) {
  if (fleet.left_out_cells() == 0 && fleet.repeated_ranks() == 0) return std::nullopt;
  return ProfilesLeftOut{
      .rows = fleet.left_out_cells(), .functions = kMostFleetFunctions, .repeated = fleet.repeated_ranks()};
}

void Abstain(const PatternFleet& fleet, const PatternReport& patterns, JobReport& report) {
  const ProfilesAlike alike{.ranks = fleet.workers().size(),
                            .duties = patterns.duties,
                            .largest_duty = patterns.largest_duty,
                            .idle = patterns.idle};
  auto known = std::find_if(report.verdicts.begin(), report.verdicts.end(),
                            [](const Verdict& verdict) { return verdict.type() == FindingType::kAbstention; });
  if (known == report.verdicts.end()) {
    known = report.verdicts.insert(known, Verdict::Abstention(alike));
  } else {
    known->Add(alike);
  }
  if (const std::optional<ProfilesLeftOut> left_out = LeftOut(fleet)) known->Add(*left_out);
}

}  // namespace

void AddPatternFindings(const PatternFleet& fleet, const PatternReport& patterns, const Trace& trace,
                        JobReport& report) {
  if (fleet.workers().empty()) return;
  if (patterns.findings.empty()) {
    if (report.state == JobState::kUnknown) Abstain(fleet, patterns, report);
    return;
  }
  const PatternVerdicts verdicts(fleet, trace);
  const std::optional<ProfilesLeftOut> left_out = LeftOut(fleet);
  for (const PatternFinding& finding : patterns.findings) {
    Verdict found = verdicts.Of(finding);
    if (left_out.has_value()) found.evidence.push_back({EvidenceKind::kCounter, *left_out});
    const auto known = std::find_if(report.verdicts.begin(), report.verdicts.end(),
                                    [&](const Verdict& verdict) { return Covers(verdict, found); });
    if (known != report.verdicts.end()) {
      std::move(found.evidence.begin(), found.evidence.end(), std::back_inserter(known->evidence));
      continue;
    }
    const bool accuses = found.type() == FindingType::kAccusation;
    if (accuses && (report.state == JobState::kUnknown || report.state == JobState::kHealthy)) {
      report.state = JobState::kSlow;
    }
    // Who waits is late for what others do.
    if (finding.pattern_class != PatternClass::kCommunicationWait) {
      Explain(FindingName(found), finding.excess(), report.ledger);
    }
    report.verdicts.push_back(std::move(found));
  }
}

}  // namespace lockstep
