// A setting's value: where it lives in an options struct, how it is written as text and read from it.
//
// Targets are borrowed and written in place. Errors say what was expected and what was found. Thread-compatible: the
// caller owns what is written to.

#ifndef LOCKSTEP_DAEMON_SETTING_VALUE_H_
#define LOCKSTEP_DAEMON_SETTING_VALUE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace lockstep {

// Where a value goes; the alternative is the setting's type.
using SettingTarget = std::variant<std::string*, int64_t*, double*, bool*, absl::Duration*, std::vector<std::string>*>;

// Reads `text` into `target`. A list is written with commas; spaces around its items are cut. On error (invalid
// argument) the target is unchanged.
absl::Status AssignSetting(absl::string_view text, const SettingTarget& target);

// The present value as AssignSetting would read it.
std::string SettingText(const SettingTarget& target);

// "string", "integer", "number", "true or false", "duration such as 10s", "list".
absl::string_view SettingTypeName(const SettingTarget& target);

inline bool IsListSetting(const SettingTarget& target) {
  return std::holds_alternative<std::vector<std::string>*>(target);
}

inline bool IsBoolSetting(const SettingTarget& target) { return std::holds_alternative<bool*>(target); }

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_SETTING_VALUE_H_
