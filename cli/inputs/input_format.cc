#include "cli/inputs/input_format.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace lockstep {
namespace {

constexpr const char* kNames[] = {"ops-csv", "metrics-csv", "capture", "kineto", "flight-recorder", "nccl-inspector"};
static_assert(std::size(kNames) == static_cast<size_t>(InputFormat::kNcclInspector) + 1);

constexpr absl::string_view kCaptureMagic("\x50\x2A\x4D\x18\x0C\x00\x00\x00LOCKCAP\n", 16);
constexpr char kPickleProtocol = '\x80';
constexpr unsigned char kNewestPickle = 5;

struct Mark {
  absl::string_view text;
  InputFormat format;
};

// Keys that only one format has, the surest first.
constexpr Mark kJsonMarks[] = {
    {"\"coll_perf\"", InputFormat::kNcclInspector},
    {"\"p2p_perf\"", InputFormat::kNcclInspector},
    {"\"inspector_output_format_version\"", InputFormat::kNcclInspector},
    {"\"traceEvents\"", InputFormat::kKineto},
    {"\"schemaVersion\"", InputFormat::kKineto},
    {"\"deviceProperties\"", InputFormat::kKineto},
    {"\"distributedInfo\"", InputFormat::kKineto},
    {"\"ph\"", InputFormat::kKineto},
    {"\"entries\"", InputFormat::kFlightRecorder},
    {"\"pg_config\"", InputFormat::kFlightRecorder},
    {"\"profiling_name\"", InputFormat::kFlightRecorder},
};

std::optional<InputFormat> SniffJson(absl::string_view beginning) {
  for (const Mark& mark : kJsonMarks) {
    if (absl::StrContains(beginning, mark.text)) return mark.format;
  }
  return std::nullopt;
}

bool HasColumn(absl::string_view header, absl::string_view column) {
  for (size_t at = header.find(column); at != absl::string_view::npos; at = header.find(column, at + 1)) {
    const size_t end = at + column.size();
    const bool begins = at == 0 || header[at - 1] == ',' || header[at - 1] == '"';
    if (begins && (end == header.size() || header[end] == ',' || header[end] == '"')) return true;
  }
  return false;
}

std::optional<InputFormat> SniffCsv(absl::string_view beginning) {
  const absl::string_view header = beginning.substr(0, beginning.find_first_of("\r\n"));
  if (HasColumn(header, "metric") && HasColumn(header, "value")) return InputFormat::kMetricsCsv;
  if (HasColumn(header, "rank") && (HasColumn(header, "comm") || HasColumn(header, "seq"))) return InputFormat::kOpsCsv;
  return std::nullopt;
}

}  // namespace

const char* Name(InputFormat format) { return kNames[static_cast<size_t>(format)]; }

std::optional<InputFormat> InputFormatOf(absl::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<InputFormat>(found - std::begin(kNames));
}

std::string InputFormatNames() { return absl::StrJoin(kNames, ", "); }

std::optional<InputFormat> SniffFormat(absl::string_view beginning) {
  if (absl::StartsWith(beginning, kCaptureMagic)) return InputFormat::kCapture;
  if (beginning.size() >= 2 && beginning[0] == kPickleProtocol &&
      static_cast<unsigned char>(beginning[1]) <= kNewestPickle) {
    return InputFormat::kFlightRecorder;
  }
  absl::string_view text = absl::StripPrefix(beginning, "\xef\xbb\xbf");
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (absl::StartsWith(text, "{") || absl::StartsWith(text, "[")) return SniffJson(text);
  return SniffCsv(text);
}

}  // namespace lockstep
