#include "collector/start_refusal.h"

#include <string>

#include "absl/strings/match.h"
#include "base/log.h"
#include "daemon/exit_codes.h"

namespace lockstep {

int ExitCodeOf(const absl::Status& status) {
  if (status.code() == absl::StatusCode::kAlreadyExists) return kExitPortInUse;
  if (status.code() == absl::StatusCode::kInvalidArgument) return kExitBadConfig;
  if (status.code() == absl::StatusCode::kDataLoss) return kExitDataCorrupt;
  return absl::StrContains(status.message(), "schema version") ? kExitNewerSchema : kExitDataDirectory;
}

int RefuseToStart(const absl::Status& status, int exit_code) {
  Log(LogLevel::kError, "cannot start", {{"error", std::string(status.message())}});
  return exit_code;
}

}  // namespace lockstep
