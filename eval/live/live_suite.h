// A suite of `lockstep eval live`: many episodes drawn by one recipe, and how their reports travel.
//
// An episode is known by its suite and its number, which give the seed of everything in it; numbers are for tuning or
// for reporting as in eval/suites/suite.h. Immutable; thread-safe.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_SUITE_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_SUITE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/random.h"
#include "eval/counters/counter_suite.h"
#include "eval/live/delivery_spec.h"
#include "eval/suites/suite.h"
#include "sim/episode.h"

namespace lockstep {

struct LivePlan {
  EpisodePlan episode;
  std::optional<CounterPlan> counters;  // instead of the simulated job: counters of machines, and nothing else
  DeliverySpec delivery;
  uint64_t seed = 0;  // of clocks, recorders and delivery
};

struct LiveSuite {
  absl::string_view name;
  absl::string_view what;  // one line
  int32_t episodes;
  int32_t quick_episodes;
  bool on_demand;      // large: runs only when it is named
  bool one_at_a_time;  // large: episodes do not run side by side
  int32_t file_every;  // every so many-th episode is judged as a file as well; 0 = never
  LivePlan (*plan)(uint64_t number, Random& random);
};

// In the order of the table of quality.
absl::Span<const LiveSuite> AllLiveSuites();
const LiveSuite* FindLiveSuite(absl::string_view name);  // nullptr = unknown

// The plan of an episode: the same on every machine.
LivePlan LivePlanOf(const LiveSuite& suite, uint64_t number);

Episode SimulateLivePlan(const LivePlan& plan);
int32_t GpusOf(const LivePlan& plan);

// What is simulated, and what happens to records and reports.
std::string DescribeLivePlan(const LivePlan& plan);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_SUITE_H_
