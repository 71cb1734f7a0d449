// A suite of `lockstep eval counters`: many histories of counters drawn by one recipe.
//
// An episode is known by its suite and its number, which give the seed of everything in it. Numbers below
// kFirstReportNumber are for tuning, those from there on for reporting (eval/suites/suite.h). Immutable; thread-safe.

#ifndef LOCKSTEP_EVAL_COUNTERS_COUNTER_SUITE_H_
#define LOCKSTEP_EVAL_COUNTERS_COUNTER_SUITE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/random.h"
#include "detector/model/metric_table.h"
#include "sim/counters/counter_spec.h"

namespace lockstep {

struct CounterPlan {
  CounterSpec spec;
  std::vector<CounterFault> faults;
  std::string row;    // of the table by kind of fault: Minder's name for it, or of what is no fault
  uint64_t seed = 0;  // of the simulation
};

struct CounterSuite {
  absl::string_view name;
  absl::string_view what;  // one line
  int32_t episodes;
  int32_t quick_episodes;
  int32_t baseline_every;  // the other methods run on every so many-th episode
  CounterPlan (*plan)(uint64_t number, Random& random);
};

// In the order of the table of quality.
absl::Span<const CounterSuite> AllCounterSuites();
const CounterSuite* FindCounterSuite(absl::string_view name);  // nullptr = unknown

// The plan of an episode: the same on every machine.
CounterPlan CounterPlanOf(const CounterSuite& suite, uint64_t number);

// The history of a plan.
MetricTable SimulateCounterPlan(const CounterPlan& plan);

// "64 hosts x 2 GPUs, 1500 s: gpu_lost on node-00003 gpu1 from 512 s to 900 s".
std::string DescribeCounterPlan(const CounterPlan& plan);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_COUNTERS_COUNTER_SUITE_H_
