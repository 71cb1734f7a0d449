// A suite: many episodes drawn by one recipe, one row of the table of quality.
//
// An episode is known by its suite and its number; number and suite give the seed of everything in it. Numbers below
// kFirstReportNumber are for tuning: anybody may look at them while changing the engine. Numbers from there on are for
// reporting: they are run, printed and otherwise left alone. Immutable; thread-safe.

#ifndef LOCKSTEP_EVAL_SUITES_SUITE_H_
#define LOCKSTEP_EVAL_SUITES_SUITE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/random.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {

inline constexpr uint64_t kFirstReportNumber = 18'000'000;

// How the engine is asked.
enum class Procedure : uint8_t {
  kWhole,     // once, about the whole recording
  kPrefixes,  // after every step from the onset on, until it names the culprit
  kHangCuts,  // about the whole recording, and about what was there 1, 2, ... seconds after the onset
  kPulls,     // as the collector asks: it sees only what it pulls from agents (eval/pulls)
};

struct EpisodePlan {
  JobSpec job;
  std::vector<FaultSpec> faults;
  uint64_t seed = 0;            // of the simulation
  double cut_share = 1;         // of the recorded time; below 1 the recording ends there, in the middle of things
  bool seen_by_agents = false;  // a cut recording comes from agents, which say when they looked, not from files
};

struct Suite {
  absl::string_view name;
  absl::string_view what;  // one line
  Procedure procedure;
  int32_t episodes;
  int32_t quick_episodes;
  bool scores_classes;     // also of causes that blame nobody: the recordings are long enough to see them
  int32_t baseline_every;  // the other methods run on every so many-th episode; 0 = never
  bool one_at_a_time;      // large, or timed
  EpisodePlan (*plan)(uint64_t number, Random& random);
};

// In the order of the table of quality.
absl::Span<const Suite> AllSuites();
const Suite* FindSuite(absl::string_view name);  // nullptr = unknown

// The chance from which an episode of a suite is drawn: the same on every machine, and another for every name, so that
// a new suite does not change the episodes of the others.
Random EpisodeRandom(absl::string_view suite, uint64_t number);

// The plan of an episode: the same on every machine.
EpisodePlan PlanOf(const Suite& suite, uint64_t number);

// "2048 GPUs (tp8 pp8 dp32), 16 steps: compute_slow x1.30 on rank 17 from step 8".
std::string Describe(const EpisodePlan& plan);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SUITES_SUITE_H_
