#include "tests/nccl/plugin_library.h"

#include <dlfcn.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lockstep::nccl {

absl::StatusOr<std::unique_ptr<PluginLibrary>> PluginLibrary::Load(const std::string& path, int newest_version) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::NotFoundError(dlerror());
  for (int version = newest_version; version >= kOldestVersion; --version) {
    const std::string symbol = "ncclProfiler_v" + std::to_string(version);
    const auto* const table = static_cast<const PluginTable*>(dlsym(library, symbol.c_str()));
    if (table != nullptr) return std::unique_ptr<PluginLibrary>(new PluginLibrary(library, table, version));
  }
  dlclose(library);
  return absl::NotFoundError(path + " has no profiler up to v" + std::to_string(newest_version));
}

PluginLibrary::~PluginLibrary() { dlclose(library_); }

}  // namespace lockstep::nccl
