// A YAML configuration file as a flat list of dotted keys with line numbers: `collector: {address: x}` becomes
// collector.address = x. The only file that knows the YAML library.
//
// Pure. Limits: kMaxConfigBytes of text; nesting is followed only along keys that the caller knows.

#ifndef LOCKSTEP_DAEMON_SETTINGS_YAML_H_
#define LOCKSTEP_DAEMON_SETTINGS_YAML_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

inline constexpr size_t kMaxConfigBytes = 1 << 20;

// One value of the file, as text; a list is joined with commas.
struct YamlSetting {
  std::string key;  // dotted
  std::string text;
  bool is_list = false;
  int line = 0;  // from 1
};

// One thing that is wrong with the file.
struct YamlProblem {
  int line = 0;  // from 1; 0 = the whole file
  std::string text;
};

struct YamlSettings {
  std::vector<YamlSetting> settings;
  std::vector<YamlProblem> problems;
};

// Reads `text`. `known_keys` are the dotted keys that may appear; every other one becomes a problem that proposes the
// nearest known one.
YamlSettings ReadYamlSettings(absl::string_view text, const std::vector<std::string>& known_keys);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_SETTINGS_YAML_H_
