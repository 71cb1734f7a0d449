// One run: a job with one fault, its agents, a collector, a receiver of alerts, and the troubles of a seed.
//
// To be called in a process of its own, which has one thread and ends afterwards.

#ifndef LOCKSTEP_TESTS_FAULTS_FAULT_RUN_H_
#define LOCKSTEP_TESTS_FAULTS_FAULT_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/faults/checkers.h"
#include "tests/faults/sabotaged_store.h"

namespace lockstep::faults {

struct FaultRunOptions {
  uint64_t seed = 1;
  Sabotage sabotage;
  std::string directory;  // empty, and stays so
};

// Pure value.
struct FaultRunResult {
  Violations violations;
  uint64_t troubles = 0;
  uint64_t reports = 0;  // that were sent
  uint64_t incidents = 0;
  uint64_t deliveries = 0;
  uint64_t switches = 0;
  double seconds = 0;  // of the world
};

FaultRunResult RunFaults(const FaultRunOptions& options);

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_FAULT_RUN_H_
