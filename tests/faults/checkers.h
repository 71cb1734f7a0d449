// What has to hold after a run, judged by what can be seen from outside: the wire, history, and what a receiver took.
//
// Pure but for reading history. Thread-compatible.

#ifndef LOCKSTEP_TESTS_FAULTS_CHECKERS_H_
#define LOCKSTEP_TESTS_FAULTS_CHECKERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collector/store/history_store.h"
#include "proto/incident.pb.h"
#include "tests/faults/simulated_agent.h"
#include "tests/faults/simulated_receiver.h"
#include "tests/faults/thread_world.h"
#include "tests/faults/write_ledger.h"

namespace lockstep::faults {

// States of an alert, as receivers are told.
inline constexpr char kFiring[] = "firing";
inline constexpr char kResolved[] = "resolved";

enum class DeathKind { kKilled, kPowerLoss, kInOrder };

// An end of a life of the collector.
struct Death {
  int64_t world_ns = 0;
  Machine machine = kOutside;
  DeathKind kind = DeathKind::kKilled;
};

// The one fault of the job.
struct TrueFault {
  std::string host;
  int64_t from_ns = 0;  // world
  int64_t to_ns = 0;
  bool outlasts_job = false;  // a job that died keeps its incident
};

// From when until when (world).
struct TimeSpan {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
};

// What happened to the machine of an agent, and so to its spool.
struct SpoolTroubles {
  std::vector<int64_t> power_losses;  // world
  std::vector<TimeSpan> late_syncs;   // in which its disk refused or was slow, or the agent stood still
};

// What was seen of a run.
struct Sightings {
  const WireRecords& wire;
  const std::vector<Delivery>& deliveries;
  const WriteLedger& ledger;
  std::vector<Death> deaths;                // by time
  std::vector<int64_t> histories_given_up;  // world: a damaged one was moved away
  TrueFault fault;
  int64_t undisturbed_ns = 0;  // the longest time in which the fault held and nothing kept anybody from seeing it
  bool agents_had_trouble = false;
  std::vector<TimeSpan> disk_troubles;
  std::map<std::string, SpoolTroubles> spool_troubles;  // by host
  bool disk_lied = false;
  bool disk_corrupted = false;
  bool clock_jumped = false;  // of the collector
};

// What is wrong, a line each.
using Violations = std::vector<std::string>;

// Whether what was stored at `at_ns` (world), by a collector that lived at `alive_ns`, may be gone: with a history that
// was given up, or with a loss of power too soon after it if the disk lied about its syncs.
bool LostSince(const Sightings& seen, int64_t at_ns, int64_t alive_ns);

// Each report that an agent was told is stored is in history, once.
void CheckHistory(const Sightings& seen, HistoryStore& history, Violations& wrong);

// Each report that was in a spool was told to be stored in the end, whatever became of its agent; but for what a loss
// of power took that came before the spool could sync it.
void CheckSpools(const Sightings& seen, Violations& wrong);

// Nobody is accused who has nothing to do with the fault.
void CheckInnocents(const Sightings& seen, const std::vector<wire::Incident>& incidents, Violations& wrong);

// What is over is not open.
void CheckOver(const Sightings& seen, const std::vector<wire::Incident>& incidents, Violations& wrong);

// The fault is one incident, which holds as long as the fault does.
void CheckIncidents(const Sightings& seen, const std::vector<wire::Incident>& incidents, Violations& wrong);

// The receiver was told of each transition, in order, and of none twice, but where the documents say that it may be.
void CheckDeliveries(const Sightings& seen, const std::vector<wire::Incident>& incidents, Violations& wrong);

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_CHECKERS_H_
