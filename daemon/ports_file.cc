#include "daemon/ports_file.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace lockstep {

absl::Status WritePortsFile(const std::string& path, const std::vector<std::pair<std::string, int>>& ports) {
  if (path.empty()) return absl::OkStatus();
  const std::string unfinished = path + ".tmp";
  std::ofstream file(unfinished, std::ios::trunc);
  file << "{";
  for (const auto& [name, port] : ports) file << "\"" << name << "\":" << port << ",";
  file << "\"pid\":" << getpid() << "}\n";
  file.close();
  if (file.fail() || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot write the ports file ", path));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
