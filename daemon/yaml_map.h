// Reading a YAML document whose keys are known, with the line in every refusal. For files with lists of things; those
// of settings are read by daemon/settings_yaml.h.
//
// INVALID_ARGUMENT says "line N: " and what is wrong there. Pure.

#ifndef LOCKSTEP_DAEMON_YAML_MAP_H_
#define LOCKSTEP_DAEMON_YAML_MAP_H_

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// From 1.
int YamlLine(const YAML::Node& at);

absl::Status RefuseYaml(const YAML::Node& at, absl::string_view why);

// What is wrong with a value, at its line. REQUIRES: !status.ok().
inline absl::Status RefuseYaml(const YAML::Node& at, const absl::Status& status) {
  return RefuseYaml(at, status.message());
}

// OK for a map all of whose keys are among `known`, each once.
absl::Status CheckYamlMap(const YAML::Node& map, const std::vector<std::string>& known);

// Text of a key; "" where it is missing and need not be there.
absl::StatusOr<std::string> YamlText(const YAML::Node& map, const char* key, bool required = false);

// The entries of a list; none where it is missing.
absl::StatusOr<std::vector<YAML::Node>> YamlList(const YAML::Node& map, const char* key, size_t max_entries);

// Hands the document to `read`. yaml-cpp reports by exception: nothing of it leaves this function.
absl::Status ReadYaml(absl::string_view text, size_t max_bytes,
                      const std::function<absl::Status(const YAML::Node& root)>& read);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_YAML_MAP_H_
