#include "cli/render/quantity_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace lockstep {
namespace {

std::string FormatUtc(const char* format, int64_t wall_ns) {
  if (wall_ns == 0) return "-";
  return absl::FormatTime(format, absl::FromUnixNanos(wall_ns), absl::UTCTimeZone());
}

}  // namespace

std::string WallText(int64_t wall_ns) { return FormatUtc("%Y-%m-%d %H:%M:%S UTC", wall_ns); }

std::string TimeOfDayText(int64_t wall_ns) { return FormatUtc("%H:%M:%E3S", wall_ns); }

std::string DurationText(int64_t nanos) {
  const int64_t millis = std::max<int64_t>(nanos, 0) / kNanosPerMilli;
  if (millis < 1000) return absl::StrCat(millis, "ms");
  const int64_t seconds = millis / 1000;
  if (seconds < 10) return absl::StrFormat("%d.%ds", seconds, millis % 1000 / 100);
  if (seconds < 60) return absl::StrCat(seconds, "s");
  if (seconds < 3600) return absl::StrFormat("%dm%02ds", seconds / 60, seconds % 60);
  if (seconds < 86400) return absl::StrFormat("%dh%02dm", seconds / 3600, seconds % 3600 / 60);
  return absl::StrFormat("%dd%02dh", seconds / 86400, seconds % 86400 / 3600);
}

std::string AgeText(int64_t wall_ns, int64_t now_wall_ns) {
  return wall_ns == 0 ? "-" : DurationText(now_wall_ns - wall_ns);
}

std::string PercentText(double fraction) {
  const double percent = 100 * fraction;
  return std::abs(percent) < 9.95 ? absl::StrFormat("%.1f %%", percent) : absl::StrFormat("%.0f %%", percent);
}

std::string SecondsText(double seconds) {
  if (seconds == 0) return "-";
  if (std::abs(seconds) < 1e-3) return absl::StrFormat("%.3g us", seconds * 1e6);
  if (std::abs(seconds) < 1) return absl::StrFormat("%.3g ms", seconds * 1e3);
  return absl::StrFormat("%.3g s", seconds);
}

std::string NumberText(double value) { return absl::StrFormat("%.6g", value); }

}  // namespace lockstep
