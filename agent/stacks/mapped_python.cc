#include "agent/stacks/mapped_python.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "agent/stacks/mapping.h"

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
    const absl::optional<Mapping> mapping = ParseMapping(line);
    if (!mapping.has_value() || mapping->offset != 0) continue;  // the beginning of a file has its header
    absl::string_view name = FileNameOf(*mapping);
    const bool is_library = absl::ConsumePrefix(&name, "lib");
    const int minor = MinorOf(name);
    if (minor == 0) continue;
    (is_library ? libraries : programs).push_back({minor, mapping->begin});
  }
  libraries.insert(libraries.end(), programs.begin(), programs.end());
  libraries.resize(std::min(libraries.size(), kMaxPythonFiles));
  return libraries;
}

}  // namespace lockstep
