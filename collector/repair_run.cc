#include "collector/repair_run.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/log.h"
#include "collector/access/audit_log.h"
#include "collector/metrics.h"
#include "collector/start_refusal.h"
#include "collector/store/history_repair.h"
#include "daemon/exit_codes.h"
#include "daemon/version.h"

namespace lockstep {

namespace {

// Whoever starts a repair may have changed what he likes: the audit says at least that it was done, by whom, and what
// was lost of it, perhaps records of the audit among it.
void KeepInAudit(const RocksStoreOptions& options, const std::string& audit_file, int64_t audit_file_max_bytes,
                 const RepairReport& report) {
  const auto store = OpenRocksStore(options, RealClock());
  if (!store.ok()) {
    Log(LogLevel::kError, "the repair is not in the audit", {{"error", std::string(store.status().message())}});
    return;
  }
  CollectorMetrics metrics(kVersion);
  AuditLog(audit_file, RealClock(), **store, metrics, audit_file_max_bytes)
      .Note(absl::StrCat("uid ", getuid()), "--repair", "repair",
            absl::StrCat(options.directory, ", lost tables: ", report.lost_tables.size()), absl::OkStatus())
      .IgnoreError();  // it has happened already
}

}  // namespace

int RunRepair(const RocksStoreOptions& options, const std::string& audit_file, int64_t audit_file_max_bytes) {
  const absl::StatusOr<RepairReport> report = RepairHistory(options, RealClock());
  if (!report.ok()) {
    const std::string error(report.status().message());
    Log(LogLevel::kError, "history was not repaired", {{"error", error}});
    return ExitCodeOf(report.status());
  }
  if (report->was_whole) {
    Log(LogLevel::kInfo, "history is whole: nothing was done", {{"data", options.directory}});
    return kExitOk;
  }
  Log(LogLevel::kWarning, "history was repaired; what only damaged files held is lost",
      {{"damage", report->damage},
       {"lost_tables", absl::StrJoin(report->lost_tables, " ")},
       {"kept_in", (std::filesystem::path(options.directory) / kLostDirectory).string()}});
  for (const auto& [family, records] : report->kept) {
    Log(LogLevel::kInfo, "records that were kept", {{"family", family}, {"records", std::to_string(records)}});
  }
  KeepInAudit(options, audit_file, audit_file_max_bytes, *report);
  return kExitOk;
}

}  // namespace lockstep
