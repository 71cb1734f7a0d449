// The file formats that `lockstep diagnose` reads, and which of them a file is.

#ifndef LOCKSTEP_CLI_INPUTS_INPUT_FORMAT_H_
#define LOCKSTEP_CLI_INPUTS_INPUT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// The order in which they are read: those that name their job first.
enum class InputFormat : uint8_t { kOpsCsv, kMetricsCsv, kCapture, kKineto, kFlightRecorder, kNcclInspector };

// "ops-csv", ...
const char* Name(InputFormat format);
std::optional<InputFormat> InputFormatOf(absl::string_view name);

// "ops-csv, metrics-csv, ...", for messages.
std::string InputFormatNames();

// As many bytes decide.
inline constexpr size_t kSniffBytes = size_t{64} << 10;

// The format of a file with this `beginning` (uncompressed, but for captures, which are known by their own header).
// Pure.
std::optional<InputFormat> SniffFormat(absl::string_view beginning);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_INPUTS_INPUT_FORMAT_H_
