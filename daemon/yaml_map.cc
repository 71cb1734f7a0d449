#include "daemon/yaml_map.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/nearest_name.h"

namespace lockstep {

int YamlLine(const YAML::Node& at) { return std::max(at.Mark().line, 0) + 1; }

absl::Status RefuseYaml(const YAML::Node& at, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("line ", YamlLine(at), ": ", why));
}

absl::Status CheckYamlMap(const YAML::Node& map, const std::vector<std::string>& known) {
  if (!map.IsMap()) return RefuseYaml(map, absl::StrCat("expected a map of ", absl::StrJoin(known, ", ")));
  std::vector<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return RefuseYaml(entry.first, absl::StrCat("unknown key '", key, "'", DidYouMean(key, known)));
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      return RefuseYaml(entry.first, absl::StrCat("key '", key, "' appears twice"));
    }
    seen.push_back(key);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> YamlText(const YAML::Node& map, const char* key, bool required) {
  const YAML::Node value = map[key];
  if (!value.IsDefined()) {
    if (required) return RefuseYaml(map, absl::StrCat("'", key, "' is missing"));
    return std::string();
  }
  if (!value.IsScalar() || value.Scalar().empty()) return RefuseYaml(value, absl::StrCat("'", key, "' must be a text"));
  return value.Scalar();
}

absl::StatusOr<std::vector<YAML::Node>> YamlList(const YAML::Node& map, const char* key, size_t max_entries) {
  const YAML::Node list = map[key];
  if (!list.IsDefined() || list.IsNull()) return std::vector<YAML::Node>();
  if (!list.IsSequence()) return RefuseYaml(list, absl::StrCat("'", key, "' must be a list"));
  if (list.size() > max_entries) return RefuseYaml(list, absl::StrCat("more than ", max_entries, " in '", key, "'"));
  return std::vector<YAML::Node>(list.begin(), list.end());
}

absl::Status ReadYaml(absl::string_view text, size_t max_bytes,
                      const std::function<absl::Status(const YAML::Node& root)>& read) {
  if (text.size() > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("is longer than ", max_bytes, " bytes"));
  }
  try {
    return read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("line ", std::max(error.mark.line, 0) + 1, ": ", error.msg));
  }
}

}  // namespace lockstep
