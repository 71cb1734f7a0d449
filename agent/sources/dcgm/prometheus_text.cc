#include "agent/sources/dcgm/prometheus_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "agent/text_fields.h"

namespace lockstep {
namespace {

bool IsNameByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':'; }

// Takes a name off the front; "" = there is none.
absl::string_view TakeName(absl::string_view& rest) {
  size_t end = 0;
  while (end < rest.size() && IsNameByte(rest[end])) ++end;
  const absl::string_view name = rest.substr(0, end);
  rest.remove_prefix(end);
  return name;
}

// Takes a quoted value off the front; false = it has no end, or an escape that does not exist.
bool TakeValue(absl::string_view& rest, std::string& value) {
  if (!absl::ConsumePrefix(&rest, "\"")) return false;
  value.clear();
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return true;
    if (c != '\\') {
      value.push_back(c);
      continue;
    }
    if (rest.empty()) return false;
    const char escaped = rest.front();
    rest.remove_prefix(1);
    if (escaped != '\\' && escaped != '"' && escaped != 'n') return false;
    value.push_back(escaped == 'n' ? '\n' : escaped);
  }
  return false;
}

void SkipBlanks(absl::string_view& rest) { rest = absl::StripLeadingAsciiWhitespace(rest); }

// "{name="value",...}", which may end in a comma.
bool TakeLabels(absl::string_view& rest, PrometheusSample& sample) {
  if (!absl::ConsumePrefix(&rest, "{")) return true;
  for (SkipBlanks(rest); !absl::ConsumePrefix(&rest, "}"); SkipBlanks(rest)) {
    const absl::string_view name = TakeName(rest);
    SkipBlanks(rest);
    if (name.empty() || sample.labels.size() == kMaxPrometheusLabels || !absl::ConsumePrefix(&rest, "=")) return false;
    SkipBlanks(rest);
    sample.labels.emplace_back(name, "");
    if (!TakeValue(rest, sample.labels.back().second)) return false;
    SkipBlanks(rest);
    if (!absl::ConsumePrefix(&rest, ",") && (rest.empty() || rest.front() != '}')) return false;
  }
  return true;
}

bool ParseSample(absl::string_view line, PrometheusSample& sample) {
  sample = {};
  sample.name = TakeName(line);
  SkipBlanks(line);
  if (sample.name.empty() || !TakeLabels(line, sample)) return false;
  int64_t time_ms = 0;
  const absl::string_view value = TakeField(line);
  const absl::string_view time = TakeField(line);
  return absl::SimpleAtod(value, &sample.value) && (time.empty() || absl::SimpleAtoi(time, &time_ms)) &&
         TakeField(line).empty();
}

}  // namespace

absl::string_view PrometheusSample::Label(absl::string_view label) const {
  for (const auto& [name, value] : labels) {
    if (name == label) return value;
  }
  return "";
}

bool TakePrometheusSample(absl::string_view& text, PrometheusSample& sample, uint64_t& malformed) {
  while (!text.empty()) {
    absl::string_view line = TakeLine(text);
    SkipBlanks(line);
    if (line.empty() || line.front() == '#') continue;
    if (ParseSample(line, sample)) return true;
    ++malformed;
  }
  return false;
}

}  // namespace lockstep
