// What collectors gave their history to keep, over all their lives: what is read back can be nothing else.
//
// Single-threaded, as all of a ThreadWorld.

#ifndef LOCKSTEP_TESTS_FAULTS_WRITE_LEDGER_H_
#define LOCKSTEP_TESTS_FAULTS_WRITE_LEDGER_H_

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "proto/capture.pb.h"
#include "proto/incident.pb.h"
#include "tests/faults/thread_world.h"

namespace lockstep::faults {

class WriteLedger {
 public:
  // An incident of which the store said that it is durable.
  struct Kept {
    int64_t at_ns = 0;  // world
    Machine by = kOutside;
    wire::Incident incident;
  };

  // What a store is about to be given; whether it takes it is not known.
  void Note(const std::vector<wire::CaptureEntry>& entries) {
    for (const wire::CaptureEntry& entry : entries) entries_.insert(entry.SerializeAsString());
  }
  void Note(const wire::Incident& incident) { incidents_.insert(incident.SerializeAsString()); }

  void NoteKept(const wire::Incident& incident) { kept_.push_back({WorldNanos(), CurrentMachine(), incident}); }

  bool Has(const wire::CaptureEntry& entry) const { return entries_.contains(entry.SerializeAsString()); }
  bool Has(const wire::Incident& incident) const { return incidents_.contains(incident.SerializeAsString()); }
  const std::vector<Kept>& kept() const { return kept_; }  // by time

 private:
  std::unordered_set<std::string> entries_;  // their bytes
  std::unordered_set<std::string> incidents_;
  std::vector<Kept> kept_;
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_WRITE_LEDGER_H_
