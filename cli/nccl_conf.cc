#include "cli/nccl_conf.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace lockstep {
namespace {

// The value of a line that sets `key`; false = it does not.
bool IsLineOf(absl::string_view line, absl::string_view key, absl::string_view* value) {
  line = absl::StripAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, key) || !absl::ConsumePrefix(&line, "=")) return false;
  *value = line;
  return true;
}

// The lines of `text` with their ends, those that set one of our variables left out.
std::string OtherLines(absl::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const absl::string_view line = text.substr(0, end == absl::string_view::npos ? end : end + 1);
    text.remove_prefix(line.size());
    absl::string_view value;
    if (!IsLineOf(line, kNcclPluginVariable, &value) && !IsLineOf(line, kNcclChainVariable, &value)) {
      absl::StrAppend(&kept, line);
    }
  }
  return kept;
}

void AppendLine(absl::string_view key, absl::string_view value, std::string* text) {
  if (!text->empty() && text->back() != '\n') text->push_back('\n');
  absl::StrAppend(text, key, "=", value, "\n");
}

}  // namespace

std::string NcclConfValue(absl::string_view text, absl::string_view key) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::string_view value;
    if (IsLineOf(line, key, &value)) return std::string(value);
  }
  return "";
}

bool IsOurPlugin(absl::string_view value) { return absl::EndsWith(value, kNcclPluginName) || value == "lockstep"; }

absl::StatusOr<std::string> WithPlugin(absl::string_view text, absl::string_view plugin, bool chain) {
  const std::string present = NcclConfValue(text, kNcclPluginVariable);
  if (present == plugin) return std::string(text);
  const bool is_other = !present.empty() && !IsOurPlugin(present);
  if (is_other && !chain) {
    return absl::FailedPreconditionError(
        absl::StrCat("another profiler is set: ", present, " (--chain loads it behind Lockstep's recorder)"));
  }
  const std::string chained = is_other ? present : NcclConfValue(text, kNcclChainVariable);
  std::string result = OtherLines(text);
  AppendLine(kNcclPluginVariable, plugin, &result);
  if (!chained.empty()) AppendLine(kNcclChainVariable, chained, &result);
  return result;
}

std::string WithoutPlugin(absl::string_view text) {
  if (!IsOurPlugin(NcclConfValue(text, kNcclPluginVariable))) return std::string(text);
  const std::string chained = NcclConfValue(text, kNcclChainVariable);
  std::string result = OtherLines(text);
  if (!chained.empty()) AppendLine(kNcclPluginVariable, chained, &result);
  return result;
}

}  // namespace lockstep
