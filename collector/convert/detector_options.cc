#include "collector/convert/detector_options.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// At least as wide as what the settings of the collector allow.
constexpr double kMaxMultiple = 1e6;
constexpr int64_t kMaxNanos = int64_t{101} * 366 * 24 * 3'600 * 1'000'000'000;
constexpr int kMaxCount = 100'000'000;

// False for NaN as well.
template <typename T>
absl::Status Between(absl::string_view name, T value, T least, T most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("detector option ", name, ": ", value, " is not from ", least, " to ", most));
}

absl::Status CheckThresholds(const wire::DetectorOptions& options) {
  RETURN_IF_ERROR(Between("min_step_cost", options.min_step_cost(), 0.0, 1.0));
  RETURN_IF_ERROR(Between<int64_t>("hang_floor_ns", options.hang_floor_ns(), 0, kMaxNanos));
  RETURN_IF_ERROR(Between("hang_step_multiple", options.hang_step_multiple(), 1.0, kMaxMultiple));
  RETURN_IF_ERROR(Between<int64_t>("host_silent_ns", options.host_silent_ns(), 0, kMaxNanos));
  return Between("min_peer_hosts", options.min_peer_hosts(), 2, kMaxCount);
}

absl::Status CheckLimits(const wire::DetectorOptions& options) {
  RETURN_IF_ERROR(Between("max_ranks", options.max_ranks(), 1, kMaxCount));
  RETURN_IF_ERROR(Between("max_communicators", options.max_communicators(), 1, kMaxCount));
  return Between("max_series", options.max_series(), 1, kMaxCount);
}

}  // namespace

wire::DetectorOptions ToWire(const JobEngineOptions& options) {
  wire::DetectorOptions message;
  message.set_min_step_cost(options.min_step_cost);
  message.set_hang_floor_ns(options.hang_floor_ns);
  message.set_hang_step_multiple(options.hang_step_multiple);
  message.set_host_silent_ns(options.host_silent_ns);
  message.set_min_peer_hosts(options.min_peer_hosts);
  message.set_max_ranks(options.max_ranks);
  message.set_max_communicators(options.max_communicators);
  message.set_max_series(options.max_series);
  return message;
}

absl::StatusOr<JobEngineOptions> FromWire(const wire::DetectorOptions& options) {
  RETURN_IF_ERROR(CheckThresholds(options));
  RETURN_IF_ERROR(CheckLimits(options));
  JobEngineOptions engine;
  engine.min_step_cost = options.min_step_cost();
  engine.hang_floor_ns = options.hang_floor_ns();
  engine.hang_step_multiple = options.hang_step_multiple();
  engine.host_silent_ns = options.host_silent_ns();
  engine.min_peer_hosts = options.min_peer_hosts();
  engine.max_ranks = options.max_ranks();
  engine.max_communicators = options.max_communicators();
  engine.max_series = options.max_series();
  return engine;
}

}  // namespace lockstep
