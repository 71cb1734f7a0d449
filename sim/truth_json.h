// The truth of an episode as JSON, for truth.json beside the files of a simulated job. docs/simulator.md describes it.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_SIM_TRUTH_JSON_H_
#define LOCKSTEP_SIM_TRUTH_JSON_H_

#include <cstdint>
#include <string>

#include "sim/episode.h"
#include "sim/job_spec.h"

namespace lockstep {

// Indented, fields in fixed order, one newline at the end.
std::string TruthJson(const JobSpec& job, uint64_t seed, const Truth& truth);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_TRUTH_JSON_H_
