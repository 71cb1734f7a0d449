// /proc/pressure/*: how long tasks waited for a resource (Linux PSI).

#ifndef LOCKSTEP_AGENT_SOURCES_HOST_PRESSURE_H_
#define LOCKSTEP_AGENT_SOURCES_HOST_PRESSURE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace lockstep {

// Microseconds since boot in which some task, or every task that was not idle, waited.
struct Pressure {
  absl::optional<uint64_t> some_us;
  absl::optional<uint64_t> full_us;
};

// DATA_LOSS when neither line is there. Pure.
absl::StatusOr<Pressure> ParsePressure(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_HOST_PRESSURE_H_
