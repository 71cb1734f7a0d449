// Finds libnvidia-ml at run time.

#ifndef LOCKSTEP_AGENT_SOURCES_NVML_NVML_LIBRARY_H_
#define LOCKSTEP_AGENT_SOURCES_NVML_NVML_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"
#include "agent/sources/nvml/nvml_api.h"

namespace lockstep {

// Loads the library called `name` (as dlopen takes it) and looks up its functions. It is never unloaded: it keeps
// threads and exit handlers of its own. NOT_FOUND when there is no such library, FAILED_PRECONDITION when it lacks a
// function that nothing works without. Thread-safe.
absl::StatusOr<NvmlApi> LoadNvml(const std::string& name);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NVML_NVML_LIBRARY_H_
