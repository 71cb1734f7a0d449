#include "collector/repair_run.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/log.h"
#include "collector/start_refusal.h"
#include "collector/store/history_repair.h"
#include "daemon/exit_codes.h"

namespace lockstep {

int RunRepair(const RocksStoreOptions& options) {
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
  return kExitOk;
}

}  // namespace lockstep
