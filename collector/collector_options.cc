#include "collector/collector_options.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/alert/alert_routes_yaml.h"
#include "daemon/http_client.h"
#include "daemon/loopback.h"

namespace lockstep {
namespace {

// Of a limit on bytes of disk.
constexpr int64_t kLeastBytes = int64_t{1} << 20;
constexpr int64_t kMostBytes = int64_t{1} << 50;
// A bit more than the write-ahead log, which has to be written to tables when history is opened.
constexpr uint64_t kReserveBytes = uint64_t{96} << 20;

Settings::Validator Between(const int64_t* value, int64_t least, int64_t most) {
  return [=] {
    if (*value >= least && *value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError("must be from " + std::to_string(least) + " to " + std::to_string(most));
  };
}

Settings::Validator Multiple(const double* value) {
  return [=] {
    if (*value >= 1 && *value <= 1e6) return absl::OkStatus();
    return absl::InvalidArgumentError("must be from 1 to 1000000");
  };
}

Settings::Validator Fraction(const double* value) {
  return [=] {
    if (*value >= 0 && *value <= 1) return absl::OkStatus();
    return absl::InvalidArgumentError("must be from 0 to 1");
  };
}

Settings::Validator Positive(const absl::Duration* value) {
  return [=] {
    if (*value > absl::ZeroDuration() && *value < absl::Hours(24 * 366 * 100)) return absl::OkStatus();
    return absl::InvalidArgumentError("must be longer than nothing and shorter than a century");
  };
}

Settings::Validator NotEmpty(const std::string* value) {
  return [=] { return value->empty() ? absl::InvalidArgumentError("must not be empty") : absl::OkStatus(); };
}

Settings::Validator KnownLogLevel(const std::string* name) {
  return [=] {
    return LogLevelOf(*name).has_value() ? absl::OkStatus()
                                         : absl::InvalidArgumentError("must be debug, info, warning or error");
  };
}

Settings::Validator HttpUrls(const std::vector<std::string>* urls) {
  return [=] {
    for (const std::string& url : *urls) {
      if (url.rfind("http://", 0) != 0 && url.rfind("https://", 0) != 0) {
        return absl::InvalidArgumentError("must begin with http:// or https://: " + url);
      }
    }
    return absl::OkStatus();
  };
}

// Longer than a handshake is worth, and within what gRPC takes: an int of milliseconds.
Settings::Validator ConnectionAge(const absl::Duration* value) {
  return [=] {
    if (*value >= absl::Minutes(1) && *value <= absl::Hours(24 * 7)) return absl::OkStatus();
    return absl::InvalidArgumentError("must be from 1m to 168h");
  };
}

// An address that other machines reach needs TLS, or to be wanted by name.
absl::Status CheckListenAddress(const CollectorOptions& options) {
  const std::string& address = options.listen_address;
  if (address.empty()) return absl::InvalidArgumentError("must not be empty");
  if (!options.tls.certificate.empty() || options.insecure_listen || IsLoopbackAddress(address)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("other machines reach ", address,
                   " in plain text: name tls.certificate, or insecure_listen: true, or listen on 127.0.0.1"));
}

// A name that is of use only if another one is set as well.
Settings::Validator Needs(const std::string* value, const std::string* other, const char* other_name) {
  return [=] {
    if (value->empty() || !other->empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("needs ", other_name));
  };
}

void AddSecuritySettings(Settings& settings, CollectorOptions& options) {
  settings.Add("tls.certificate", &options.tls.certificate,
               "PEM file of the collector's certificate and its chain; empty = plain text", [&options] {
                 if (options.tls.certificate.empty() || !options.access_rules.empty()) return absl::OkStatus();
                 return absl::InvalidArgumentError("needs access_rules, which say who is let in");
               });
  settings.Add("tls.key", &options.tls.key, "PEM file of its key, without a passphrase",
               [&options] { return CheckNamedTogether(options.tls); });
  settings.Add("tls.client_ca", &options.tls.authorities,
               "PEM file of the authorities of agents, programs and people; empty = nobody has a certificate",
               Needs(&options.tls.authorities, &options.tls.certificate, "tls.certificate"));
  settings.Add("tls.max_connection_age", &options.tls_max_connection_age,
               "age at which a connection is ended and its certificate is looked at again, by the next one",
               ConnectionAge(&options.tls_max_connection_age));
  settings.Add("access_rules", &options.access_rules,
               "YAML file that says who may do what; empty = everybody may do everything",
               Needs(&options.access_rules, &options.tls.certificate,
                     "tls.certificate: in plain text anybody may read a token and speak in another's name"));
  settings.Add("audit_file", &options.audit_file, "file to append who changed what to, besides the log; empty = none");
  settings.Add("audit_file_max_bytes", &options.audit_file_max_bytes,
               "bytes at which audit_file is renamed, with .1 behind its name; 0 = never",
               Between(&options.audit_file_max_bytes, 0, kMostBytes));
  settings.Add("insecure_listen", &options.insecure_listen,
               "listen_address may be one that other machines reach without TLS");
  AddGuardSettings(options.pages, settings);
}

// Backups do not belong into what they are backups of: a data directory that is moved away would take them along.
absl::Status CheckBackupDirectory(const CollectorOptions& options) {
  if (options.backup_directory.empty()) return absl::OkStatus();
  std::error_code error;
  const auto normal = [&error](const std::string& path) {
    return (std::filesystem::absolute(path, error) / "").lexically_normal();
  };
  const std::filesystem::path data = normal(options.data_directory), backups = normal(options.backup_directory);
  const auto [in_data, in_backups] = std::mismatch(data.begin(), std::prev(data.end()), backups.begin(), backups.end());
  if (in_data != std::prev(data.end())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("must not be inside data_directory, ", options.data_directory));
}

void AddHistorySettings(Settings& settings, CollectorOptions& options) {
  settings.Add("data_directory", &options.data_directory, "where history and incidents are kept",
               NotEmpty(&options.data_directory));
  settings.Add("backup.directory", &options.backup_directory,
               "where `lockstep backup` puts copies of history; empty = nowhere",
               [&options] { return CheckBackupDirectory(options); });
  settings.Add("backup.keep", &options.backup_keep, "backups that are kept; older ones are removed",
               Between(&options.backup_keep, 1, 1'000));
  settings.Add("backup.max_bytes", &options.backup_max_bytes,
               "bytes of all backups together; beyond, older ones are removed, but never the newest",
               Between(&options.backup_max_bytes, kLeastBytes, kMostBytes));
}

void AddRetentionSettings(Settings& settings, CollectorOptions& options) {
  const auto bytes = [](const int64_t* value) { return Between(value, kLeastBytes, kMostBytes); };
  settings.Add("retention.log", &options.retention_log, "how long the input log is kept",
               Positive(&options.retention_log));
  settings.Add("retention.log_bytes", &options.retention_log_bytes, "bytes on disk of the input log, at most",
               bytes(&options.retention_log_bytes));
  settings.Add("retention.samples", &options.retention_samples, "how long samples are kept in full resolution",
               Positive(&options.retention_samples));
  settings.Add("retention.samples_bytes", &options.retention_samples_bytes, "bytes on disk of these, at most",
               bytes(&options.retention_samples_bytes));
  settings.Add("retention.rollups", &options.retention_rollups, "how long roll-ups of samples are kept",
               Positive(&options.retention_rollups));
  settings.Add("retention.rollups_bytes", &options.retention_rollups_bytes, "bytes on disk of these, at most",
               bytes(&options.retention_rollups_bytes));
  settings.Add("retention.incidents", &options.retention_incidents, "how long incidents are kept",
               Positive(&options.retention_incidents));
  settings.Add("retention.incidents_bytes", &options.retention_incidents_bytes, "bytes on disk of these, at most",
               bytes(&options.retention_incidents_bytes));
  settings.Add("retention.min_free_bytes", &options.retention_min_free_bytes,
               "free space of the disk below which the oldest history is removed; 0 = only when it is full",
               Between(&options.retention_min_free_bytes, 0, kMostBytes));
}

// What the configuration of 0.1.0 names, which an upgrade leaves where it is.
constexpr const char* kRetired[] = {"detector.min_own_time_ratio", "detector.min_persistence", "detector.min_steps",
                                    "detector.window_steps", "detector.min_persistence_span"};

void AddDetectorSettings(Settings& settings, DetectorSettings& detector) {
  settings.Add("detector.min_step_cost", &detector.min_step_cost,
               "share of the step time that removing the cause must give back, at least",
               Fraction(&detector.min_step_cost));
  settings.Add("detector.hang_floor", &detector.hang_floor, "shortest standstill that may be called a hang",
               Positive(&detector.hang_floor));
  settings.Add("detector.hang_step_multiple", &detector.hang_step_multiple,
               "standstill that is called a hang, in usual steps of the job", Multiple(&detector.hang_step_multiple));
  settings.Add("detector.host_silent", &detector.host_silent, "silence of a host that makes it unreachable",
               Positive(&detector.host_silent));
  settings.Add("detector.min_peer_hosts", &detector.min_peer_hosts, "hosts needed to compare counters with peers",
               Between(&detector.min_peer_hosts, 2, 1'000'000));
  for (const char* name : kRetired) settings.Retire(name);
}

}  // namespace

DetectorSettings::DetectorSettings() {
  const JobEngineOptions defaults;
  min_step_cost = defaults.min_step_cost;
  hang_floor = absl::Nanoseconds(defaults.hang_floor_ns);
  hang_step_multiple = defaults.hang_step_multiple;
  host_silent = absl::Nanoseconds(defaults.host_silent_ns);
  min_peer_hosts = defaults.min_peer_hosts;
}

namespace {

void AddIncidentSettings(Settings& settings, CollectorOptions& options) {
  settings.Add("incident.resolve_after", &options.resolve_after, "time without its cause that resolves an incident",
               Positive(&options.resolve_after));
  settings.Add("incident.reopen_within", &options.reopen_within, "time within which the same cause reopens an incident",
               Positive(&options.reopen_within));
  settings.Add("incident.flap_reopenings", &options.flap_reopenings,
               "an incident that reopens so often within flap_within is flapping",
               Between(&options.flap_reopenings, 1, 60));
  settings.Add("incident.flap_within", &options.flap_within, "see flap_reopenings", Positive(&options.flap_within));
  settings.Add("incident.flap_quiet", &options.flap_quiet,
               "time without its cause that resolves an incident that is flapping", Positive(&options.flap_quiet));
  settings.Add("incident.storm_incidents", &options.storm_incidents,
               "further incidents of a job are folded into one when so many opened within storm_within",
               Between(&options.storm_incidents, 1, 10'000));
  settings.Add("incident.storm_within", &options.storm_within, "see storm_incidents", Positive(&options.storm_within));
  settings.Add("incident.stacks", &options.stacks_on_hang,
               "have stacks of culprits and of two victims read when a job hangs");
  settings.Add(
      "incident.profiles", &options.profile_slow_jobs,
      "have suspects and at most 16 peers profiled when a job is slow, where agents offer it: those ranks, for as "
      "long as five steps, once per job and hour; nothing else of the job is touched");
}

}  // namespace

void AddCollectorSettings(Settings& settings, CollectorOptions& options) {
  settings.Add("listen_address", &options.listen_address, "host:port for agents and queries (gRPC); port 0 = any",
               [&options] { return CheckListenAddress(options); });
  settings.Add("http_listen_address", &options.pages.address,
               "host:port for /metrics, /healthz and /readyz; port 0 = any", [&options] {
                 return options.pages.address.empty() ? absl::InvalidArgumentError("must not be empty")
                                                      : CheckPages(options.pages);
               });
  AddSecuritySettings(settings, options);
  AddHistorySettings(settings, options);
  settings.Add("log_level", &options.log_level, "least level of log lines: debug, info, warning or error",
               KnownLogLevel(&options.log_level));
  settings.Add("ports_file", &options.ports_file, "file to write the ports in use to, as JSON; empty = none");
  settings.Add("inventory", &options.inventory,
               "file that names the hosts that should report, one per line; empty = those that ever did");
  settings.Add("shards", &options.shards, "threads that detect", Between(&options.shards, 1, 64));
  settings.Add("max_jobs", &options.max_jobs, "jobs watched at the same time", Between(&options.max_jobs, 1, 100'000));
  settings.Add("forget_job_after", &options.forget_job_after, "time without a report after which a job is forgotten",
               Positive(&options.forget_job_after));
  AddRetentionSettings(settings, options);
  AddIncidentSettings(settings, options);
  settings.Add("webhook_url", &options.webhook_urls, "where incidents are announced (Alertmanager webhook JSON)",
               HttpUrls(&options.webhook_urls));
  settings.Add("webhook_ca", &options.webhook_ca,
               "PEM file of the authorities of webhooks that speak https; empty = those of the system",
               [&options] { return CheckAuthorities(options.webhook_ca); });
  settings.Add("alert_routes", &options.alert_routes,
               "YAML file of receivers of alerts and of routes to them; empty = webhook_url alone",
               [&options] { return ToAlertRoutes(options).status(); });
  AddDetectorSettings(settings, options.detector);
}

Settings CollectorSettings(CollectorOptions& options) {
  Settings settings("lockstep-collector", "LOCKSTEP_COLLECTOR_");
  AddCollectorSettings(settings, options);
  settings.AddSwitch("repair", &options.repair, "salvage what can be of a damaged data_directory, and leave");
  return settings;
}

JobEngineOptions ToEngineOptions(const DetectorSettings& detector) {
  JobEngineOptions engine;
  engine.min_step_cost = detector.min_step_cost;
  engine.hang_floor_ns = absl::ToInt64Nanoseconds(detector.hang_floor);
  engine.hang_step_multiple = detector.hang_step_multiple;
  engine.host_silent_ns = absl::ToInt64Nanoseconds(detector.host_silent);
  engine.min_peer_hosts = static_cast<int>(detector.min_peer_hosts);
  return engine;
}

JobTableOptions ToJobTableOptions(const CollectorOptions& options) {
  JobTableOptions table;
  table.engine = ToEngineOptions(options.detector);
  table.incidents.resolve_after_ns = absl::ToInt64Nanoseconds(options.resolve_after);
  table.incidents.reopen_within_ns = absl::ToInt64Nanoseconds(options.reopen_within);
  table.incidents.flap_reopenings = static_cast<int>(options.flap_reopenings);
  table.incidents.flap_within_ns = absl::ToInt64Nanoseconds(options.flap_within);
  table.incidents.flap_quiet_ns = absl::ToInt64Nanoseconds(options.flap_quiet);
  table.incidents.storm_incidents = static_cast<int>(options.storm_incidents);
  table.incidents.storm_within_ns = absl::ToInt64Nanoseconds(options.storm_within);
  table.max_jobs = static_cast<size_t>(std::max<int64_t>(options.max_jobs / options.shards, 1));
  table.forget_after_ns = absl::ToInt64Nanoseconds(options.forget_job_after);
  return table;
}

AgentRegistryOptions ToRegistryOptions(const CollectorOptions& options) {
  AgentRegistryOptions registry;
  registry.silent_after_ns = absl::ToInt64Nanoseconds(options.detector.host_silent);
  return registry;
}

AlertRoutes PlainAlertRoutes(const CollectorOptions& options) {
  AlertRoutes routes;
  for (const std::string& url : options.webhook_urls) {
    if (!routes.told_of_all.insert(url).second) continue;
    ReceiverSpec& webhook = routes.receivers.emplace_back();
    webhook.name = url;
    webhook.title = "lockstep";
    webhook.urls = {url};
    webhook.authorities = options.webhook_ca;
  }
  return routes;
}

absl::StatusOr<AlertRoutes> ToAlertRoutes(const CollectorOptions& options) {
  AlertRoutes plain = PlainAlertRoutes(options);
  if (options.alert_routes.empty()) return plain;
  ASSIGN_OR_RETURN(AlertRoutes routes, LoadAlertRoutes(options.alert_routes, options.access_rules));
  routes.receivers.insert(routes.receivers.end(), plain.receivers.begin(), plain.receivers.end());
  routes.told_of_all = std::move(plain.told_of_all);
  return routes;
}

HistoryBackupOptions ToBackupOptions(const CollectorOptions& options) {
  return {.directory = options.backup_directory,
          .keep = static_cast<size_t>(options.backup_keep),
          .max_bytes = static_cast<uint64_t>(options.backup_max_bytes)};
}

RocksStoreOptions ToStoreOptions(const CollectorOptions& options) {
  RocksStoreOptions store;
  store.directory = options.data_directory;
  store.log_retention_ns = absl::ToInt64Nanoseconds(options.retention_log);
  store.max_log_bytes = static_cast<uint64_t>(options.retention_log_bytes);
  store.max_chunk_bytes = static_cast<uint64_t>(options.retention_samples_bytes);
  store.max_rollup_bytes = static_cast<uint64_t>(options.retention_rollups_bytes);
  store.max_incident_bytes = static_cast<uint64_t>(options.retention_incidents_bytes);
  store.min_free_bytes = static_cast<uint64_t>(options.retention_min_free_bytes);
  store.reserve_bytes = kReserveBytes;
  store.chunk_retention_ns = absl::ToInt64Nanoseconds(options.retention_samples);
  store.rollup_retention_ns = absl::ToInt64Nanoseconds(options.retention_rollups);
  store.incident_retention_ns = absl::ToInt64Nanoseconds(options.retention_incidents);
  return store;
}

}  // namespace lockstep
