#include "agent/sources/rings/process_stat.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/text_fields.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr size_t kMaxStatBytes = 4096;

// Numbers of fields as in proc(5), counted from 1.
constexpr int kParentField = 4;
constexpr int kUserTicksField = 14;
constexpr int kSystemTicksField = 15;
constexpr int kStartTicksField = 22;
constexpr int kExitStatusField = 52;  // since Linux 3.5
constexpr uint64_t kMaxExitStatus = 0xffff;

}  // namespace

absl::StatusOr<ProcessStat> ParseProcessStat(absl::string_view text) {
  const size_t name_end = text.rfind(')');
  if (name_end == absl::string_view::npos) return absl::InvalidArgumentError("stat: no command name");
  absl::string_view rest = text.substr(name_end + 1);
  const absl::string_view state = TakeField(rest);
  if (state.size() != 1) return absl::InvalidArgumentError("stat: no state");
  ProcessStat stat;
  stat.state = state[0];
  for (int field = kParentField; field <= kStartTicksField; ++field) {
    const absl::string_view word = TakeField(rest);
    if (field == kParentField && !absl::SimpleAtoi(word, &stat.parent)) stat.parent = 0;
    if (field != kUserTicksField && field != kSystemTicksField && field != kStartTicksField) continue;
    const absl::optional<uint64_t> number = ParseCount(word);
    if (!number.has_value()) return absl::InvalidArgumentError(absl::StrCat("stat: field ", field, " is no number"));
    (field == kStartTicksField ? stat.start_ticks : stat.cpu_ticks) += *number;
  }
  absl::string_view word;
  for (int field = kStartTicksField + 1; field <= kExitStatusField; ++field) word = TakeField(rest);
  stat.exit_status = static_cast<int>(std::min(ParseCount(word).value_or(0), kMaxExitStatus));
  return stat;
}

absl::StatusOr<ProcessStat> ReadProcessStat(const RootedFs& fs, int32_t pid) {
  ASSIGN_OR_RETURN(const std::string text, fs.ReadFile(absl::StrCat("proc/", pid, "/stat"), kMaxStatBytes));
  return ParseProcessStat(text);
}

}  // namespace lockstep
