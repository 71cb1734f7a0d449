// The file of hosts that a fleet has: names, or a refusal with a line.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "collector/inventory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto names = lockstep::ParseInventory(absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!names.ok()) {
    CHECK(absl::StrContains(names.status().message(), "line ") || absl::StrContains(names.status().message(), "hosts"));
    return 0;
  }
  CHECK(names->size() <= lockstep::kMaxInventoryHosts);
  for (const std::string& name : *names) {
    CHECK(!name.empty() && name.find_first_of(" \t\r\n#") == name.npos);
  }
  return 0;
}
