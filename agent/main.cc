// lockstep-agent: settings, wiring, run, drain.

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/demand_table.h"
#include "agent/live_settings.h"
#include "agent/metrics.h"
#include "agent/own_rights.h"
#include "agent/own_usage.h"
#include "agent/source_table.h"
#include "agent/spool_from_options.h"
#include "agent/uplink/grpc_connector.h"
#include "agent/uplink/hello.h"
#include "agent/uplink/uplink.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "daemon/exit_codes.h"
#include "daemon/grpc_log.h"
#include "daemon/health_routes.h"
#include "daemon/http_server.h"
#include "daemon/ports_file.h"
#include "daemon/service_notify.h"
#include "daemon/settings.h"
#include "daemon/settings_reload.h"
#include "daemon/shutdown_signals.h"
#include "daemon/tls/channel_security.h"
#include "daemon/web/guarded_pages.h"

namespace lockstep {
namespace {

int Fail(const absl::Status& status, int exit_code = kExitBadConfig) {
  std::fprintf(stderr, "lockstep-agent: %s\n", std::string(status.message()).c_str());
  return absl::IsAlreadyExists(status) ? kExitPortInUse : exit_code;
}

int Run(AgentOptions& options, const Settings& settings) {
  if (const absl::Status level = SetLogThreshold(options.log_level); !level.ok()) return Fail(level);
  SettleOwnRights();
  StopSignal stop;
  ShutdownSignals signals(stop);
  Random random(SeedFromSystem());
  AgentMetrics metrics;
  if (const auto tls = CheckChannelSecurity(options.collector_security); !tls.ok()) return Fail(tls);
  GrpcConnector connector(options.collector_address, options.collector_security, options.token_file);
  const OutboxLimits limits = {static_cast<size_t>(options.outbox_bytes), absl::ToInt64Nanoseconds(options.outbox_age)};
  AgentDemands demands = OpenDemands(options);
  const wire::AgentHello hello = MakeHello(HostNameOr(options.host_name), random, options.places, demands.Names());
  const SurvivingState state = OpenSurvivingState(options, hello);
  Uplink uplink(connector, hello, limits, RealClock(), random, state.spool.get(), state.keeper.get());
  const auto agent = Agent::Create(options, SourceTable(), uplink, metrics, RealClock(), std::move(demands));
  if (!agent.ok()) return Fail(agent.status());
  std::unique_ptr<HttpServer> http;
  if (!options.pages.address.empty()) {
    auto started = StartPages(options.pages, HealthRoutes(metrics.registry(), (*agent)->Probes()), RealClock());
    if (!started.ok()) return Fail(started.status());
    http = *std::move(started);
  }
  const int port = http != nullptr ? http->port() : 0;
  if (const auto put = WritePortsFile(options.ports_file, {{"http", port}}); !put.ok()) return Fail(put, kExitInternal);
  Log(LogLevel::kInfo, "agent started",
      {{"host", hello.host()},
       {"collector", options.collector_address},
       {"http_port", std::to_string(port)},
       {"incarnation", std::to_string(hello.incarnation())}});
  AgentOptions renewed;
  Settings again = AgentSettings(renewed);
  SettingsReload reload(settings, again, LiveAgentSettings(renewed, options, **agent));
  const ServiceNotifier service = ServiceNotifier::FromEnvironment();
  service.Ready();
  (*agent)->Run(stop, [&] {
    service.Watchdog();
    if (http != nullptr) http->Refresh();
    if (signals.TakeHangup()) metrics.CountReload(reload.Reload().ok());
  });
  service.Stopping();
  const Uplink::LeftBehind left = uplink.End(absl::ToInt64Nanoseconds(options.drain));
  Log(left.nowhere > 0 ? LogLevel::kWarning : LogLevel::kInfo, "agent stopped",
      {{"reports_left", std::to_string(left.unacknowledged)}, {"reports_lost", std::to_string(left.nowhere)}});
  return kExitOk;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  lockstep::AgentOptions options;
  lockstep::Settings settings = lockstep::AgentSettings(options);
  if (const auto exit_code = settings.LoadOrExplain(argc, argv)) return *exit_code;
  lockstep::KeepMemorySmall();
  lockstep::TakeOverGrpcLog();
  return lockstep::Run(options, settings);
}
