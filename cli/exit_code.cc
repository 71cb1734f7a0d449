#include "cli/exit_code.h"

namespace lockstep {
namespace {

struct Row {
  absl::StatusCode code;
  ExitCode exit_code;
};

constexpr Row kRows[] = {
    {absl::StatusCode::kOk, ExitCode::kOk},
    {absl::StatusCode::kInvalidArgument, ExitCode::kUsage},
    {absl::StatusCode::kDataLoss, ExitCode::kInputUnreadable},
    {absl::StatusCode::kFailedPrecondition, ExitCode::kInputUnreadable},
    {absl::StatusCode::kNotFound, ExitCode::kNotFound},
    {absl::StatusCode::kPermissionDenied, ExitCode::kNotAllowed},
};

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  for (const Row& row : kRows) {
    if (row.code == status.code()) return row.exit_code;
  }
  return ExitCode::kCollectorUnreachable;
}

}  // namespace lockstep
