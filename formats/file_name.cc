#include "formats/file_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace lockstep {
namespace {

constexpr absl::string_view kTraceEnding = ".pt.trace.json";

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// The digits at the beginning; -1 = none, or too many.
int32_t LeadingNumber(absl::string_view text) {
  const auto* end = std::find_if_not(text.begin(), text.end(), absl::ascii_isdigit);
  int32_t number = -1;
  return absl::SimpleAtoi(text.substr(0, static_cast<size_t>(end - text.begin())), &number) ? number : -1;
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace

int32_t RankInFileName(absl::string_view path) {
  const std::string name = absl::AsciiStrToLower(BaseName(path));
  for (size_t at = name.find("rank"); at != std::string::npos; at = name.find("rank", at + 1)) {
    absl::string_view rest = absl::string_view(name).substr(at + 4);
    if (!rest.empty() && (rest[0] == '_' || rest[0] == '-' || rest[0] == '=' || rest[0] == '.')) rest.remove_prefix(1);
    const int32_t rank = LeadingNumber(rest);
    if (rank >= 0) return rank;
  }
  return -1;
}

int32_t RankAtEndOfFileName(absl::string_view path) {
  const int32_t named = RankInFileName(path);
  if (named >= 0) return named;
  const absl::string_view name = BaseName(path);
  size_t end = name.size();
  while (end > 0 && !absl::ascii_isdigit(name[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && absl::ascii_isdigit(name[begin - 1])) --begin;
  return LeadingNumber(name.substr(begin));
}

std::string HostInFileName(absl::string_view path) {
  absl::string_view name = BaseName(path);
  const size_t ending = name.find(kTraceEnding);
  if (ending == absl::string_view::npos) return "";
  name = name.substr(0, ending);
  const size_t dot = name.rfind('.');  // before the time, which old versions leave out
  if (dot != absl::string_view::npos && IsNumber(name.substr(dot + 1))) name = name.substr(0, dot);
  const size_t underscore = name.rfind('_');
  if (underscore == absl::string_view::npos || !IsNumber(name.substr(underscore + 1))) return "";
  return std::string(name.substr(0, underscore));
}

}  // namespace lockstep
