// The evaluation must be able to fail: a detector that is broken on purpose has to look broken.

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/testing/sim_clock.h"
#include "detector/counters/counter_history.h"
#include "detector/counters/machine_alarm.h"
#include "detector/counters/peer_detector.h"
#include "detector/model/metric_table.h"
#include "eval/counters/counter_measures.h"
#include "eval/counters/counter_method.h"
#include "eval/counters/counter_run.h"
#include "eval/counters/counter_suite.h"
#include "eval/counters/counter_summary.h"
#include "gtest/gtest.h"
#include "sim/counters/counter_simulation.h"
#include "sim/counters/counter_spec.h"
#include "sim/counters/job_reaction.h"

namespace lockstep {
namespace {

constexpr int32_t kEpisodes = 8;

CounterPlan SmallJob(uint64_t, Random& random) {
  CounterPlan plan;
  plan.spec.hosts = 16;
  plan.spec.devices_per_host = 1;
  JobRhythm rhythm{.end_ms = 720'000};
  plan.spec.activity = ReactionTo({}, rhythm);
  plan.faults = {RandomMinderFault(plan.spec, random)};
  plan.spec.activity = ReactionTo(plan.faults, rhythm);
  plan.row = "any";
  return plan;
}

CounterSummary SummaryOf(const PeerOptions& options) {
  CounterSuite suite = *FindCounterSuite("minder-mix");
  suite.plan = SmallJob;
  const SimClock clock;
  const std::vector<CounterMethod> methods = {
      {"lockstep", "test", [&](const MetricTable& table) { return AccuseMachines(table, options); }}};
  return SummarizeCounters(suite, methods, RunCounterSuite(suite, 0, kEpisodes, 1, methods, clock, {}));
}

TEST(CounterSabotageTest, AccusingTheNeighbourMakesTheFiguresCollapse) {
  const CounterSummary intact = SummaryOf({});
  PeerOptions sabotaged;
  sabotaged.sabotage_accuse_neighbour = true;
  const CounterSummary broken = SummaryOf(sabotaged);
  EXPECT_GE(intact.methods[0].all.f1(), 0.8);
  EXPECT_LE(broken.methods[0].all.f1(), 0.2);
  for (const Measure& measure : CounterMeasuresOf({broken})) EXPECT_FALSE(measure.met) << measure.name;
  EXPECT_GT(broken.failures.listed.size(), intact.failures.listed.size());
}

}  // namespace
}  // namespace lockstep
