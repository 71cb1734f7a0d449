#include "agent/stacks/mapped_code.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "agent/printable_text.h"
#include "agent/stacks/mapping.h"

namespace lockstep {
namespace {

constexpr size_t kMaxFileName = 60;

}  // namespace

std::vector<MappedCode> FindMappedCode(absl::string_view maps) {
  std::vector<MappedCode> code;
  Mapping header;  // the newest that begins with the first byte of its file
  for (const absl::string_view line : absl::StrSplit(maps, '\n')) {
    const absl::optional<Mapping> mapping = ParseMapping(line);
    if (!mapping.has_value() || mapping->path.empty()) continue;
    if (mapping->offset == 0) header = *mapping;
    if (!mapping->is_code || code.size() == kMaxMappedCode) continue;
    std::string file = PrintableText(absl::StripSuffix(FileNameOf(*mapping), " (deleted)"), kMaxFileName);
    std::replace(file.begin(), file.end(), ';', ':');  // the separator of folded stacks
    const uint64_t base = header.path == mapping->path ? header.begin : 0;
    code.push_back({mapping->begin, mapping->end, base, std::move(file)});
  }
  std::sort(code.begin(), code.end(), [](const MappedCode& a, const MappedCode& b) { return a.begin < b.begin; });
  return code;
}

std::vector<MappedData> FindMappedData(absl::string_view maps) {
  std::vector<MappedData> data;
  for (const absl::string_view line : absl::StrSplit(maps, '\n')) {
    const absl::optional<Mapping> mapping = ParseMapping(line);
    if (!mapping.has_value() || !mapping->is_written || absl::StartsWith(mapping->path, "/")) continue;
    if (data.size() < kMaxMappedData) data.push_back({mapping->begin, mapping->end});
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
