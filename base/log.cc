#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace lockstep {
namespace {

std::atomic<LogLevel> threshold{LogLevel::kInfo};

constexpr absl::string_view kLevelNames[] = {"debug", "info", "warning", "error"};

bool NeedsQuotes(absl::string_view value) {
  if (value.empty()) return true;
  for (const unsigned char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f) return true;
  }
  return false;
}

std::string Quoted(absl::string_view value) {
  return NeedsQuotes(value) ? absl::StrCat("\"", absl::Utf8SafeCEscape(value), "\"") : std::string(value);
}

}  // namespace

std::string FormatLogLine(LogLevel level, int64_t wall_nanos, absl::string_view message,
                          std::initializer_list<LogField> fields) {
  std::string line = absl::StrCat(
      "level=", kLevelNames[static_cast<int>(level)],
      " at=", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(wall_nanos), absl::UTCTimeZone()), " msg=\"",
      absl::Utf8SafeCEscape(message), "\"");
  for (const auto& [key, value] : fields) absl::StrAppend(&line, " ", key, "=", Quoted(value));
  return line;
}

void Log(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields) {
  if (level < threshold.load(std::memory_order_relaxed)) return;
  LogLine(FormatLogLine(level, RealClock().WallNanos(), message, fields));
}

void LogLine(absl::string_view line) {
  const std::string whole = absl::StrCat(line, "\n");  // one write, or lines of several threads would mix
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

void SetLogThreshold(LogLevel level) { threshold.store(level, std::memory_order_relaxed); }

std::optional<LogLevel> LogLevelOf(absl::string_view name) {
  const auto* const found = std::find(std::begin(kLevelNames), std::end(kLevelNames), name);
  if (found == std::end(kLevelNames)) return std::nullopt;
  return static_cast<LogLevel>(found - std::begin(kLevelNames));
}

absl::Status SetLogThreshold(absl::string_view name) {
  const std::optional<LogLevel> level = LogLevelOf(name);
  if (!level.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be debug, info, warning or error, found '", absl::Utf8SafeCEscape(name), "'"));
  }
  SetLogThreshold(*level);
  return absl::OkStatus();
}

}  // namespace lockstep
