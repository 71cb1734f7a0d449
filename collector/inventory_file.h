// The file that names the hosts of a fleet, so that one which has never reported is missed.
//
// One host per line, by the name under which its agent reports; what follows a # is a comment. A file that cannot be
// read, or with a line that is no name, is refused as a whole: half an inventory would call hosts unknown.

#ifndef LOCKSTEP_COLLECTOR_INVENTORY_FILE_H_
#define LOCKSTEP_COLLECTOR_INVENTORY_FILE_H_

#include <cstddef>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

inline constexpr size_t kMaxInventoryHosts = 50'000;
inline constexpr size_t kMaxInventoryBytes = size_t{16} << 20;  // of the file: names of 253 bytes, and comments

// INVALID_ARGUMENT names the line. Pure.
absl::StatusOr<std::set<std::string>> ParseInventory(absl::string_view text);

struct Inventory {
  std::string text;  // of the file
  std::set<std::string> hosts;
};

// "" = no file: no hosts. INVALID_ARGUMENT names the file.
absl::StatusOr<Inventory> ReadInventory(const std::string& path);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INVENTORY_FILE_H_
