#include "tests/faults/trace.h"

#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/log.h"
#include "tests/faults/thread_world.h"

namespace lockstep::faults {

void Trace(const std::string& line) {
  LogLine(absl::StrFormat("%9.3f s  %s", static_cast<double>(WorldNanos()) / kNanosPerSecond, line));
}

}  // namespace lockstep::faults
