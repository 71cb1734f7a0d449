#include "collector/store/disk_share.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

namespace lockstep {
namespace {

constexpr uint64_t kShare = 6;

}  // namespace

RocksStoreOptions FittedToDisk(const RocksStoreOptions& options) {
  if (options.env != nullptr) return options;
  const std::filesystem::path directory = options.directory;
  std::error_code error;
  // A directory that is not there yet will be on the disk of its parent.
  const bool exists = std::filesystem::exists(directory, error);
  const std::filesystem::space_info disk =
      std::filesystem::space(exists ? directory : std::filesystem::absolute(directory, error).parent_path(), error);
  if (error) return options;
  RocksStoreOptions fitted = options;
  fitted.min_free_bytes = std::min(options.min_free_bytes, disk.capacity / kShare);
  fitted.reserve_bytes = std::min(options.reserve_bytes, disk.capacity / kShare);
  return fitted;
}

}  // namespace lockstep
