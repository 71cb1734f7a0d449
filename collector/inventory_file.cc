#include "collector/inventory_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collector/convert/check_name.h"
#include "collector/convert/report_limits.h"

namespace lockstep {

absl::StatusOr<std::set<std::string>> ParseInventory(absl::string_view text) {
  std::set<std::string> names;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const bool is_one_word = line.find_first_of(" \t") == absl::string_view::npos;
    if (!is_one_word || !CheckName("host", line, kMaxHostBytes).ok()) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": is no name of a host"));
    }
    names.emplace(line);
    if (names.size() > kMaxInventoryHosts) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxInventoryHosts, " hosts"));
    }
  }
  return names;
}

absl::StatusOr<Inventory> ReadInventory(const std::string& path) {
  if (path.empty()) return Inventory();
  const auto refuse = [&path](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("inventory ", path, ": ", why));
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse(std::strerror(errno));
  std::string text(kMaxInventoryBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return refuse("cannot be read");
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxInventoryBytes) return refuse(absl::StrCat("is longer than ", kMaxInventoryBytes, " bytes"));
  absl::StatusOr<std::set<std::string>> names = ParseInventory(text);
  if (!names.ok()) return refuse(names.status().message());
  return Inventory{std::move(text), *std::move(names)};
}

}  // namespace lockstep
