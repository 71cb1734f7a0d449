#include "detector/counter_outliers.h"

#include <cstddef>

#include "absl/strings/str_format.h"
#include "detector/counters/counter_class.h"
#include "detector/counters/network_signs.h"
#include "detector/counters/peer_detector.h"
#include "detector/verdict_merge.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

}  // namespace

Verdict CounterOutliers::ObservationOf(const Outlier& outlier) {
  const NamedSign& sign = outlier.signs.front();
  Verdict verdict;
  verdict.scope = VerdictScope::kUnknown;
  verdict.verdict_class = VerdictClass::kCounterOutlier;
  verdict.advice = Advice::kObserve;
  verdict.first_seen_ns = outlier.onset_ms * kNanosPerMilli;
  // One cause per host: which of its metrics is the strongest changes from one look to the next.
  verdict.culprits = {{.host = outlier.host, .confidence = 0.5}};
  verdict.evidence = {
      {EvidenceKind::kCounter,
       absl::StrFormat("%s%s%s of host %s is %.4g%s; the median of %d peers is %.4g, and it stays %s its place by %.1f "
                       "times the noise.",
                       sign.metric_name, sign.device.empty() ? "" : " of ", sign.device, outlier.host,
                       sign.excursion.level, sign.is_rate ? " per second" : "", sign.peers, sign.excursion.median,
                       sign.excursion.up ? "above" : "below", sign.excursion.sigmas)}};
  return verdict;
}

void CounterOutliers::Find(CounterStream& counters, const Roster& roster, int64_t watermark_ns) {
  outliers_.clear();
  for (const MachineCase& found : counters.Evaluate(watermark_ns)) {
    Outlier& outlier = outliers_.emplace_back();
    outlier.host = roster.hosts()[static_cast<size_t>(found.host)].name;
    outlier.onset_ms = found.onset_ms;
    for (const CounterSign& sign : found.signs) {
      outlier.signs.push_back(NameSign(sign, counters.detector().watch(sign.watch)));
    }
  }
}

std::vector<MemberSign> CounterOutliers::NetworkSigns(const std::vector<HardwareFinding>& findings) const {
  std::vector<MemberSign> signs;
  for (const Outlier& outlier : outliers_) AddNetworkSign(outlier.host, outlier.signs, outlier.onset_ms, &signs);
  for (const HardwareFinding& finding : findings) AddNetworkSign(finding, finding.first_ns / kNanosPerMilli, &signs);
  return signs;
}

void CounterOutliers::AddTo(std::vector<Verdict>* verdicts) const {
  std::vector<Verdict> observations;
  for (const Outlier& outlier : outliers_) {
    observations.push_back(ObservationOf(outlier));
    for (Verdict& verdict : *verdicts) {
      if (verdict.culprits.size() != 1 || verdict.culprits.front().host != outlier.host) continue;
      verdict.verdict_class = Refined(verdict.verdict_class, ClassOf(outlier.signs));
    }
  }
  MergeVerdicts(observations, verdicts);
}

}  // namespace lockstep
