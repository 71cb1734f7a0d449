#include "daemon/setting_value.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace lockstep {
namespace {

bool Parse(absl::string_view text, std::string* value) {
  value->assign(text.data(), text.size());
  return true;
}

bool Parse(absl::string_view text, int64_t* value) { return absl::SimpleAtoi(text, value); }

bool Parse(absl::string_view text, double* value) { return absl::SimpleAtod(text, value) && std::isfinite(*value); }

bool Parse(absl::string_view text, bool* value) { return absl::SimpleAtob(text, value); }

bool Parse(absl::string_view text, absl::Duration* value) { return absl::ParseDuration(text, value); }

bool Parse(absl::string_view text, std::vector<std::string>* value) {
  value->clear();
  for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    value->emplace_back(absl::StripAsciiWhitespace(item));
  }
  return true;
}

std::string Text(const std::string& value) { return value; }
std::string Text(int64_t value) { return absl::StrCat(value); }
std::string Text(double value) { return absl::StrCat(value); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(absl::Duration value) { return absl::FormatDuration(value); }
std::string Text(const std::vector<std::string>& value) { return absl::StrJoin(value, ","); }

// By index of the alternative in SettingTarget.
constexpr absl::string_view kTypeNames[] = {"string", "integer", "number", "true or false", "duration such as 10s",
                                            "list"};
static_assert(std::size(kTypeNames) == std::variant_size_v<SettingTarget>);

}  // namespace

absl::Status AssignSetting(absl::string_view text, const SettingTarget& target) {
  return std::visit(
      [&](auto* value) -> absl::Status {
        std::remove_pointer_t<decltype(value)> parsed{};
        if (!Parse(text, &parsed)) {
          return absl::InvalidArgumentError(absl::StrCat("expected ", SettingTypeName(target), ", found '", text, "'"));
        }
        *value = std::move(parsed);
        return absl::OkStatus();
      },
      target);
}

std::string SettingText(const SettingTarget& target) {
  return std::visit([](const auto* value) { return Text(*value); }, target);
}

absl::string_view SettingTypeName(const SettingTarget& target) { return kTypeNames[target.index()]; }

}  // namespace lockstep
