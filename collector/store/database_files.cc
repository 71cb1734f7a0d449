#include "collector/store/database_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace lockstep {
namespace {

// Of a database that is being made: RocksDB writes it before CURRENT, and nothing else before that.
constexpr char kFirstManifest[] = "MANIFEST-000001";
// A running collector replaces CURRENT and what it names every now and then: a look in between is repeated.
constexpr int kLooks = 3;

// Empty = there is none, or it cannot be read.
std::optional<std::string> ReadCurrent(const std::filesystem::path& directory) {
  std::ifstream file(directory / "CURRENT", std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A file that only a database with a CURRENT can have left.
std::string FindRemains(const std::filesystem::path& directory) {
  std::vector<std::string> remains;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_manifest = absl::StartsWith(name, "MANIFEST-") && name != kFirstManifest;
    if (is_manifest || absl::EndsWith(name, ".sst") || absl::EndsWith(name, ".log")) remains.push_back(name);
  }
  return remains.empty() ? "" : *std::min_element(remains.begin(), remains.end());
}

}  // namespace

absl::Status DamagedStore(const std::string& directory, const std::string& what) {
  return absl::DataLossError(
      absl::StrCat("the history store ", directory, " is damaged: ", what,
                   "; restore it from a backup, salvage what can be with --repair, or move it away and begin anew"));
}

absl::Status CheckDatabaseFiles(const std::string& directory) {
  std::string what;
  for (int look = 0; look < kLooks; ++look) {
    const std::optional<std::string> current = ReadCurrent(directory);
    if (!current.has_value()) {
      const std::string remains = FindRemains(directory);
      if (remains.empty()) return absl::OkStatus();
      what = absl::StrCat("CURRENT is missing or unreadable, though ", remains, " is there");
      continue;
    }
    const std::string manifest(absl::StripSuffix(*current, "\n"));
    if (!absl::StartsWith(manifest, "MANIFEST-") || manifest.size() == current->size()) {
      what = "CURRENT names no MANIFEST";
      continue;
    }
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::path(directory) / manifest, error)) return absl::OkStatus();
    what = absl::StrCat("CURRENT names ", manifest, ", which is missing");
  }
  return DamagedStore(directory, what);
}

}  // namespace lockstep
