// Everything about a collector that an operator can set, in the types of the settings layer, with the defaults.
//
// Pure value; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_COLLECTOR_OPTIONS_H_
#define LOCKSTEP_COLLECTOR_COLLECTOR_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/alert/alert_routes.h"
#include "collector/ingest/agent_registry.h"
#include "collector/job_table.h"
#include "collector/store/history_backups.h"
#include "collector/store/rocks_store.h"
#include "daemon/settings.h"
#include "daemon/tls/tls_files.h"
#include "daemon/web/guarded_pages.h"

namespace lockstep {

// Thresholds of the detector, named as in JobEngineOptions.
struct DetectorSettings {
  DetectorSettings();

  double min_step_cost;
  absl::Duration hang_floor;
  double hang_step_multiple;
  absl::Duration host_silent;
  int64_t min_peer_hosts;
};

struct CollectorOptions {
  std::string listen_address = "127.0.0.1:7070";       // gRPC: agents and queries
  bool insecure_listen = false;                        // other machines may reach it without TLS
  PagesOptions pages = {.address = "127.0.0.1:7071"};  // /metrics, /healthz, /readyz
  TlsFiles tls;                                        // of the gRPC server; authorities are those of its clients
  absl::Duration tls_max_connection_age = absl::Hours(24);
  std::string access_rules;                 // file that says who may do what; "" = everybody may do everything
  std::string audit_file;                   // where to append who changed what, besides the log; "" = nowhere
  int64_t audit_file_max_bytes = 64 << 20;  // some 300,000 lines; 0 = never renamed
  std::string data_directory = "/var/lib/lockstep";
  std::string backup_directory;  // "" = no backups
  int64_t backup_keep = 7;
  int64_t backup_max_bytes = int64_t{100} << 30;
  bool repair = false;  // salvage a damaged history, and end
  std::string log_level = "info";
  std::string ports_file;  // "" = none
  std::string inventory;   // file that names the hosts of the fleet; "" = none
  int64_t shards = 1;
  int64_t max_jobs = 1'000;  // over all shards
  absl::Duration forget_job_after = absl::Minutes(10);
  absl::Duration retention_log = absl::Hours(24);
  int64_t retention_log_bytes = int64_t{4} << 30;
  absl::Duration retention_samples = absl::Hours(48);
  int64_t retention_samples_bytes = int64_t{16} << 30;
  absl::Duration retention_rollups = absl::Hours(24 * 30);
  int64_t retention_rollups_bytes = int64_t{8} << 30;
  absl::Duration retention_incidents = absl::Hours(24 * 365);
  int64_t retention_incidents_bytes = int64_t{1} << 30;
  int64_t retention_min_free_bytes = int64_t{256} << 20;
  absl::Duration resolve_after = absl::Seconds(3);
  absl::Duration reopen_within = absl::Minutes(10);
  int64_t flap_reopenings = 3;
  absl::Duration flap_within = absl::Minutes(30);
  absl::Duration flap_quiet = absl::Minutes(10);
  int64_t storm_incidents = 8;
  absl::Duration storm_within = absl::Minutes(1);
  bool stacks_on_hang = true;
  bool profile_slow_jobs = true;  // where agents offer profiles
  std::vector<std::string> webhook_urls;
  std::string webhook_ca;    // authorities of those that speak https; "" = the system's
  std::string alert_routes;  // file of other receivers and of routes to them; "" = none
  DetectorSettings detector;
};

// Binds every setting of `options`, which must outlive `settings`.
void AddCollectorSettings(Settings& settings, CollectorOptions& options);

// The settings of lockstep-collector, bound to `options`, which must outlive them.
Settings CollectorSettings(CollectorOptions& options);

// What each shard gets.
JobTableOptions ToJobTableOptions(const CollectorOptions& options);

// Agents count as silent when the detector calls their hosts so.
AgentRegistryOptions ToRegistryOptions(const CollectorOptions& options);

RocksStoreOptions ToStoreOptions(const CollectorOptions& options);

// Receivers of webhook_url, which are told of everything.
AlertRoutes PlainAlertRoutes(const CollectorOptions& options);

// These and those of the file of routes, which is read. INVALID_ARGUMENT says what is wrong with it, and where.
absl::StatusOr<AlertRoutes> ToAlertRoutes(const CollectorOptions& options);

HistoryBackupOptions ToBackupOptions(const CollectorOptions& options);

// The detector alone, for replay.
JobEngineOptions ToEngineOptions(const DetectorSettings& detector);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_COLLECTOR_OPTIONS_H_
