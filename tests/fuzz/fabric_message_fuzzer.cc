// Any process of the machine may send anything to the socket where PyTorch registers.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "agent/kineto/fabric_message.h"
#include "agent/kineto/fabric_refusal.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view datagram(reinterpret_cast<const char*>(data), size);
  lockstep::FabricMessage message;
  if (lockstep::ParseFabricMessage(datagram, message) != lockstep::FabricRefusal::kNone) return 0;
  CHECK(size <= lockstep::kMaxFabricDatagramBytes);
  CHECK(message.pid > 0 && message.job >= 0 && message.device >= -1);
  // A message that was cut is none.
  lockstep::FabricMessage cut;
  CHECK(lockstep::ParseFabricMessage(datagram.substr(0, size - 1), cut) != lockstep::FabricRefusal::kNone);
  return 0;
}
