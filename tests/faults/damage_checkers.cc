#include "tests/faults/damage_checkers.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep::faults {
namespace {

// Whether what was durable for that collector then may be gone.
bool MayBeGone(const Sightings& seen, const WriteLedger::Kept& kept) {
  const bool was_dead = std::any_of(seen.deaths.begin(), seen.deaths.end(), [&](const Death& death) {
    return death.machine == kept.by && death.world_ns <= kept.at_ns;
  });
  return was_dead || LostSince(seen, kept.at_ns, kept.at_ns);
}

}  // namespace

void CheckNamed(const Sightings& seen, const char* what, const absl::Status& status, Violations& wrong) {
  if (status.ok() || (seen.disk_corrupted && absl::IsDataLoss(status))) return;
  wrong.push_back(absl::StrCat("damage: ", what, ": ", status.ToString()));
}

void CheckAsWritten(const Sightings& seen, HistoryStore& history, Violations& wrong) {
  const auto jobs = history.LoggedJobs();
  CheckNamed(seen, "jobs", jobs.status(), wrong);
  for (const LoggedJob& job : jobs.ok() ? *jobs : std::vector<LoggedJob>()) {
    uint64_t strange = 0;
    const absl::Status status =
        history.ScanLog(job.name, 0, std::numeric_limits<int64_t>::max(), [&](const wire::CaptureEntry& entry) {
          strange += seen.ledger.Has(entry) ? 0 : 1;
          return true;
        });
    CheckNamed(seen, "log", status, wrong);
    if (strange > 0)
      wrong.push_back(absl::StrCat("damage: log of \"", job.name, "\": ", strange, " that nobody wrote"));
  }
  const auto incidents = history.LoadIncidents();
  CheckNamed(seen, "incidents", incidents.status(), wrong);
  for (const wire::Incident& incident : incidents.ok() ? *incidents : std::vector<wire::Incident>()) {
    if (!seen.ledger.Has(incident)) {
      wrong.push_back(absl::StrCat("damage: incident ", incident.id(), " ", incident.key(), ": nobody wrote that"));
    }
  }
}

void CheckKept(const Sightings& seen, const std::vector<wire::Incident>& incidents, Violations& wrong) {
  std::map<uint64_t, const WriteLedger::Kept*> newest;
  for (const WriteLedger::Kept& kept : seen.ledger.kept()) {
    if (!MayBeGone(seen, kept)) newest[kept.incident.id()] = &kept;
  }
  for (const wire::Incident& incident : incidents) {
    const auto kept = newest.find(incident.id());
    if (kept == newest.end()) continue;
    if (incident.updated_wall_ns() < kept->second->incident.updated_wall_ns()) {
      wrong.push_back(absl::StrCat("damage: incident ", incident.id(), ": an older state has come back"));
    }
    newest.erase(kept);
  }
  for (const auto& [id, kept] : newest) wrong.push_back(absl::StrCat("damage: incident ", id, " is lost"));
}

void CheckTold(const Sightings& seen, Violations& wrong) {
  std::set<std::pair<std::string, std::string>> begun;  // a number may be used again after a loss
  for (const Delivery& delivery : seen.deliveries) {
    const std::pair<std::string, std::string> which{delivery.incident, delivery.starts_at};
    if (delivery.status == kFiring) begun.insert(which);
    if (begun.contains(which)) continue;
    wrong.push_back(absl::StrCat("receiver: incident ", delivery.incident, " is over and was never told"));
  }
}

}  // namespace lockstep::faults
