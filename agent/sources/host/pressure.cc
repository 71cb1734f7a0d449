#include "agent/sources/host/pressure.h"

#include "absl/strings/strip.h"
#include "agent/text_fields.h"

namespace lockstep {
namespace {

absl::optional<uint64_t> TotalOf(absl::string_view line) {
  while (true) {
    absl::string_view field = TakeField(line);
    if (field.empty()) return absl::nullopt;
    if (absl::ConsumePrefix(&field, "total=")) return ParseCount(field);
  }
}

}  // namespace

absl::StatusOr<Pressure> ParsePressure(absl::string_view text) {
  Pressure pressure;
  while (!text.empty()) {
    absl::string_view line = TakeLine(text);
    const absl::string_view kind = TakeField(line);
    if (kind == "some") pressure.some_us = TotalOf(line);
    if (kind == "full") pressure.full_us = TotalOf(line);
  }
  if (!pressure.some_us.has_value() && !pressure.full_us.has_value()) {
    return absl::DataLossError("/proc/pressure: no total");
  }
  return pressure;
}

}  // namespace lockstep
