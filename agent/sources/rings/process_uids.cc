#include "agent/sources/rings/process_uids.h"

#include <cstddef>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/text_fields.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr size_t kMaxStatusBytes = 16'384;
// A command's name cannot forge it: the kernel writes a line break in a name as "\n".
constexpr absl::string_view kUids = "\nUid:";

}  // namespace

absl::StatusOr<ProcessUids> ParseProcessUids(absl::string_view status) {
  const size_t found = status.find(kUids);
  if (found == absl::string_view::npos) return absl::InvalidArgumentError("status: no Uid line");
  absl::string_view line = status.substr(found + kUids.size());
  line = line.substr(0, line.find('\n'));
  ProcessUids uids = {};
  for (uint32_t& uid : uids) {
    if (!absl::SimpleAtoi(TakeField(line), &uid)) return absl::InvalidArgumentError("status: Uid is no number");
  }
  return uids;
}

absl::StatusOr<ProcessUids> ReadProcessUids(const RootedFs& fs, int32_t pid) {
  ASSIGN_OR_RETURN(const std::string text, fs.ReadFile(absl::StrCat("proc/", pid, "/status"), kMaxStatusBytes));
  return ParseProcessUids(text);
}

}  // namespace lockstep
