#include "collector/live_settings.h"

#include "absl/status/status.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/alert/alert_routes.h"

namespace lockstep {

std::vector<SettingsReload::Applier> LiveCollectorSettings(const CollectorOptions& renewed, Collector& collector,
                                                           AlertSinks& alerts) {
  const auto set_routes = [&renewed, &collector, &alerts]() -> absl::Status {
    ASSIGN_OR_RETURN(const AlertRoutes routes, ToAlertRoutes(renewed));
    alerts.SetRoutes(routes);
    collector.SetHook(routes);
    return absl::OkStatus();
  };
  const auto judge_otherwise = [&renewed, &collector] {
    collector.Reconfigure(ToJobTableOptions(renewed), ToRegistryOptions(renewed).silent_after_ns);
    return absl::OkStatus();
  };
  const auto read_inventory = [&renewed, &collector] { return collector.ReadInventory(renewed.inventory); };
  const auto read_access = [&collector] { return collector.ReloadAccess(); };
  return {
      {{"log_level"}, [&renewed] { return SetLogThreshold(renewed.log_level); }},
      {{"webhook_url", "webhook_ca", "alert_routes"}, set_routes, /*reads_file=*/true},
      {{"inventory"}, read_inventory, /*reads_file=*/true},
      {{"access_rules"}, read_access, /*reads_file=*/true},
      {{"max_jobs", "forget_job_after", "incident.resolve_after", "incident.reopen_within", "incident.flap_reopenings",
        "incident.flap_within", "incident.flap_quiet", "incident.storm_incidents", "incident.storm_within",
        "detector.min_step_cost", "detector.hang_floor", "detector.hang_step_multiple", "detector.host_silent",
        "detector.min_peer_hosts"},
       judge_otherwise},
  };
}

}  // namespace lockstep
