// Messages of the kernel's process connector: other kernels send other ones, and any process may send to our address.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "agent/sources/rings/exit_connector.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view message(reinterpret_cast<const char*>(data), size);
  const auto exit = lockstep::ExitConnector::Parse(message);
  // A message that was cut is none.
  for (size_t kept = 0; kept < size && !exit.has_value(); ++kept) {
    CHECK(!lockstep::ExitConnector::Parse(message.substr(0, kept)).has_value());
  }
  return 0;
}
