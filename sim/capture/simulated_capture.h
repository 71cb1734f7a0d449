// A simulated job as a capture: what a collector would have received, tick by tick, host by host.
//
// Holds no conclusions: `lockstep replay` draws its own. Same episode and seed, same bytes. Pure but for the file.
// Thread-safe.

#ifndef LOCKSTEP_SIM_CAPTURE_SIMULATED_CAPTURE_H_
#define LOCKSTEP_SIM_CAPTURE_SIMULATED_CAPTURE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "proto/capture.pb.h"
#include "sim/episode.h"

namespace lockstep {

// Calls `visit` for every entry in order; an error of `visit` ends it and is returned.
absl::Status VisitCaptureEntries(const Episode& episode, uint64_t seed,
                                 const std::function<absl::Status(const wire::CaptureEntry&)>& visit);

absl::Status WriteSimulatedCapture(const Episode& episode, uint64_t seed, const std::string& path);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_SIMULATED_CAPTURE_H_
