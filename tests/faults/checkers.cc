#include "tests/faults/checkers.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "agent/spool/spool.h"
#include "base/clock.h"
#include "detector/verdict/verdict.h"

namespace lockstep::faults {
namespace {

// What a disk said that it synced, and did not, Linux writes back after 30 s, within 5 s. What a file held is copied to
// another one before it is removed: a disk that lied about the copy may forget that, and the removal, for as long
// again.
constexpr int64_t kLastSecondsOfLiesNanos = 72 * kNanosPerSecond;
// From the answer of a receiver to the crossing-off in history.
constexpr int64_t kCrossingOffNanos = kNanosPerSecond;
// What waits for a disk is given up, or written, so long after the disk is well again; so old may be what waits.
constexpr int64_t kAfterDiskNanos = 60 * kNanosPerSecond;
// A spool looks whether there is something to sync when a second has passed; woken just before, a second later.
constexpr int64_t kSpoolSyncedNanos = 2 * Spool::kHousekeepingNanos + kSpoolSyncNanos;
constexpr size_t kMostNamed = 5;
// A fault that nothing kept from being seen for so long has an incident.
constexpr int64_t kSeenWithinNanos = 15 * kNanosPerSecond;
// What a host is called that is not heard of: right for one whose agent is dead, cut off or stands still.
constexpr char kUnheard[] = "machine_unreachable";

using Agent = std::pair<std::string, uint64_t>;  // host, incarnation

std::string Name(const Agent& agent) { return absl::StrFormat("%s/%016x", agent.first, agent.second); }

std::string Some(const std::vector<uint64_t>& numbers) {
  const std::vector<uint64_t> first(numbers.begin(),
                                    numbers.begin() + static_cast<ptrdiff_t>(std::min(numbers.size(), kMostNamed)));
  return absl::StrCat(numbers.size(), " reports (", absl::StrJoin(first, ", "),
                      numbers.size() > kMostNamed ? ", ..." : "", ")");
}

// How often each report is in the log of each job, summed over the jobs by the one that has it most often.
std::map<Agent, std::map<uint64_t, int>> ReadLogs(HistoryStore& history, Violations& wrong) {
  std::map<Agent, std::map<uint64_t, int>> most;
  const auto jobs = history.LoggedJobs();
  if (!jobs.ok()) {
    wrong.push_back(absl::StrCat("history: jobs cannot be read: ", jobs.status().ToString()));
    return most;
  }
  for (const LoggedJob& job : *jobs) {
    std::map<Agent, std::map<uint64_t, int>> own;
    const absl::Status status =
        history.ScanLog(job.name, 0, std::numeric_limits<int64_t>::max(), [&](const wire::CaptureEntry& entry) {
          if (!entry.has_input()) return true;
          const wire::CaptureInput& input = entry.input();
          ++own[{input.host(), input.incarnation()}][input.report().sequence()];
          return true;
        });
    if (!status.ok()) wrong.push_back(absl::StrCat("history: log of \"", job.name, "\": ", status.ToString()));
    for (const auto& [agent, counts] : own) {
      for (const auto& [sequence, count] : counts) most[agent][sequence] = std::max(most[agent][sequence], count);
    }
  }
  return most;
}

// Whether the disk was ill at some time between these two, or so shortly before that somebody still waited for it.
bool DiskIllIn(const Sightings& seen, int64_t from_ns, int64_t to_ns, int64_t waits_ns) {
  return std::any_of(seen.disk_troubles.begin(), seen.disk_troubles.end(), [&](const TimeSpan& trouble) {
    return trouble.from_ns <= to_ns && from_ns <= trouble.to_ns + waits_ns;
  });
}

// An acknowledgement that the collector sent before it lost its power, and that came later, is of that life.
bool MayBeLost(const Sightings& seen, const WireRecord& record, uint64_t sequence) {
  const auto told = record.told.lower_bound(sequence);
  return told != record.told.end() && LostSince(seen, told->second.at_ns, told->second.opened_ns);
}

// A report that the spool of its host had refused died with the agent, and who came after it was told of later ones.
bool DiedWithAgent(const Sightings& seen, const std::string& host, const WireRecord& record, uint64_t sequence) {
  const auto told = record.told.lower_bound(sequence);
  const auto troubles = seen.spool_troubles.find(host);
  if (record.died_ns == 0 || record.spooled.contains(sequence) || told == record.told.end()) return false;
  if (told->second.opened_ns < record.died_ns || troubles == seen.spool_troubles.end()) return false;
  return std::any_of(troubles->second.late_syncs.begin(), troubles->second.late_syncs.end(),
                     [&record](const TimeSpan& trouble) { return trouble.from_ns < record.died_ns; });
}

// Whether what the spool of that host wrote at `at_ns` may be gone with a loss of power: docs/spool-format.md.
bool MayBeUnsynced(const Sightings& seen, const std::string& host, int64_t at_ns) {
  const auto found = seen.spool_troubles.find(host);
  if (found == seen.spool_troubles.end()) return false;
  const int64_t synced_ns = at_ns + kSpoolSyncedNanos;
  const bool syncs_late =
      std::any_of(found->second.late_syncs.begin(), found->second.late_syncs.end(),
                  [&](const TimeSpan& trouble) { return trouble.from_ns <= synced_ns && at_ns <= trouble.to_ns; });
  return std::any_of(found->second.power_losses.begin(), found->second.power_losses.end(),
                     [&](int64_t loss_ns) { return at_ns <= loss_ns && (loss_ns <= synced_ns || syncs_late); });
}

// firing or resolved, in turns.
std::vector<std::string> StatesOf(const wire::Incident& incident) {
  std::vector<std::string> states;
  for (const wire::Incident::Transition& transition : incident.transitions()) {
    const std::string state = transition.what() == kResolved ? kResolved : kFiring;
    if (states.empty() || states.back() != state) states.push_back(state);
  }
  return states;
}

std::string TextOf(const wire::Incident& incident) {
  return absl::StrCat(incident.id(), " ", incident.key(), " ", incident.verdict().class_(), " ",
                      absl::StrJoin(StatesOf(incident), ">"));
}

// Whether the receiver may be told again what it took: by the life that did not hear its answer, or by a later one that
// could not know of it. A collector that goes on with an incident of an earlier life says so: with the same words,
// where it has found nothing newer.
bool MayComeAgain(const Sightings& seen, const Delivery& first, const Delivery& again) {
  if (!first.is_answered) return true;
  if (first.from == again.from) return false;
  if (first.status == kFiring || DiskIllIn(seen, first.world_ns, again.world_ns, kCrossingOffNanos)) return true;
  return std::any_of(seen.deaths.begin(), seen.deaths.end(), [&](const Death& death) {
    const int64_t lived_ns = death.world_ns - first.world_ns;
    const bool lies_between = death.kind != DeathKind::kInOrder && lived_ns >= 0 && death.world_ns <= again.world_ns;
    return lies_between && lived_ns < kCrossingOffNanos;
  });
}

// A number that means another incident than it did. An alert that was told while the disk refused is not in history,
// but its number had been taken before. Only a disk that keeps not what it took may forget that.
void CheckNumber(const Sightings& seen, const std::vector<const Delivery*>& own, Violations& wrong) {
  for (size_t i = 1; i < own.size(); ++i) {
    const Delivery& before = *own[i - 1];
    if (before.starts_at == own[i]->starts_at) continue;
    const bool may_forget = seen.disk_lied || seen.disk_corrupted;
    if (may_forget && before.from != own[i]->from &&
        DiskIllIn(seen, before.world_ns, before.world_ns, kAfterDiskNanos)) {
      continue;
    }
    wrong.push_back(absl::StrCat("receiver: incident ", before.incident, " is two: number used again"));
    return;
  }
}

// A store that refuses holds no alert back. Whether all that was told of an incident is of a time in which it refused,
// by a collector that died before it could write it, or was ended while the disk still refused.
bool MayBeUnwritten(const Sightings& seen, const std::vector<const Delivery*>& own) {
  return std::all_of(own.begin(), own.end(), [&](const Delivery* delivery) {
    return DiskIllIn(seen, delivery->world_ns, delivery->world_ns, kAfterDiskNanos) &&
           std::any_of(seen.deaths.begin(), seen.deaths.end(), [&](const Death& death) {
             const bool could_write =
                 death.kind == DeathKind::kInOrder && !DiskIllIn(seen, death.world_ns, death.world_ns, 0);
             return !could_write && death.machine == delivery->from && death.world_ns >= delivery->world_ns;
           });
  });
}

void CheckRepeats(const Sightings& seen, const std::vector<const Delivery*>& own, Violations& wrong) {
  for (size_t i = 0; i < own.size(); ++i) {
    for (size_t before = 0; before < i; ++before) {
      if (own[before]->body != own[i]->body || MayComeAgain(seen, *own[before], *own[i])) continue;
      wrong.push_back(absl::StrFormat("receiver: incident %s: the same %s at %.3f s and at %.3f s", own[i]->incident,
                                      own[i]->status, static_cast<double>(own[before]->world_ns) / kNanosPerSecond,
                                      static_cast<double>(own[i]->world_ns) / kNanosPerSecond));
    }
  }
}

// What the receiver saw, without what came again.
std::vector<std::string> StatesSeen(const std::vector<const Delivery*>& own) {
  std::vector<std::string> states;
  std::set<std::string> bodies;
  for (const Delivery* delivery : own) {
    if (!bodies.insert(delivery->body).second) continue;
    if (states.empty() || states.back() != delivery->status) states.push_back(delivery->status);
  }
  return states;
}

// A collector that takes over from one whose clock was another may find that a begin waited for hours, and tells of
// what is over by now the end alone.
bool MayLackBegin(const Sightings& seen, const std::vector<std::string>& expected,
                  const std::vector<std::string>& told) {
  if (!seen.clock_jumped || expected.size() < 2 || expected[1] != kResolved) return false;
  return told == std::vector<std::string>(expected.begin() + 1, expected.end());
}

bool Blames(const wire::Incident& incident, const std::string& host) {
  const auto& culprits = incident.verdict().culprits();
  return std::any_of(culprits.begin(), culprits.end(), [&](const auto& culprit) { return culprit.host() == host; });
}

bool IsUnheard(const wire::Incident& incident) { return incident.verdict().class_() == kUnheard; }

// The job was slow, and nobody was accused.
bool IsUnexplained(const wire::Incident& incident) {
  return incident.verdict().class_() == kSlowUnexplained && incident.verdict().culprits().empty();
}

}  // namespace

bool LostSince(const Sightings& seen, int64_t at_ns, int64_t alive_ns) {
  const bool given_up = std::any_of(seen.histories_given_up.begin(), seen.histories_given_up.end(),
                                    [&](int64_t world_ns) { return alive_ns <= world_ns; });
  if (given_up || !seen.disk_lied) return given_up;
  return std::any_of(seen.deaths.begin(), seen.deaths.end(), [&](const Death& death) {
    return death.kind == DeathKind::kPowerLoss && alive_ns <= death.world_ns &&
           death.world_ns - at_ns < kLastSecondsOfLiesNanos;
  });
}

void CheckHistory(const Sightings& seen, HistoryStore& history, Violations& wrong) {
  const auto logged = ReadLogs(history, wrong);
  for (const auto& [agent, record] : seen.wire) {
    const auto found = logged.find(agent);
    std::vector<uint64_t> lost;
    std::vector<uint64_t> doubled;
    for (const uint64_t sequence : record.sent) {
      const int count = found == logged.end() || found->second.count(sequence) == 0 ? 0 : found->second.at(sequence);
      if (count > 1) doubled.push_back(sequence);
      if (count > 0 || sequence > record.acknowledged) continue;
      if (!MayBeLost(seen, record, sequence) && !DiedWithAgent(seen, agent.first, record, sequence))
        lost.push_back(sequence);
    }
    if (!lost.empty()) wrong.push_back(absl::StrCat("history: ", Name(agent), ": acknowledged and lost: ", Some(lost)));
    if (!doubled.empty()) wrong.push_back(absl::StrCat("history: ", Name(agent), ": twice: ", Some(doubled)));
  }
}

void CheckSpools(const Sightings& seen, Violations& wrong) {
  for (const auto& [agent, record] : seen.wire) {
    std::vector<uint64_t> left;
    for (auto at = record.spooled.upper_bound(record.acknowledged); at != record.spooled.end(); ++at) {
      if (!MayBeUnsynced(seen, agent.first, at->second)) left.push_back(at->first);
    }
    if (!left.empty()) wrong.push_back(absl::StrCat("spool: of ", Name(agent), " never delivered: ", Some(left)));
  }
}

void CheckInnocents(const Sightings& seen, const std::vector<wire::Incident>& incidents, Violations& wrong) {
  for (const wire::Incident& incident : incidents) {
    // While an agent is away its host is silent, or is slow without anybody knowing.
    const bool without_agent = IsUnheard(incident) || IsUnexplained(incident);
    const bool may_be = without_agent ? seen.agents_had_trouble : Blames(incident, seen.fault.host);
    if (!may_be) wrong.push_back(absl::StrCat("incidents: for no fault: ", TextOf(incident)));
  }
}

void CheckOver(const Sightings& seen, const std::vector<wire::Incident>& incidents, Violations& wrong) {
  for (const wire::Incident& incident : incidents) {
    const bool may_hold = seen.fault.outlasts_job && Blames(incident, seen.fault.host);
    if (incident.state() != wire::Incident::STATE_OPEN || may_hold) continue;
    wrong.push_back(absl::StrCat("incidents: still open: ", TextOf(incident)));
  }
}

void CheckIncidents(const Sightings& seen, const std::vector<wire::Incident>& incidents, Violations& wrong) {
  std::vector<std::string> of_fault;
  for (const wire::Incident& incident : incidents) {
    if (!IsUnheard(incident) && Blames(incident, seen.fault.host)) of_fault.push_back(TextOf(incident));
  }
  if (of_fault.empty() && seen.undisturbed_ns < kSeenWithinNanos) return;
  if (of_fault.size() != 1) {
    wrong.push_back(absl::StrCat("incidents: for one fault: ", of_fault.size(), ": ", absl::StrJoin(of_fault, "; ")));
  } else if (absl::StrContains(of_fault.front(), "resolved>firing")) {
    wrong.push_back(absl::StrCat("incidents: came again: ", of_fault.front()));
  }
}

void CheckDeliveries(const Sightings& seen, const std::vector<wire::Incident>& incidents, Violations& wrong) {
  std::map<std::string, std::vector<const Delivery*>> by_incident;
  for (const Delivery& delivery : seen.deliveries) by_incident[delivery.incident].push_back(&delivery);
  for (const wire::Incident& incident : incidents) {
    const std::string id = absl::StrCat(incident.id());
    // Nobody hears of what was quiet from its begin to its end.
    const std::vector<std::string> expected = incident.withheld() ? std::vector<std::string>() : StatesOf(incident);
    const std::vector<std::string> told = StatesSeen(by_incident[id]);
    if (told != expected && !MayLackBegin(seen, expected, told)) {
      wrong.push_back(absl::StrCat("receiver: incident ", id, " went ", absl::StrJoin(expected, ">"), ", told was ",
                                   told.empty() ? "nothing" : absl::StrJoin(told, ">")));
    }
    CheckRepeats(seen, by_incident[id], wrong);
    CheckNumber(seen, by_incident[id], wrong);
    by_incident.erase(id);
  }
  for (const auto& [id, own] : by_incident) {
    if (own.empty() || MayBeUnwritten(seen, own)) continue;
    wrong.push_back(absl::StrCat("receiver: incident ", id, " is not in history"));
  }
}

}  // namespace lockstep::faults
