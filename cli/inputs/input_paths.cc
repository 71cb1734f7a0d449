#include "cli/inputs/input_paths.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// "/data/run7/" and "." have names too.
std::string DirectoryName(const fs::path& directory) {
  std::error_code error;
  const fs::path whole = fs::absolute(directory, error).lexically_normal();
  const fs::path named = whole.has_filename() ? whole : whole.parent_path();
  return named.filename().string();
}

absl::Status TooMany(size_t max_files) {
  return absl::FailedPreconditionError(absl::StrCat("expected at most ", max_files, " files, found more"));
}

absl::StatusOr<std::vector<InputPath>> ListDirectory(const fs::path& directory, size_t max_files) {
  std::vector<InputPath> files;
  const std::string origin = DirectoryName(directory);
  std::error_code error;
  fs::recursive_directory_iterator entries(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    const bool hidden = entries->path().filename().string()[0] == '.';
    std::error_code ignored;
    if (hidden && entries->is_directory(ignored)) entries.disable_recursion_pending();
    if (hidden || !entries->is_regular_file(ignored)) continue;
    if (files.size() == max_files) return TooMany(max_files);
    files.push_back({entries->path().string(), origin, /*was_named=*/false});
  }
  if (error) return absl::FailedPreconditionError(absl::StrCat("cannot list: ", error.message()));
  if (files.empty()) return absl::FailedPreconditionError("expected files in the directory, found none");
  std::sort(files.begin(), files.end(), [](const InputPath& a, const InputPath& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string> MatchGlob(const std::string& pattern) {
  glob_t matches = {};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
    paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  }
  globfree(&matches);
  return paths;
}

}  // namespace

absl::StatusOr<std::vector<InputPath>> ExpandPath(const std::string& argument, size_t max_files) {
  std::error_code error;
  const fs::file_status status = fs::status(argument, error);
  if (fs::is_directory(status)) return ListDirectory(argument, max_files);
  if (fs::exists(status))
    return std::vector<InputPath>{{argument, DirectoryName(fs::path(argument).parent_path() / "."), true}};
  const bool is_glob = argument.find_first_of("*?[") != std::string::npos;
  if (!is_glob) return absl::FailedPreconditionError("cannot open: no such file or directory");
  std::vector<InputPath> files;
  for (const std::string& match : MatchGlob(argument)) {
    if (files.size() >= max_files) return TooMany(max_files);
    if (fs::is_directory(match, error)) {
      ASSIGN_OR_RETURN(const std::vector<InputPath> below, ListDirectory(match, max_files - files.size()));
      files.insert(files.end(), below.begin(), below.end());
    } else {
      files.push_back({match, DirectoryName(fs::path(match).parent_path() / "."), true});
    }
  }
  if (files.empty()) return absl::FailedPreconditionError("expected files that match the pattern, found none");
  return files;
}

}  // namespace lockstep
