// A directory that vanishes with the test, and a quick way to write trees such as fake /proc and /sys into it.

#ifndef LOCKSTEP_BASE_TESTING_TEMPORARY_DIRECTORY_H_
#define LOCKSTEP_BASE_TESTING_TEMPORARY_DIRECTORY_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"

namespace lockstep {

// Not thread-safe.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-test-XXXXXX").string();
    CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Writes `text` to `relative`, making folders as needed. Returns the whole path.
  std::filesystem::path Write(const std::string& relative, const std::string& text) const {
    const std::filesystem::path file = path_ / relative;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_TESTING_TEMPORARY_DIRECTORY_H_
