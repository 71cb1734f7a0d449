// lockstep-collector: settings -> store -> serve -> drain.

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "collector/alert_memory.h"
#include "collector/alert_sinks.h"
#include "collector/collector.h"
#include "collector/collector_options.h"
#include "collector/history_keeper.h"
#include "collector/listen_check.h"
#include "collector/live_settings.h"
#include "collector/metrics.h"
#include "collector/repair_run.h"
#include "collector/start_refusal.h"
#include "collector/stop_limit.h"
#include "collector/store/history_backups.h"
#include "collector/store/rocks_store.h"
#include "collector/time_line.h"
#include "daemon/exit_codes.h"
#include "daemon/grpc_log.h"
#include "daemon/ports_file.h"
#include "daemon/service_notify.h"
#include "daemon/settings.h"
#include "daemon/settings_reload.h"
#include "daemon/shutdown_signals.h"
#include "daemon/version.h"
#include "daemon/watchdog_feed.h"

namespace lockstep {
namespace {

int Run(const CollectorOptions& options, const Settings& settings) {
  if (const absl::Status level = SetLogThreshold(options.log_level); !level.ok())
    return RefuseToStart(level, kExitBadConfig);
  if (options.repair) return RunRepair(ToStoreOptions(options), options.audit_file, options.audit_file_max_bytes);
  StopSignal stop;
  ShutdownSignals signals(stop);
  const ServiceNotifier notifier = ServiceNotifier::FromEnvironment();
  for (const std::string& address : {options.listen_address, options.pages.address}) {
    if (const absl::Status status = CheckListenable(address); !status.ok()) return RefuseToStart(status);
  }
  StopLimit limit;
  TimeLine clock(RealClock());
  const auto store = OpenRocksStore(ToStoreOptions(options), clock);
  if (!store.ok()) return RefuseToStart(store.status());
  CollectorMetrics metrics(kVersion);
  const auto routes = ToAlertRoutes(options);
  if (!routes.ok()) return RefuseToStart(routes.status(), kExitBadConfig);
  AlertSinks alerts(*routes, RealClock(), Random(SeedFromSystem()), MemoryIn(**store, metrics));
  HistoryBackups backups(ToBackupOptions(options), **store, clock);
  const HistoryKeeper keeper(HistoryKeeperOptions(), **store);
  const auto collector = Collector::Start(options, {RealClock(), clock, **store, alerts, metrics, &backups, &keeper});
  if (!collector.ok()) return RefuseToStart(collector.status());
  (*collector)->SetHook(*routes);
  const absl::Status told = WritePortsFile(options.ports_file, (*collector)->ports());
  if (!told.ok()) return RefuseToStart(told, kExitInternal);
  Log(LogLevel::kInfo, "collector is up",
      {{"version", kVersion},
       {"grpc_port", std::to_string((*collector)->grpc_port())},
       {"http_port", std::to_string((*collector)->http_port())},
       {"data", options.data_directory}});
  CollectorOptions renewed;
  Settings again = CollectorSettings(renewed);
  SettingsReload reload(settings, again, LiveCollectorSettings(renewed, **collector, alerts));
  WatchdogFeed watchdog(notifier);
  notifier.Ready();
  while (!stop.WaitFor(kNanosPerSecond)) {
    (*collector)->Housekeep();
    alerts.ExportTo(metrics);
    keeper.ExportTo(metrics);
    if (signals.TakeHangup()) (*collector)->NoteReload(reload.Reload(), signals.hangup_uid());
    watchdog.Feed((*collector)->Moving());
  }
  notifier.Stopping();
  limit.Start(StopLimit::kNanos, [&] { return (*collector)->Unwritten(); });
  (*collector)->Drain();
  limit.Enter([] { return "all is written, but the files of history do not close"; });
  Log(LogLevel::kInfo, "collector has stopped");
  return kExitOk;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // Costs CPU, and warns of gRPC's own locks.
  lockstep::TakeOverGrpcLog();
  lockstep::CollectorOptions options;
  lockstep::Settings settings = lockstep::CollectorSettings(options);
  if (const std::optional<int> code = settings.LoadOrExplain(argc, argv)) return *code;
  return lockstep::Run(options, settings);
}
