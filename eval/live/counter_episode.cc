#include "eval/live/counter_episode.h"

#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "detector/model/metric_table.h"
#include "sim/counters/counter_simulation.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

Trace RanksWithoutRecords(const CounterSpec& spec) {
  Trace trace;
  trace.job = spec.job;
  for (int32_t host = 0; host < spec.hosts; ++host) {
    trace.hosts.push_back(CounterHostName(host));
    for (int32_t device = 0; device < spec.devices_per_host; ++device) {
      const int32_t rank = host * spec.devices_per_host + device;
      trace.ranks.push_back({.rank = rank, .host = host, .gpu = device, .pid = 4000 + device});
      trace.first_operation.push_back(0);
    }
  }
  trace.first_operation.push_back(0);
  return trace;
}

TrueCause CauseOf(const CounterFault& fault) {
  const FaultInfo& info = InfoOf(fault.kind);
  TrueCause cause;
  cause.kind = fault.kind;
  cause.scope = info.scope;
  cause.verdict_class = info.verdict_class;
  cause.acceptable = {VerdictClass::kCounterOutlier};
  cause.culprits = {{.host = CounterHostName(fault.host), .confidence = 1}};
  cause.onset_ns = fault.begin_ms * kNanosPerMilli;
  cause.cost.slowdown_fraction = cause.cost.steps_affected_fraction = 1;
  return cause;
}

}  // namespace

Episode MakeCounterEpisode(const CounterPlan& plan) {
  Episode episode;
  episode.evidence.job = plan.spec.job;
  episode.evidence.trace = RanksWithoutRecords(plan.spec);
  episode.evidence.metrics = SimulateCounterPlan(plan);
  Truth& truth = episode.truth;
  truth.is_negative = plan.faults.empty();
  for (const CounterFault& fault : plan.faults) {
    truth.state = JobState::kSlow;
    truth.causes.push_back(CauseOf(fault));
    // The moment from which a machine that cannot be reached is silent.
    if (fault.kind == FaultKind::kMachineUnreachable) truth.hang_ns = truth.causes.back().onset_ns;
  }
  return episode;
}

}  // namespace lockstep
