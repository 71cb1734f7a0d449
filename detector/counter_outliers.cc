#include "detector/counter_outliers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "detector/counters/counter_class.h"
#include "detector/counters/named_sign.h"
#include "detector/counters/network_signs.h"
#include "detector/counters/peer_detector.h"
#include "detector/verdict_merge.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

HistoryCase CaseOf(const MachineCase& found, const PeerDetector& detector, int64_t now_ms) {
  HistoryCase known{.host = found.host,
                    .kind = found.kind,
                    .score = found.score,
                    .onset_ms = found.onset_ms,
                    .alarm_ms = found.since_ms,
                    .last_ms = now_ms};
  for (const CounterSign& sign : found.signs) known.signs.push_back(NameSign(sign, detector.watch(sign.watch)));
  return known;
}

std::vector<HistoryShift> ShiftsOf(const PeerDetector& detector, int64_t now_ms) {
  std::vector<HistoryShift> shifts;
  for (const CommonShift& shift : detector.common_shifts()) {
    shifts.push_back({.hosts = shift.hosts,
                      .strongest = NameSign(shift.strongest, detector.watch(shift.strongest.watch)),
                      .strongest_host = shift.strongest.host,
                      .onset_ms = shift.onset_ms,
                      .last_ms = now_ms});
  }
  return shifts;
}

}  // namespace

Verdict CounterOutliers::ObservationOf(const HistoryCase& found, const std::string& host) {
  Verdict verdict;
  verdict.scope = VerdictScope::kUnknown;
  verdict.verdict_class = VerdictClass::kCounterOutlier;
  verdict.advice = Advice::kObserve;
  verdict.first_seen_ns = found.onset_ms * kNanosPerMilli;
  // One cause per host: which of its metrics is the strongest changes from one look to the next.
  verdict.culprits = {{.host = host, .confidence = 0.5}};
  if (found.signs.empty()) return verdict;
  const NamedSign& sign = found.signs.front();
  verdict.evidence = {
      {EvidenceKind::kCounter,
       absl::StrFormat("%s%s%s of host %s is %.4g%s; the median of %d peers is %.4g, and it stays %s its place by %.1f "
                       "times the noise.",
                       sign.metric_name, sign.device.empty() ? "" : " of ", sign.device, host, sign.excursion.level,
                       sign.is_rate ? " per second" : "", sign.peers, sign.excursion.median,
                       sign.excursion.up ? "above" : "below", sign.excursion.sigmas)}};
  return verdict;
}

// A place that stands already goes on with the newest evidence and the machines that it was first seen by.
void CounterOutliers::Stand(PlaceFinding finding, const std::vector<std::string>& hosts) {
  Verdict observation = ObservationOf(finding.example, hosts[static_cast<size_t>(finding.example.host)]);
  BlamePlace(finding, hosts, &observation);
  const auto known = std::find_if(standing_.begin(), standing_.end(), [&finding](const StandingPlace& place) {
    return place.finding.vote.places == finding.vote.places;
  });
  if (known == standing_.end()) {
    if (standing_.size() < kMaxPlaces) standing_.push_back({std::move(finding), std::move(observation)});
    return;
  }
  observation.culprits = std::move(known->observation.culprits);
  finding.example.onset_ms = std::min(finding.example.onset_ms, known->finding.example.onset_ms);
  *known = {std::move(finding), std::move(observation)};
}

void CounterOutliers::FindPlacesOf(const std::vector<Outlier>& outliers, const std::vector<HistoryShift>& shifts,
                                   const Roster& roster, const PlaceTable& places, int64_t now_ms) {
  std::erase_if(standing_,
                [now_ms](const StandingPlace& place) { return now_ms - place.finding.example.last_ms > kTogetherMs; });
  if (places.empty() || (outliers.size() < 2 && shifts.empty())) return;
  std::vector<const HistoryCase*> cases;
  for (const Outlier& outlier : outliers) cases.push_back(&outlier.found);
  std::vector<std::string> hosts;
  for (const Host& host : roster.hosts()) hosts.push_back(host.name);
  for (PlaceFinding& finding : FindPlaces(cases, shifts, hosts, places)) Stand(std::move(finding), hosts);
}

void CounterOutliers::Find(CounterStream& counters, const Roster& roster, const PlaceTable& places,
                           int64_t watermark_ns) {
  const int64_t now_ms = watermark_ns / kNanosPerMilli;
  outliers_.clear();
  for (const MachineCase& found : counters.Evaluate(watermark_ns)) {
    outliers_.push_back({.host = roster.hosts()[static_cast<size_t>(found.host)].name,
                         .found = CaseOf(found, counters.detector(), now_ms)});
  }
  FindPlacesOf(outliers_, ShiftsOf(counters.detector(), now_ms), roster, places, now_ms);
  for (Outlier& outlier : outliers_) {
    outlier.is_of_place = std::any_of(standing_.begin(), standing_.end(), [&outlier](const StandingPlace& place) {
      return place.finding.Explains(outlier.found);
    });
  }
  if (outliers_.size() <= kMaxOutliers) return;
  std::stable_sort(outliers_.begin(), outliers_.end(), [](const Outlier& a, const Outlier& b) {
    if (a.is_of_place != b.is_of_place) return b.is_of_place;
    return a.found.score > b.found.score;
  });
  outliers_.resize(kMaxOutliers);
  std::stable_sort(outliers_.begin(), outliers_.end(),
                   [](const Outlier& a, const Outlier& b) { return a.found.host < b.found.host; });
}

std::vector<MemberSign> CounterOutliers::NetworkSigns(const std::vector<HardwareFinding>& findings) const {
  std::vector<MemberSign> signs;
  for (const Outlier& outlier : outliers_) {
    AddNetworkSign(outlier.host, outlier.found.signs, outlier.found.onset_ms, &signs);
  }
  for (const HardwareFinding& finding : findings) AddNetworkSign(finding, finding.first_ns / kNanosPerMilli, &signs);
  return signs;
}

void CounterOutliers::AddTo(std::vector<Verdict>* verdicts) const {
  std::vector<Verdict> observations;
  for (const StandingPlace& place : standing_) observations.push_back(place.observation);
  for (const Outlier& outlier : outliers_) {
    if (!outlier.is_of_place) observations.push_back(ObservationOf(outlier.found, outlier.host));
    for (Verdict& verdict : *verdicts) {
      if (verdict.culprits.size() != 1 || verdict.culprits.front().host != outlier.host) continue;
      verdict.verdict_class = Refined(verdict.verdict_class, ClassOf(outlier.found.signs));
    }
  }
  MergeVerdicts(observations, verdicts);
}

}  // namespace lockstep
