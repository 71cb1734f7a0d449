#include "agent/sources/rings/process_uids.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "agent/sources/rings/process_status.h"
#include "agent/text_fields.h"
#include "base/status_macros.h"

namespace lockstep {

absl::StatusOr<ProcessUids> ParseProcessUids(absl::string_view status) {
  absl::optional<absl::string_view> line = StatusLine(status, "Uid:");
  if (!line.has_value()) return absl::InvalidArgumentError("status: no Uid line");
  ProcessUids uids = {};
  for (uint32_t& uid : uids) {
    if (!absl::SimpleAtoi(TakeField(*line), &uid)) return absl::InvalidArgumentError("status: Uid is no number");
  }
  return uids;
}

absl::StatusOr<ProcessUids> ReadProcessUids(const RootedFs& fs, int32_t pid) {
  ASSIGN_OR_RETURN(const std::string text, fs.ReadFile(absl::StrCat("proc/", pid, "/status"), kMaxStatusBytes));
  return ParseProcessUids(text);
}

}  // namespace lockstep
