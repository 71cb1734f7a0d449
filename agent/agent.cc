#include "agent/agent.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/own_usage.h"
#include "agent/rooted_fs.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// More than the longest tick that may be set, with the longest deadline of its sources.
constexpr int64_t kTickStuckNanos = 120 * kNanosPerSecond;

}  // namespace

std::vector<std::string> AgentDemands::Names() const {
  std::vector<std::string> names;
  for (const DemandKind& kind : kinds) names.push_back(kind.name);
  return names;
}

Agent::Agent(const AgentOptions& options, Uplink& uplink, AgentMetrics& metrics, const Clock& clock,
             AgentDemands demands)
    : tick_ns_(absl::ToInt64Nanoseconds(options.tick)),
      uplink_(uplink),
      metrics_(metrics),
      clock_(clock),
      runner_(clock, absl::ToInt64Nanoseconds(options.source_deadline)),
      fabric_(std::move(demands.fabric)),
      demands_(std::move(demands.kinds), clock) {
  watch_.Watch("the thread that asks the sources", kTickStuckNanos,
               [this] { return Progress{.turns = ticks_.load(), .has_work = true}; });
}

absl::StatusOr<std::unique_ptr<Agent>> Agent::Create(const AgentOptions& options, absl::Span<const SourceRow> table,
                                                     Uplink& uplink, AgentMetrics& metrics, const Clock& clock,
                                                     AgentDemands demands) {
  std::unique_ptr<Agent> agent(new Agent(options, uplink, metrics, clock, std::move(demands)));
  ASSIGN_OR_RETURN(RootedFs root, RootedFs::Open(options.root));
  auto rings = std::make_unique<RingsSource>(options.ring_directory, std::move(root), clock.MonotonicNanos(),
                                             agent->gpu_names_, clock);
  agent->rings_ = rings.get();
  agent->runner_.Add(std::move(rings), /*may_hang=*/false);
  const SourceOptions source_options = {.root = options.root,
                                        .kernel_log = options.kernel_log,
                                        .nvml_library = options.nvml_library,
                                        .nccl_ras_address = options.nccl_ras_address,
                                        .dcgm_exporter_url = options.dcgm_exporter_url,
                                        .gpu_names = agent->gpu_names_};
  for (const SourceRow& row : table) {
    absl::StatusOr<std::unique_ptr<Source>> source = row.create(source_options);
    if (source.ok()) {
      agent->runner_.Add(*std::move(source), row.may_hang);
    } else {
      Log(LogLevel::kWarning, "source left out",
          {{"source", std::string(row.name)}, {"status", source.status().ToString()}});
    }
  }
  agent->runner_.Resume(uplink.resume());
  return agent;
}

void Agent::Tick() {
  const int64_t begin_ns = clock_.MonotonicNanos();
  wire::AgentReport report;
  report.set_wall_ns(clock_.WallNanos());
  report.set_monotonic_ns(begin_ns);
  lockstep::Tick tick;
  tick.monotonic_ns = begin_ns;
  runner_.Collect(tick, report);
  gpu_names_->Apply(report);
  Obey(tick, report);
  demands_.AppendAnswers(report);
  metrics_.UpdateSources(report);
  metrics_.UpdateDemands(demands_.statistics());
  metrics_.UpdateRings(*rings_);
  if (fabric_ != nullptr) metrics_.UpdateFabric(fabric_->statistics());
  uplink_.Send(std::move(report), runner_.resume_point());
  uplink_.LeaveIfStalled();
  metrics_.UpdateUplink(uplink_.statistics());
  const int64_t end_ns = clock_.MonotonicNanos();
  WatchOwnUsage(end_ns);
  metrics_.CountTick(end_ns - begin_ns);
  ++ticks_;
}

void Agent::Obey(const lockstep::Tick& tick, wire::AgentReport& report) {
  for (size_t demands = 0; demands < DemandRunner::kMaxOpen; ++demands) {
    const auto command = uplink_.TakeCommand();
    if (!command.has_value()) return;
    // One per tick of those that are answered at once: the answer has to fit into a report.
    if (!command->has_demand()) return rings_->Execute(*command, tick, report);
    demands_.Take(*command, rings_->FindProcess(*command));
  }
}

void Agent::Run(StopSignal& stop, const std::function<void()>& alive) {
  int64_t next_ns = clock_.MonotonicNanos();
  do {
    Tick();
    alive();
    next_ns = std::max(next_ns + tick_ns_, clock_.MonotonicNanos());
  } while (!WaitUntil(next_ns, stop));
}

bool Agent::WaitUntil(int64_t next_ns, StopSignal& stop) {
  const int64_t last_look_ns = next_ns - clock_.MonotonicNanos() - RingsSource::kKeepUpNanos;
  for (int64_t passed_ns = 0; passed_ns <= last_look_ns && clock_.MonotonicNanos() < next_ns;) {
    rings_->WatchExits(clock_.MonotonicNanos());
    const int64_t pause_ns = rings_->KeepUp();
    if (stop.WaitFor(pause_ns)) return true;
    passed_ns += pause_ns;
  }
  return stop.WaitFor(next_ns - clock_.MonotonicNanos());
}

absl::Status Agent::Ready() const {
  if (ticks_ == 0) return absl::UnavailableError("no tick yet");
  const UplinkStatistics statistics = uplink_.statistics();
  if (statistics.connected) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("not connected to the collector: ", statistics.last_error));
}

HealthProbes Agent::Probes() {
  HealthProbes probes;
  probes.alive = [this] { return Moving(); };
  probes.ready = [this] { return Ready(); };
  return probes;
}

void Agent::WatchOwnUsage(int64_t now_ns) {
  const OwnUsage usage = ReadOwnUsage();
  const Watchdog::Verdict verdict = watchdog_.Check(usage, now_ns);
  if (verdict.checked) core_fraction_ = verdict.core_fraction;
  metrics_.UpdateUsage(usage, core_fraction_);
  if (verdict.cpu_exceeded) {
    metrics_.CountLimitExceeded("cpu");
    Log(LogLevel::kWarning, "the agent uses more CPU than it should",
        {{"cores", absl::StrCat(verdict.core_fraction)}, {"limit", absl::StrCat(Watchdog::kMaxCoreFraction)}});
  }
  if (verdict.memory_exceeded) {
    metrics_.CountLimitExceeded("memory");
    Log(LogLevel::kWarning, "the agent uses more memory than it should",
        {{"bytes", absl::StrCat(usage.resident_bytes)}, {"limit", absl::StrCat(Watchdog::kMaxResidentBytes)}});
  }
}

}  // namespace lockstep
