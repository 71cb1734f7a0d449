// The agent: asks the sources once per tick and hands what they say to the uplink, while saying of itself how it does.

#ifndef LOCKSTEP_AGENT_AGENT_H_
#define LOCKSTEP_AGENT_AGENT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "agent/config.h"
#include "agent/demands/demand_kind.h"
#include "agent/demands/demand_runner.h"
#include "agent/kineto/fabric_endpoint.h"
#include "agent/metrics.h"
#include "agent/source_runner.h"
#include "agent/source_table.h"
#include "agent/sources/rings/rings_source.h"
#include "agent/uplink/uplink.h"
#include "agent/watchdog.h"
#include "base/clock.h"
#include "base/progress_watch.h"
#include "base/stop_signal.h"
#include "daemon/health_routes.h"

namespace lockstep {

// What the agent can be asked to look at, and where processes register for it. Movable.
struct AgentDemands {
  std::vector<DemandKind> kinds;
  std::unique_ptr<FabricEndpoint> fabric;  // nullptr: nobody may register; kinds may borrow it

  // What the agent says of itself in its hello.
  std::vector<std::string> Names() const;
};

// One thread ticks; Ready may be called by any. Thread-compatible otherwise.
class Agent {
 public:
  // Makes the rings source and those of `table`; does what `demands` names. A source that cannot be made is logged and
  // left out; only a root that cannot be opened is an error. Borrows `uplink`, `metrics` and `clock`; `clock` for ever
  // (see SourceRunner). Sources go on where the agent before this one stopped, if the uplink knows.
  static absl::StatusOr<std::unique_ptr<Agent>> Create(const AgentOptions& options, absl::Span<const SourceRow> table,
                                                       Uplink& uplink, AgentMetrics& metrics, const Clock& clock,
                                                       AgentDemands demands = {});

  // One report.
  void Tick();

  // Ticks until told to stop, `alive` after each tick. A tick that takes too long delays the next one, it does not make
  // them pile up.
  void Run(StopSignal& stop, const std::function<void()>& alive);

  // From the next tick on. By the thread that ticks.
  void SetTick(absl::Duration tick) { tick_ns_ = absl::ToInt64Nanoseconds(tick); }
  void SetSourceDeadline(absl::Duration deadline) { runner_.SetDeadline(absl::ToInt64Nanoseconds(deadline)); }

  // OK once a tick has been made and a collector has answered. Thread-safe.
  absl::Status Ready() const;

  // OK, or for how long the thread that ticks has not moved: only a restart helps. A source that hangs on a thread of
  // its own is none of that, nor is a collector that does not answer. Thread-safe.
  absl::Status Moving() { return watch_.Check(clock_.MonotonicNanos()); }

  // What the health pages ask; to be used no longer than the agent.
  HealthProbes Probes();

 private:
  Agent(const AgentOptions& options, Uplink& uplink, AgentMetrics& metrics, const Clock& clock, AgentDemands demands);

  // Does what the collector has told the agent to.
  void Obey(const lockstep::Tick& tick, wire::AgentReport& report);

  // Sleeps until `next_ns`, and keeps up with busy rings meanwhile. True = told to stop.
  bool WaitUntil(int64_t next_ns, StopSignal& stop);
  void WatchOwnUsage(int64_t now_ns);

  int64_t tick_ns_;
  Uplink& uplink_;
  AgentMetrics& metrics_;
  const Clock& clock_;
  std::shared_ptr<GpuNames> gpu_names_ = std::make_shared<GpuNames>();
  SourceRunner runner_;
  RingsSource* rings_ = nullptr;                  // owned by runner_
  const std::unique_ptr<FabricEndpoint> fabric_;  // nullptr where it is switched off; before demands_, which use it
  DemandRunner demands_;
  Watchdog watchdog_;
  double core_fraction_ = 0;
  std::atomic<uint64_t> ticks_{0};
  ProgressWatch watch_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_AGENT_H_
