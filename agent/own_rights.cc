#include "agent/own_rights.h"

#include <string>

#include "absl/status/status.h"
#include "agent/own_capabilities.h"
#include "agent/own_system_calls.h"
#include "base/log.h"

namespace lockstep {

void SettleOwnRights() {
  UseOwnCapabilities();
  const absl::Status given_up = GiveUpSystemCalls();
  if (given_up.ok()) return;
  Log(LogLevel::kWarning, "the agent may ask more of the kernel than it needs",
      {{"error", std::string(given_up.message())}});
}

}  // namespace lockstep
