#include "agent/stacks/mapped_python.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace lockstep {
namespace {

constexpr absl::string_view kPrefix = "python3.";

// 11 of "python3.11" and "libpython3.11.so.1.0"; 0 of anything else.
int MinorOf(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kPrefix)) return 0;
  size_t digits = 0;
  while (digits < name.size() && digits < 2 && absl::ascii_isdigit(static_cast<unsigned char>(name[digits]))) ++digits;
  int minor = 0;
  const absl::string_view rest = name.substr(digits);
  const bool ends = rest.empty() || rest[0] == '.' || rest[0] == ' ';  // " (deleted)": it was upgraded meanwhile
  return ends && absl::SimpleAtoi(name.substr(0, digits), &minor) ? minor : 0;
}

}  // namespace

std::vector<MappedPython> FindMappedPython(absl::string_view maps) {
  std::vector<MappedPython> libraries;
  std::vector<MappedPython> programs;
  for (const absl::string_view line : absl::StrSplit(maps, '\n')) {
    // 7f12a0000000-7f12a0021000 r--p 00000000 08:01 131 /usr/bin/python3.11
    const size_t slash = line.rfind('/');
    if (slash == absl::string_view::npos) continue;
    absl::string_view name = line.substr(slash + 1);
    const bool is_library = absl::ConsumePrefix(&name, "lib");
    const int minor = MinorOf(name);
    if (minor == 0) continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    uint64_t offset = 0;
    uint64_t base = 0;
    const absl::string_view begin = line.substr(0, line.find('-'));
    if (fields.size() < 4 || !absl::SimpleHexAtoi(fields[2], &offset) || offset != 0) continue;
    if (!absl::SimpleHexAtoi(begin, &base)) continue;
    (is_library ? libraries : programs).push_back({minor, base});
  }
  libraries.insert(libraries.end(), programs.begin(), programs.end());
  libraries.resize(std::min(libraries.size(), kMaxPythonFiles));
  return libraries;
}

}  // namespace lockstep
