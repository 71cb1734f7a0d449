#include "collector/alert/yaml_values.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "daemon/yaml_map.h"

namespace lockstep {
namespace {

// Alertmanager forgets what it did not hear of for 5 minutes, and takes a few dozen alerts a second with ease.
constexpr absl::Duration kShortestTime = absl::Seconds(1);
constexpr absl::Duration kLongestTime = absl::Hours(1);
constexpr size_t kMaxTexts = 1'000;

}  // namespace

bool IsOneWord(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isgraph(c); });
}

bool IsPlainName(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

absl::Status ReadYamlTime(const YAML::Node& node, const char* key, int64_t& nanos) {
  ASSIGN_OR_RETURN(const std::string text, YamlText(node, key));
  if (text.empty()) return absl::OkStatus();
  absl::Duration time;
  if (!absl::ParseDuration(text, &time) || time < kShortestTime || time > kLongestTime) {
    return RefuseYaml(node[key], absl::StrCat("'", key, "' must be from 1s to 1h"));
  }
  nanos = absl::ToInt64Nanoseconds(time);
  return absl::OkStatus();
}

absl::Status ReadYamlBool(const YAML::Node& node, const char* key, bool& value) {
  ASSIGN_OR_RETURN(const std::string text, YamlText(node, key));
  if (!text.empty() && text != "true" && text != "false") {
    return RefuseYaml(node[key], absl::StrCat("'", key, "' must be true or false"));
  }
  if (!text.empty()) value = text == "true";
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> YamlTexts(const YAML::Node& map, const char* key) {
  const YAML::Node value = map[key];
  if (value.IsDefined() && value.IsScalar()) {
    ASSIGN_OR_RETURN(std::string text, YamlText(map, key));
    return std::vector<std::string>{std::move(text)};
  }
  ASSIGN_OR_RETURN(const std::vector<YAML::Node> list, YamlList(map, key, kMaxTexts));
  std::vector<std::string> texts;
  for (const YAML::Node& entry : list) {
    if (!entry.IsScalar() || entry.Scalar().empty()) return RefuseYaml(entry, "expected a text");
    texts.push_back(entry.Scalar());
  }
  return texts;
}

}  // namespace lockstep
