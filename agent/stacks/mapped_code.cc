#include "agent/stacks/mapped_code.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/printable_text.h"

namespace lockstep {
namespace {

constexpr size_t kMaxFileName = 60;

// 7f12a0000000-7f12a0021000 r-xp 00001000 08:01 131    /usr/lib/libc.so.6
struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  bool is_code = false;
  bool is_written = false;
  absl::string_view path;  // "" = memory without a file
};

bool ParseMapping(absl::string_view line, Mapping* mapping) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 5));
  if (fields.size() < 6 || fields[1].size() < 3) return false;
  const std::vector<absl::string_view> range = absl::StrSplit(fields[0], '-');
  mapping->is_code = fields[1][2] == 'x';
  mapping->is_written = fields[1][1] == 'w';
  mapping->path = fields[5].substr(std::min(fields[5].find_first_not_of(' '), fields[5].size()));
  return range.size() == 2 && absl::SimpleHexAtoi(range[0], &mapping->begin) &&
         absl::SimpleHexAtoi(range[1], &mapping->end) && absl::SimpleHexAtoi(fields[2], &mapping->offset);
}

}  // namespace

std::vector<MappedCode> FindMappedCode(absl::string_view maps) {
  std::vector<MappedCode> code;
  Mapping header;  // the newest that begins with the first byte of its file
  for (const absl::string_view line : absl::StrSplit(maps, '\n')) {
    Mapping mapping;
    if (!ParseMapping(line, &mapping) || mapping.path.empty()) continue;
    if (mapping.offset == 0) header = mapping;
    if (!mapping.is_code || code.size() == kMaxMappedCode) continue;
    absl::string_view name = absl::StripSuffix(mapping.path, " (deleted)");
    name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
    std::string file = PrintableText(name, kMaxFileName);
    std::replace(file.begin(), file.end(), ';', ':');  // the separator of folded stacks
    code.push_back({mapping.begin, mapping.end, header.path == mapping.path ? header.begin : 0, std::move(file)});
  }
  std::sort(code.begin(), code.end(), [](const MappedCode& a, const MappedCode& b) { return a.begin < b.begin; });
  return code;
}

std::vector<MappedData> FindMappedData(absl::string_view maps) {
  std::vector<MappedData> data;
  for (const absl::string_view line : absl::StrSplit(maps, '\n')) {
    Mapping mapping;
    if (!ParseMapping(line, &mapping) || !mapping.is_written || absl::StartsWith(mapping.path, "/")) continue;
    if (data.size() < kMaxMappedData) data.push_back({mapping.begin, mapping.end});
  }
  std::sort(data.begin(), data.end(), [](const MappedData& a, const MappedData& b) { return a.begin < b.begin; });
  return data;
}

uint64_t EndOfData(const std::vector<MappedData>& data, uint64_t address) {
  const auto behind = std::upper_bound(data.begin(), data.end(), address,
                                       [](uint64_t value, const MappedData& range) { return value < range.begin; });
  if (behind == data.begin() || address >= std::prev(behind)->end) return address;
  return std::prev(behind)->end;
}

const MappedCode* CodeAt(const std::vector<MappedCode>& code, uint64_t address) {
  const auto behind = std::upper_bound(code.begin(), code.end(), address,
                                       [](uint64_t value, const MappedCode& range) { return value < range.begin; });
  if (behind == code.begin() || address >= std::prev(behind)->end) return nullptr;
  return &*std::prev(behind);
}

}  // namespace lockstep
