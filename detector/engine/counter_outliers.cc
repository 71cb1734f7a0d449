#include "detector/engine/counter_outliers.h"

#include <algorithm>
#include <set>
#include <utility>

#include "detector/counters/counter_diagnosis.h"
#include "detector/counters/counter_driver.h"
#include "detector/counters/crowd.h"
#include "detector/counters/network_signs.h"
#include "detector/counters/peer_detector.h"
#include "detector/verdict/verdict_merge.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

std::vector<std::string> HostNames(const Roster& roster) {
  std::vector<std::string> hosts;
  for (const Host& host : roster.hosts()) hosts.push_back(host.name);
  return hosts;
}

std::vector<HistoryShift> Standing(const std::vector<HistoryShift>& shifts, int64_t now_ms) {
  std::vector<HistoryShift> standing;
  for (const HistoryShift& shift : shifts) {
    if (shift.last_ms >= now_ms) standing.push_back(shift);
  }
  return standing;
}

}  // namespace

// Which of its devices shows the most changes from one look to the next.
Verdict CounterOutliers::WholeHost(Verdict verdict) {
  for (Culprit& culprit : verdict.culprits) {
    culprit.gpu = -1;
    culprit.device.clear();
  }
  return verdict;
}

// A place that stands already goes on with the newest evidence and the machines that it was first seen by.
void CounterOutliers::Stand(PlaceFinding finding, const std::vector<std::string>& hosts, const Context& context) {
  const std::string& host = hosts[static_cast<size_t>(finding.example.host)];
  Verdict verdict =
      WholeHost(CaseVerdict(finding.example, context.counters.driver().history(), host, context.may_accuse));
  BlamePlace(finding, hosts, &verdict);
  const auto known = std::find_if(standing_.begin(), standing_.end(), [&finding](const StandingPlace& place) {
    return place.finding.vote.places == finding.vote.places;
  });
  if (known == standing_.end()) {
    if (standing_.size() < kMaxPlaces) standing_.push_back({std::move(finding), std::move(verdict)});
    return;
  }
  verdict.culprits = std::move(known->verdict.culprits);
  if (Blames(verdict) && Blames(known->verdict)) verdict.verdict_class = known->verdict.verdict_class;
  finding.example.onset_ms = std::min(finding.example.onset_ms, known->finding.example.onset_ms);
  *known = {std::move(finding), std::move(verdict)};
}

void CounterOutliers::FindPlacesOf(const Context& context) {
  const CounterHistory& history = context.counters.driver().history();
  const int64_t now_ms = context.watermark_ns / kNanosPerMilli;
  std::erase_if(standing_,
                [now_ms](const StandingPlace& place) { return now_ms - place.finding.example.last_ms > kTogetherMs; });
  const std::vector<HistoryShift> shifts = Standing(history.shifts, history.end_ms);
  if (context.places.empty() || (outliers_.size() < 2 && shifts.empty())) return;
  std::vector<const HistoryCase*> cases;
  for (const Outlier& outlier : outliers_) cases.push_back(&outlier.found);
  const std::vector<std::string> hosts = HostNames(context.roster);
  for (PlaceFinding& finding : FindPlaces(cases, shifts, hosts, context.places)) {
    Stand(std::move(finding), hosts, context);
  }
}

void CounterOutliers::KeepFirstClasses() {
  std::map<std::string, VerdictClass> accused_as;
  for (Outlier& outlier : outliers_) {
    if (!Blames(outlier.verdict)) continue;
    const auto before = accused_as_.find(outlier.host);
    if (before != accused_as_.end()) outlier.verdict.verdict_class = before->second;
    accused_as[outlier.host] = outlier.verdict.verdict_class;
  }
  accused_as_ = std::move(accused_as);
}

void CounterOutliers::Find(const Context& context) {
  outliers_.clear();
  const CounterHistory& history = context.counters.driver().history();
  const std::vector<Host>& hosts = context.roster.hosts();
  if (static_cast<int>(hosts.size()) < context.min_hosts) return;
  for (const HistoryCase& found : history.cases) {
    if (found.last_ms < history.end_ms) continue;
    // Who is silent while records or nobody tells of degradation has an agent that was stopped, for all that is known.
    if (found.kind == CaseKind::kSilence && (!context.may_accuse || !found.job_degraded)) continue;
    const std::string& host = hosts[static_cast<size_t>(found.host)].name;
    outliers_.push_back(
        {.host = host, .found = found, .verdict = WholeHost(CaseVerdict(found, history, host, context.may_accuse))});
  }
  FindPlacesOf(context);
  for (Outlier& outlier : outliers_) {
    outlier.is_of_place = std::any_of(standing_.begin(), standing_.end(), [&outlier](const StandingPlace& place) {
      return place.finding.Explains(outlier.found);
    });
  }
  FindCrowds(hosts.size());
  KeepFirstClasses();
  DropBeyondLimit();
}

void CounterOutliers::FindCrowds(size_t machines) {
  std::vector<const HistoryCase*> cases;
  for (const Outlier& outlier : outliers_) {
    if (!outlier.is_of_place) cases.push_back(&outlier.found);
  }
  const std::set<int32_t> in_crowds = HostsInCrowds(cases, machines);
  for (Outlier& outlier : outliers_) outlier.is_of_crowd = in_crowds.contains(outlier.found.host);
}

void CounterOutliers::DropBeyondLimit() {
  if (outliers_.size() <= kMaxOutliers) return;
  std::stable_sort(outliers_.begin(), outliers_.end(), [](const Outlier& a, const Outlier& b) {
    if (Blames(a.verdict) != Blames(b.verdict)) return Blames(a.verdict);
    if (a.is_of_place != b.is_of_place) return b.is_of_place;
    return a.found.score > b.found.score;
  });
  outliers_.erase(outliers_.begin() + kMaxOutliers, outliers_.end());
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
  std::vector<Verdict> found;
  for (const StandingPlace& place : standing_) found.push_back(place.verdict);
  for (const Outlier& outlier : outliers_) {
    if (Corroborate(outlier.found, outlier.host, verdicts)) continue;
    if (outlier.is_of_place || outlier.is_of_crowd) continue;
    found.push_back(outlier.verdict);
  }
  MergeVerdicts(found, verdicts);
}

}  // namespace lockstep
