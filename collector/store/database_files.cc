#include "collector/store/database_files.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rocksdb/env.h"

namespace lockstep {
namespace {

// Of a database that is being made: RocksDB writes it before CURRENT, and nothing else before that.
constexpr char kFirstManifest[] = "MANIFEST-000001";
// A running collector replaces CURRENT and what it names every now and then: a look in between is repeated.
constexpr int kLooks = 3;

// Empty = there is none, or it cannot be read.
std::optional<std::string> ReadCurrent(rocksdb::Env& env, const std::string& directory) {
  std::string text;
  if (!rocksdb::ReadFileToString(&env, absl::StrCat(directory, "/CURRENT"), &text).ok()) return std::nullopt;
  return text;
}

// A file that only a database with a CURRENT can have left.
std::string FindRemains(rocksdb::Env& env, const std::string& directory) {
  std::vector<std::string> names;
  env.GetChildren(directory, &names).PermitUncheckedError();  // of one that is not there yet, nothing remains
  std::erase_if(names, [](const std::string& name) {
    const bool is_manifest = absl::StartsWith(name, "MANIFEST-") && name != kFirstManifest;
    return !is_manifest && !absl::EndsWith(name, ".sst") && !absl::EndsWith(name, ".log");
  });
  return names.empty() ? "" : *std::min_element(names.begin(), names.end());
}

}  // namespace

absl::Status DamagedStore(const std::string& directory, const std::string& what) {
  return absl::DataLossError(
      absl::StrCat("the history store ", directory, " is damaged: ", what,
                   "; restore it from a backup, salvage what can be with --repair, or move it away and begin anew"));
}

absl::Status CheckDatabaseFiles(rocksdb::Env& env, const std::string& directory) {
  std::string what;
  for (int look = 0; look < kLooks; ++look) {
    const std::optional<std::string> current = ReadCurrent(env, directory);
    if (!current.has_value()) {
      const std::string remains = FindRemains(env, directory);
      if (remains.empty()) return absl::OkStatus();
      what = absl::StrCat("CURRENT is missing or unreadable, though ", remains, " is there");
      continue;
    }
    const std::string manifest(absl::StripSuffix(*current, "\n"));
    if (!absl::StartsWith(manifest, "MANIFEST-") || manifest.size() == current->size()) {
      what = "CURRENT names no MANIFEST";
      continue;
    }
    if (env.FileExists(absl::StrCat(directory, "/", manifest)).ok()) return absl::OkStatus();
    what = absl::StrCat("CURRENT names ", manifest, ", which is missing");
  }
  return DamagedStore(directory, what);
}

}  // namespace lockstep
