// Loads a profiler plugin as NCCL does: dlopen(RTLD_NOW | RTLD_LOCAL), then the newest `ncclProfiler_v<N>` that the
// played NCCL knows, going down to v1.

#ifndef LOCKSTEP_TESTS_NCCL_PLUGIN_LIBRARY_H_
#define LOCKSTEP_TESTS_NCCL_PLUGIN_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tests/nccl/abi_values.h"

namespace lockstep::nccl {

// Immutable. Its end is NCCL's dlclose: no thread may be inside the plugin then.
class PluginLibrary {
 public:
  // NOT_FOUND: no such library, an unresolved symbol, or no version up to `newest_version` in it.
  static absl::StatusOr<std::unique_ptr<PluginLibrary>> Load(const std::string& path, int newest_version);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  int version() const { return version_; }
  const PluginTable& table() const { return *table_; }

 private:
  PluginLibrary(void* library, const PluginTable* table, int version)
      : library_(library), table_(table), version_(version) {}

  void* const library_;
  const PluginTable* const table_;
  const int version_;
};

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_PLUGIN_LIBRARY_H_
