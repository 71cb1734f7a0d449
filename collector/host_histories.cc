#include "collector/host_histories.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/string_view.h"

namespace lockstep {
namespace {

constexpr double kDaysNanos = double{kHostHistoryDays} * 24 * 3'600 * 1e9;

struct Blame {
  wire::HostHistory history;
  std::set<std::string> jobs;  // of the last days
};

bool AccusesAHost(const wire::Incident& incident) {
  const wire::Verdict& verdict = incident.verdict();
  const bool of_hardware = verdict.scope() == "machine" || verdict.scope() == "network";
  return of_hardware && !incident.suspected() && incident.maintenance() == 0 && !verdict.culprits().empty() &&
         !verdict.culprits(0).host().empty();
}

// When it counts from: an open one is of today.
int64_t TimeOf(const wire::Incident& incident, int64_t now_wall_ns) {
  return incident.resolved_wall_ns() == 0 ? now_wall_ns : std::min(incident.resolved_wall_ns(), now_wall_ns);
}

// In kHostHistoryDays.
double AgeOf(const wire::Incident& incident, int64_t now_wall_ns) {
  return static_cast<double>(now_wall_ns - TimeOf(incident, now_wall_ns)) / kDaysNanos;
}

}  // namespace

std::vector<wire::HostHistory> HostHistories(const IncidentIndex& incidents, int64_t now_wall_ns,
                                             const std::function<bool(const std::string& job)>& sees) {
  std::map<std::string, Blame> blames;
  incidents.ForEach(/*open_only=*/false, "", [&](const wire::Incident& incident) {
    if (!AccusesAHost(incident) || !sees(incident.job())) return;
    Blame& blame = blames[incident.verdict().culprits(0).host()];
    const int64_t wall_ns = TimeOf(incident, now_wall_ns);
    const double age = AgeOf(incident, now_wall_ns);
    blame.history.set_score(blame.history.score() + std::exp2(-age));
    blame.history.set_newest_wall_ns(std::max(blame.history.newest_wall_ns(), wall_ns));
    if (age > 1) return;
    blame.history.set_incidents(blame.history.incidents() + 1);
    blame.jobs.insert(incident.job());
  });
  std::vector<wire::HostHistory> histories;
  for (auto& [host, blame] : blames) {
    blame.history.set_host(host);
    blame.history.set_jobs(static_cast<uint32_t>(blame.jobs.size()));
    blame.history.set_days(kHostHistoryDays);
    histories.push_back(std::move(blame.history));
  }
  std::stable_sort(histories.begin(), histories.end(),
                   [](const auto& a, const auto& b) { return a.score() > b.score(); });
  return histories;
}

bool IsLemon(const IncidentIndex& incidents, const wire::Incident& incident, int64_t now_wall_ns) {
  if (incident.verdict().culprits().empty()) return false;
  const std::string& host = incident.verdict().culprits(0).host();
  std::set<std::string> jobs;
  incidents.ForEach(/*open_only=*/false, "", [&](const wire::Incident& other) {
    if (!AccusesAHost(other) || other.verdict().culprits(0).host() != host || other.job() == incident.job()) return;
    if (AgeOf(other, now_wall_ns) <= 1) jobs.insert(other.job());
  });
  return jobs.size() >= kLemonJobs;
}

}  // namespace lockstep
