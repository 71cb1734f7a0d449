#include "agent/stacks/mapping.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace lockstep {

absl::optional<Mapping> ParseMapping(absl::string_view line) {
  // 7f12a0000000-7f12a0021000 r-xp 00001000 08:01 131    /usr/lib/libc.so.6
  const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 5));
  if (fields.size() < 6 || fields[1].size() < 3) return absl::nullopt;
  const std::vector<absl::string_view> range = absl::StrSplit(fields[0], '-');
  Mapping mapping = {.is_code = fields[1][2] == 'x',
                     .is_written = fields[1][1] == 'w',
                     .path = fields[5].substr(std::min(fields[5].find_first_not_of(' '), fields[5].size()))};
  const bool is_read = range.size() == 2 && absl::SimpleHexAtoi(range[0], &mapping.begin) &&
                       absl::SimpleHexAtoi(range[1], &mapping.end) && absl::SimpleHexAtoi(fields[2], &mapping.offset);
  if (!is_read) return absl::nullopt;
  return mapping;
}

absl::string_view FileNameOf(const Mapping& mapping) {
  return mapping.path.substr(mapping.path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace lockstep
