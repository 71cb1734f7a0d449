// What has to hold also of a history whose disk lied about what it had synced, or returned other bytes: less than of an
// honest one (checkers.h), and not nothing.
//
// Pure but for reading history. Thread-compatible.

#ifndef LOCKSTEP_TESTS_FAULTS_DAMAGE_CHECKERS_H_
#define LOCKSTEP_TESTS_FAULTS_DAMAGE_CHECKERS_H_

#include <vector>

#include "absl/status/status.h"
#include "collector/store/history_store.h"
#include "proto/incident.pb.h"
#include "tests/faults/checkers.h"

namespace lockstep::faults {

// What comes back is as some collector wrote it; all else is a named error, and none of these without a damaged byte.
void CheckAsWritten(const Sightings& seen, HistoryStore& history, Violations& wrong);

// The same of an attempt to read something.
void CheckNamed(const Sightings& seen, const char* what, const absl::Status& status, Violations& wrong);

// An incident that was durable longer before each loss of power than a lie can reach back is there, and no older.
// For disks that return what they have.
void CheckKept(const Sightings& seen, const std::vector<wire::Incident>& incidents, Violations& wrong);

// Nobody was told that something is over which never began. A lie may take what came between.
void CheckTold(const Sightings& seen, Violations& wrong);

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_DAMAGE_CHECKERS_H_
