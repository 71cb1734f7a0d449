#include "detector/counters/counter_diagnosis.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/metric_catalog.h"
#include "detector/counters/counter_class.h"
#include "detector/counters/counter_history.h"
#include "detector/counters/crowd.h"
#include "detector/counters/group_member.h"
#include "detector/counters/network_signs.h"
#include "detector/counters/peer_detector.h"
#include "detector/counters/place_diagnosis.h"
#include "detector/model/gpu_device.h"
#include "detector/model/sample_losses.h"
#include "detector/verdict/confidence.h"

namespace lockstep {
namespace {

using enum Metric;

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr double kMillisPerSecond = 1000;
// Of what people read.
constexpr size_t kMostSentences = 3;
// Of history, to call a job healthy: JobActivity::kPaceSeconds, before which nothing is called slower.
constexpr int64_t kLongEnoughMs = 120'000;

void PlaceCulprit(const HistoryCase& found, const std::string& host, double confidence, Verdict* verdict) {
  Culprit culprit{.host = host, .confidence = confidence};
  const std::string device = DeviceOf(found.signs);
  culprit.gpu = GpuOfDevice(device);
  if (culprit.gpu < 0) culprit.device = device;
  verdict->culprits = {std::move(culprit)};
}

void AddSentences(const HistoryCase& found, const std::string& host, Verdict* verdict) {
  if (found.kind == CaseKind::kSilence) {
    const double seconds = static_cast<double>(found.last_ms - found.onset_ms) / kMillisPerSecond;
    verdict->evidence.push_back({EvidenceKind::kCounter, NoCounters{.host = host, .seconds = seconds}});
  }
  for (size_t i = 0; i < found.signs.size() && i < kMostSentences; ++i) {
    verdict->evidence.push_back({EvidenceKind::kCounter, ExcursionOf(found.signs[i], host)});
  }
}

void AddOmissions(const CounterHistory& history, const MetricTable& table, Verdict* verdict) {
  if (!history.not_looked_at.empty()) {
    verdict->evidence.push_back({EvidenceKind::kAbstained, NotLookedAt{.what = history.not_looked_at}});
  }
  if (history.losses.any()) {
    verdict->evidence.push_back({EvidenceKind::kAbstained, LeftOut(history.losses, table.hosts)});
  }
}

// With what was not looked at.
Verdict FullVerdict(const HistoryCase& found, const CounterHistory& history, const MetricTable& table,
                    bool may_accuse) {
  Verdict verdict = CaseVerdict(found, history, table.hosts[static_cast<size_t>(found.host)], may_accuse);
  AddOmissions(history, table, &verdict);
  return verdict;
}

// One case per machine: one that may accuse before one that may not, then the one with the most evidence. By host.
std::vector<const HistoryCase*> BestOfEachHost(const CounterHistory& history) {
  const auto rank = [](const HistoryCase* found) { return std::tuple(found->MayAccuse(), found->score); };
  std::map<int32_t, const HistoryCase*> best;
  for (const HistoryCase& found : history.cases) {
    const HistoryCase*& known = best[found.host];
    if (known == nullptr || rank(&found) > rank(known)) known = &found;
  }
  std::vector<const HistoryCase*> cases;
  for (const auto& [host, found] : best) cases.push_back(found);
  return cases;
}

// Where a machine has signs of a slow network of its own.
std::vector<MemberSign> MemberSigns(const CounterHistory& history, const MetricTable& table) {
  std::vector<MemberSign> signs;
  for (const HistoryCase& found : history.cases) {
    if (found.kind != CaseKind::kAlarm) continue;
    AddNetworkSign(table.hosts[static_cast<size_t>(found.host)], found.signs, found.onset_ms, &signs);
  }
  for (const HistoryFinding& found : history.findings) AddNetworkSign(found.finding, found.first_ms, &signs);
  return signs;
}

// Of machines whose case no place explains, and of places.
void AddCases(const CounterHistory& history, const MetricTable& table, const CounterContext& context,
              JobReport* report) {
  const std::vector<const HistoryCase*> cases = BestOfEachHost(history);
  const std::vector<PlaceFinding> places = context.places == nullptr
                                               ? std::vector<PlaceFinding>()
                                               : FindPlaces(cases, history.shifts, table.hosts, *context.places);
  const auto is_of_place = [&places](const HistoryCase* found) {
    return std::any_of(places.begin(), places.end(), [&](const PlaceFinding& place) { return place.Explains(*found); });
  };
  std::vector<const HistoryCase*> alone = cases;
  std::erase_if(alone, is_of_place);
  const std::set<int32_t> in_crowds = HostsInCrowds(alone, table.hosts.size());
  size_t observations = 0;
  // Whoever holds a job up is named, and machines that stand idle differ in everything.
  const bool stands = report->state == JobState::kHung && !report->verdicts.empty();
  for (const HistoryCase* const found : cases) {
    if (Corroborate(*found, table.hosts[static_cast<size_t>(found->host)], &report->verdicts)) continue;
    if (is_of_place(found) || in_crowds.contains(found->host)) continue;
    Verdict verdict = FullVerdict(*found, history, table, !context.has_records);
    const bool observation = verdict.type() == FindingType::kObservation;
    if (observation && (stands || ++observations > kMostCounterObservations)) continue;
    report->verdicts.push_back(std::move(verdict));
  }
  if (!in_crowds.empty()) {
    report->verdicts.push_back(
        Verdict::Abstention(CrowdOfMachines{.machines = in_crowds.size(), .all = table.hosts.size()}));
  }
  for (const PlaceFinding& place : places) {
    Verdict verdict = FullVerdict(place.example, history, table, !context.has_records);
    BlamePlace(place, table.hosts, &verdict);
    report->verdicts.push_back(std::move(verdict));
  }
}

void AddFindings(const CounterHistory& history, bool has_records, JobReport* report) {
  std::vector<HardwareFinding> findings;
  for (const HistoryFinding& found : history.findings) findings.push_back(found.finding);
  for (Verdict& verdict : report->verdicts) {
    if (!findings.empty()) AddCounterFindings(findings, findings.back().last_ns, verdict);
  }
  for (const HistoryFinding& found : history.findings) {
    if (!found.finding.hard || found.host < 0) continue;
    for (Verdict& verdict : FindingVerdicts({found.finding}, found.finding.last_ns)) {
      const bool known = std::any_of(report->verdicts.begin(), report->verdicts.end(), [&](const Verdict& other) {
        return other.type() == FindingType::kAccusation && !other.culprits.empty() &&
               other.culprits.front().host == found.finding.host;
      });
      if (known) continue;
      verdict.first_seen_ns = verdict.last_seen_ns = found.first_ms * kNanosPerMilli;
      if (has_records) verdict.BecomeObservation();
      report->verdicts.push_back(std::move(verdict));
    }
  }
}

void SayState(const CounterHistory& history, JobReport* report) {
  const bool long_enough = history.end_ms - history.start_ms >= kLongEnoughMs;
  const bool judged = history.activity_known && history.machines >= 2 && long_enough;
  if (judged) {
    const bool well = !history.degraded && !history.degraded_at_end;
    report->state = well ? JobState::kHealthy : history.stuck_at_end ? JobState::kHung : JobState::kSlow;
    return;
  }
  if (!report->verdicts.empty()) return;
  report->verdicts.push_back(Verdict::Abstention(
      FewCounters{.machines = static_cast<int32_t>(history.machines),
                  .seconds = static_cast<double>(history.end_ms - history.start_ms) / kMillisPerSecond,
                  .required_seconds = kLongEnoughMs / kMillisPerSecond}));
}

}  // namespace

VerdictClass ClassOf(const HistoryCase& found) {
  return found.kind == CaseKind::kSilence ? VerdictClass::kMachineUnreachable : ClassOf(found.signs);
}

Verdict CaseVerdict(const HistoryCase& found, const CounterHistory& history, const std::string& host, bool may_accuse) {
  const bool accuse = may_accuse && found.MayAccuse();
  const bool network = accuse && IsNetwork(ClassOf(found));
  Verdict verdict =
      !accuse ? Verdict::Observation(VerdictClass::kCounterOutlier)
              : Verdict::Accusation(network ? VerdictScope::kNetwork : VerdictScope::kMachine, ClassOf(found));
  if (accuse) verdict.advice = network ? Advice::kCheckLink : Advice::kCordonAndReplace;
  PlaceCulprit(found, host, accuse ? kLikelyConfidence : kDoubtfulConfidence, &verdict);
  verdict.first_seen_ns = found.onset_ms * kNanosPerMilli;
  verdict.last_seen_ns = found.last_ms * kNanosPerMilli;
  AddSentences(found, host, &verdict);
  if (accuse) {
    verdict.cost = {.slowdown_fraction = found.job_loss, .steps_affected_fraction = 1};
    verdict.evidence.push_back({EvidenceKind::kCounter, JobDidLess{.loss = found.job_loss}});
  } else if (may_accuse && !found.job_degraded) {
    verdict.evidence.push_back({EvidenceKind::kAbstained, NoDegradationSeen{.activity_known = history.activity_known}});
  }
  return verdict;
}

bool Corroborate(const HistoryCase& found, const std::string& host, std::vector<Verdict>* verdicts) {
  bool blamed = false;
  for (Verdict& verdict : *verdicts) {
    if (!AccusesNode(verdict)) continue;
    for (Culprit& culprit : verdict.culprits) {
      if (culprit.host != host) continue;
      blamed = true;
      culprit.confidence = 1 - (1 - culprit.confidence) / 2;
      verdict.verdict_class = Refined(verdict.verdict_class, ClassOf(found));
      AddSentences(found, host, &verdict);
      break;
    }
  }
  return blamed;
}

CounterExcursion ExcursionOf(const NamedSign& sign, const std::string& host) {
  const Excursion& excursion = sign.excursion;
  return {.metric = sign.metric_name,
          .device = sign.device,
          .host = host,
          .level = excursion.level,
          .is_rate = sign.is_rate,
          .peers = sign.peers,
          .median = excursion.median,
          .up = excursion.up,
          .sigmas = excursion.sigmas,
          .onset_seconds = static_cast<double>(excursion.onset_ms) / kMillisPerSecond};
}

void AddCounters(const MetricTable& table, const CounterContext& context, JobReport* report) {
  if (table.series.empty()) return;
  PeerOptions options;
  options.duty_of_host = context.duty_of_host;
  const CounterHistory history = JudgeHistory(table, options);
  if (context.has_records) {
    NarrowGroups(MemberSigns(history, table), {history.start_ms, history.end_ms}, &report->verdicts);
  }
  AddCases(history, table, context, report);
  AddFindings(history, context.has_records, report);
  if (context.has_records) return;
  std::stable_sort(report->verdicts.begin(), report->verdicts.end(), [](const Verdict& a, const Verdict& b) {
    return std::pair(a.type() == FindingType::kAccusation, a.cost.slowdown_fraction) >
           std::pair(b.type() == FindingType::kAccusation, b.cost.slowdown_fraction);
  });
  SayState(history, report);
}

}  // namespace lockstep
