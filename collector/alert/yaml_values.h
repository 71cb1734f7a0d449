// Values that several keys of the file of receivers and routes have (alert_routes_yaml.h).
//
// INVALID_ARGUMENT says in which line what is wrong, and what was expected. Pure; thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ALERT_YAML_VALUES_H_
#define LOCKSTEP_COLLECTOR_ALERT_YAML_VALUES_H_

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lockstep {

// Something that is seen, without a space.
bool IsOneWord(const std::string& text);

// Letters, digits, - and _ only, and any of them.
bool IsPlainName(const std::string& text);

// A time from 1s to 1h. Leaves `nanos` as it is where there is no such key.
absl::Status ReadYamlTime(const YAML::Node& node, const char* key, int64_t& nanos);

// True or false. Leaves `value` as it is where there is no such key.
absl::Status ReadYamlBool(const YAML::Node& node, const char* key, bool& value);

// One text or a list of at most 1,000 of them; none where the key is missing.
absl::StatusOr<std::vector<std::string>> YamlTexts(const YAML::Node& map, const char* key);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_YAML_VALUES_H_
