// One line per event on stderr, in logfmt, for journald and kubectl logs:
//   level=info at=2026-01-02T03:04:05.678Z msg="listening" address=127.0.0.1:7070

#ifndef LOCKSTEP_BASE_LOG_H_
#define LOCKSTEP_BASE_LOG_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lockstep {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// A key and an already formatted value.
using LogField = std::pair<absl::string_view, std::string>;

// Writes one line if `level` is at least the threshold. Values are quoted and escaped where needed, so that input from
// outside cannot forge a second line. Thread-safe.
void Log(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields = {});

// Writes a line that FormatLogLine made, whatever the threshold is. Thread-safe.
void LogLine(absl::string_view line);

// Lines below `level` are dropped. Starts at kInfo. Thread-safe.
void SetLogThreshold(LogLevel level);

// The level that lines call "debug", "info", "warning" or "error"; nullopt for any other name. Pure.
std::optional<LogLevel> LogLevelOf(absl::string_view name);

// Both at once. INVALID_ARGUMENT for a name that is none; the threshold is then as before. Thread-safe.
absl::Status SetLogThreshold(absl::string_view name);

// The text that Log would write, without the trailing newline; for tests.
std::string FormatLogLine(LogLevel level, int64_t wall_nanos, absl::string_view message,
                          std::initializer_list<LogField> fields);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_LOG_H_
