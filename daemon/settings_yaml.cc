#include "daemon/settings_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "daemon/nearest_name.h"

namespace lockstep {
namespace {

// Walks the document along known keys and collects values and problems.
class Flattener {
 public:
  Flattener(const std::vector<std::string>& known_keys, YamlSettings* result)
      : known_keys_(known_keys), result_(*result) {}

  // `prefix` is empty or ends in a dot.
  void Map(const YAML::Node& map, const std::string& prefix) {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) {
        Problem(entry.first, "a key must be a plain word");
        continue;
      }
      const std::string& name = entry.first.Scalar();
      if (!seen.insert(name).second) {
        Problem(entry.first, absl::StrCat("key '", prefix, name, "' appears twice"));
        continue;
      }
      Entry(entry.first, entry.second, prefix, name);
    }
  }

 private:
  void Entry(const YAML::Node& key, const YAML::Node& value, const std::string& prefix, const std::string& name) {
    const std::vector<std::string> siblings = NamesBelow(prefix);
    if (std::find(siblings.begin(), siblings.end(), name) == siblings.end()) {
      Problem(key, absl::StrCat("unknown key '", prefix, name, "'", DidYouMean(name, siblings)));
      return;
    }
    const std::string path = prefix + name;
    if (std::find(known_keys_.begin(), known_keys_.end(), path) != known_keys_.end()) {
      Value(key, value, path);
    } else if (value.IsMap()) {
      Map(value, path + ".");
    } else if (!value.IsNull()) {
      Problem(key, absl::StrCat("'", path, "' is a group of settings, found a value"));
    }
  }

  void Value(const YAML::Node& key, const YAML::Node& value, const std::string& path) {
    YamlSetting setting{path, "", value.IsSequence(), key.Mark().line + 1};
    if (value.IsScalar()) {
      setting.text = value.Scalar();
    } else if (value.IsSequence()) {
      std::vector<std::string> items;
      for (const auto& item : value) {
        if (!item.IsScalar()) return Problem(key, absl::StrCat("'", path, "': expected a list of plain values"));
        items.push_back(item.Scalar());
      }
      setting.text = absl::StrJoin(items, ",");
    } else {
      return Problem(key, absl::StrCat("'", path, "': expected a value, found ",
                                       value.IsMap() ? "a group of settings" : "nothing"));
    }
    result_.settings.push_back(std::move(setting));
  }

  // The next words of all known keys that begin with `prefix`.
  std::vector<std::string> NamesBelow(const std::string& prefix) const {
    std::vector<std::string> names;
    for (const std::string& key : known_keys_) {
      if (!absl::StartsWith(key, prefix)) continue;
      const std::vector<absl::string_view> words = absl::StrSplit(absl::string_view(key).substr(prefix.size()), '.');
      if (std::find(names.begin(), names.end(), words[0]) == names.end()) names.emplace_back(words[0]);
    }
    return names;
  }

  void Problem(const YAML::Node& at, std::string text) {
    result_.problems.push_back({at.Mark().line + 1, std::move(text)});
  }

  const std::vector<std::string>& known_keys_;
  YamlSettings& result_;
};

}  // namespace

YamlSettings ReadYamlSettings(absl::string_view text, const std::vector<std::string>& known_keys) {
  YamlSettings result;
  if (text.size() > kMaxConfigBytes) {
    result.problems.push_back({0, absl::StrCat("larger than ", kMaxConfigBytes, " bytes")});
    return result;
  }
  // yaml-cpp reports by exception; nothing of it leaves this function.
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (root.IsMap()) {
      Flattener(known_keys, &result).Map(root, "");
    } else if (root.IsDefined() && !root.IsNull()) {
      result.problems.push_back({root.Mark().line + 1, "expected settings as 'key: value'"});
    }
  } catch (const YAML::Exception& error) {
    result.problems.push_back({error.mark.line + 1, error.msg});
  }
  return result;
}

}  // namespace lockstep
