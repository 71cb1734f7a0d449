#include "eval/counters/counter_suite.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/fnv1a.h"
#include "sim/counters/counter_simulation.h"

namespace lockstep {
namespace {

constexpr size_t kFaultsShown = 4;

std::string FaultText(const CounterFault& fault) {
  std::string text = absl::StrCat(InfoOf(fault.kind).name, " on ", CounterHostName(fault.host), " gpu", fault.device,
                                  " from ", fault.begin_ms / 1000, " s to ", fault.end_ms / 1000, " s");
  if (fault.sigmas > 0) absl::StrAppendFormat(&text, " of %.0f sigma", fault.sigmas);
  return text;
}

}  // namespace

const CounterSuite* FindCounterSuite(absl::string_view name) {
  const auto suites = AllCounterSuites();
  const auto* const found =
      std::find_if(suites.begin(), suites.end(), [&](const CounterSuite& suite) { return suite.name == name; });
  return found == suites.end() ? nullptr : found;
}

CounterPlan CounterPlanOf(const CounterSuite& suite, uint64_t number) {
  // By name: a new suite does not change the episodes of the others.
  Random random(Fnv1a(suite.name) + number);
  random = Random(random.Next());  // neighbouring numbers must not give neighbouring states
  CounterPlan plan = suite.plan(number, random);
  plan.seed = random.Next();
  return plan;
}

MetricTable SimulateCounterPlan(const CounterPlan& plan) { return SimulateCounters(plan.spec, plan.faults, plan.seed); }

std::string DescribeCounterPlan(const CounterPlan& plan) {
  const int64_t end_ms = plan.spec.activity.empty() ? 0 : plan.spec.activity.back().end_ms;
  std::string text = absl::StrCat(plan.spec.hosts, " hosts x ", plan.spec.devices_per_host, " GPUs, ", end_ms / 1000,
                                  " s, ", plan.row, ": ");
  for (size_t i = 0; i < std::min(kFaultsShown, plan.faults.size()); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "; ", FaultText(plan.faults[i]));
  }
  if (plan.faults.empty()) absl::StrAppend(&text, "no fault");
  if (plan.faults.size() > kFaultsShown) absl::StrAppend(&text, "; ... (", plan.faults.size(), " faults)");
  return text;
}

}  // namespace lockstep
