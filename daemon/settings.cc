#include "daemon/settings.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "daemon/exit_codes.h"
#include "daemon/nearest_name.h"
#include "daemon/settings_yaml.h"
#include "daemon/version.h"

namespace lockstep {
namespace {

// Flags that belong to every program.
constexpr char kHelpFlag[] = "help";
constexpr char kVersionFlag[] = "version";
constexpr char kCheckConfigFlag[] = "check-config";
constexpr char kConfigFlag[] = "config";

absl::Status ReadWholeFile(const std::string& path, std::string* text) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream buffer;
  if (!file || !(buffer << file.rdbuf())) {
    // An empty file inserts nothing, which sets failbit on `buffer` only.
    if (file.is_open() && errno == 0) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(path, ": cannot be read: ", std::strerror(errno ? errno : EIO)));
  }
  *text = buffer.str();
  return absl::OkStatus();
}

std::string Lines(const std::string& program, const std::vector<std::string>& errors) {
  return absl::StrJoin(errors, "", [&](std::string* out, const std::string& error) {
    absl::StrAppend(out, program, ": ", error, "\n");
  });
}

}  // namespace

Settings::Settings(std::string program, std::string environment_prefix)
    : program_(std::move(program)),
      environment_prefix_(std::move(environment_prefix)),
      default_config_path_(absl::StrCat("/etc/lockstep/", absl::StripPrefix(program_, "lockstep-"), ".yaml")) {}

void Settings::Add(std::string name, SettingTarget target, std::string help, Validator validator) {
  for (const Setting& other : settings_) {
    CHECK(other.name != name && !absl::StartsWith(other.name, name + ".") && !absl::StartsWith(name, other.name + "."));
  }
  std::string default_text = SettingText(target);
  settings_.push_back({std::move(name), target, std::move(help), std::move(validator), std::move(default_text), ""});
}

void Settings::Retire(std::string name) {
  CHECK(Find(name) == nullptr);
  retired_.push_back(std::move(name));
}

void Settings::AddSwitch(std::string flag, bool* target, std::string help) {
  switches_.push_back({std::move(flag), target, std::move(help)});
}

SettingsOutcome Settings::Load(const std::vector<std::string>& arguments, const EnvironmentLookup& environment) {
  arguments_ = arguments;
  environment_ = environment;
  CommandLine line;
  for (size_t next = 0; next < arguments.size();) {
    const absl::Status status = ParseFlag(arguments, &next, &line);
    if (!status.ok()) {
      return {kExitUsage,
              absl::StrCat(program_, ": ", status.message(), " (--help lists all flags)\n"),
              {std::string(status.message())}};
    }
  }
  if (line.help) return {kExitOk, Help(), {}};
  if (line.version) return {kExitOk, absl::StrCat(program_, " ", kVersion, "\n"), {}};

  std::vector<std::string> errors;
  LoadFlags(line, &errors);  // first alone, so that a wrong flag is a usage error whatever the file says
  if (!errors.empty()) return {kExitUsage, Lines(program_, errors), errors};
  for (Setting& setting : settings_) {
    CHECK(AssignSetting(setting.default_text, setting.target).ok());
    setting.origin.clear();
  }
  std::vector<std::string> notes;
  LoadFile(line, &errors, &notes);
  LoadEnvironment(environment, &errors);
  LoadFlags(line, &errors);
  if (errors.empty()) Validate(&errors);
  if (!errors.empty()) return {kExitBadConfig, Lines(program_, errors), errors, notes};
  if (line.check_config) return {kExitOk, "OK\n", {}, notes};
  return {std::nullopt, "", {}, notes};
}

std::optional<int> Settings::LoadOrExplain(int argc, const char* const* argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const SettingsOutcome outcome = Load(arguments, [](const char* name) { return std::getenv(name); });
  std::fputs(Lines(program_, outcome.notes).c_str(), stderr);
  if (!outcome.text.empty())
    std::fputs(outcome.text.c_str(), outcome.exit_code.value_or(0) == kExitOk ? stdout : stderr);
  return outcome.exit_code;
}

absl::Status Settings::ParseFlag(const std::vector<std::string>& arguments, size_t* next, CommandLine* line) {
  absl::string_view word = arguments[(*next)++];
  if (!absl::ConsumePrefix(&word, "--")) {
    if (word != "-h") return absl::InvalidArgumentError(absl::StrCat("unexpected argument '", word, "'"));
    word = kHelpFlag;
  }
  const size_t equals = word.find('=');
  const std::string name(word.substr(0, equals));
  std::optional<std::string> value;
  if (equals != absl::string_view::npos) value = std::string(word.substr(equals + 1));

  std::vector<std::pair<absl::string_view, bool*>> switches = {
      {kHelpFlag, &line->help}, {kVersionFlag, &line->version}, {kCheckConfigFlag, &line->check_config}};
  for (const Switch& other : switches_) switches.emplace_back(other.flag, other.target);
  for (const auto& [switch_name, target] : switches) {
    if (name != switch_name) continue;
    if (value) return absl::InvalidArgumentError(absl::StrCat("--", name, " takes no value"));
    *target = true;
    return absl::OkStatus();
  }
  const Setting* setting = FindFlag(name);
  if (setting == nullptr && name != kConfigFlag) {
    return absl::InvalidArgumentError(absl::StrCat("unknown flag '--", name, "'", DidYouMean(name, FlagNames())));
  }
  if (!value && setting != nullptr && IsBoolSetting(setting->target)) value = "true";
  if (!value) {
    if (*next == arguments.size()) return absl::InvalidArgumentError(absl::StrCat("--", name, " needs a value"));
    value = arguments[(*next)++];
  }
  if (setting == nullptr) {
    line->config_path = *value;
  } else {
    line->values[name] = *value;
  }
  return absl::OkStatus();
}

void Settings::LoadFile(const CommandLine& line, std::vector<std::string>* errors, std::vector<std::string>* notes) {
  const std::string path = line.config_path.value_or(default_config_path_);
  // Only the default file may be missing.
  if (!line.config_path && !std::ifstream(path)) return;
  std::string text;
  const absl::Status read = ReadWholeFile(path, &text);
  if (!read.ok()) {
    errors->emplace_back(read.message());
    return;
  }
  std::vector<std::string> keys = retired_;
  for (const Setting& setting : settings_) keys.push_back(setting.name);
  const YamlSettings yaml = ReadYamlSettings(text, keys);
  for (const YamlProblem& problem : yaml.problems) {
    errors->push_back(problem.line > 0 ? absl::StrCat(path, ":", problem.line, ": ", problem.text)
                                       : absl::StrCat(path, ": ", problem.text));
  }
  for (const YamlSetting& value : yaml.settings) {
    Setting* setting = Find(value.key);
    const std::string origin = absl::StrCat(path, ":", value.line, ": ", value.key);
    if (setting == nullptr) {
      notes->push_back(absl::StrCat(origin, " means nothing any more and is left out"));
      continue;
    }
    if (value.is_list && !IsListSetting(setting->target)) {
      errors->push_back(absl::StrCat(origin, ": expected ", SettingTypeName(setting->target), ", found a list"));
    } else {
      Assign(setting, value.text, origin, errors);
    }
  }
}

void Settings::LoadEnvironment(const EnvironmentLookup& environment, std::vector<std::string>* errors) {
  for (Setting& setting : settings_) {
    const std::string name = EnvironmentName(setting);
    const char* value = environment(name.c_str());
    if (value != nullptr) Assign(&setting, value, absl::StrCat("environment variable ", name), errors);
  }
}

void Settings::LoadFlags(const CommandLine& line, std::vector<std::string>* errors) {
  for (const auto& [name, value] : line.values) {
    Assign(FindFlag(name), value, absl::StrCat("--", name), errors);
  }
}

void Settings::Validate(std::vector<std::string>* errors) {
  for (const Setting& setting : settings_) {
    if (!setting.validator) continue;
    const absl::Status status = setting.validator();
    if (status.ok()) continue;
    errors->push_back(absl::StrCat(setting.origin.empty() ? setting.name : setting.origin, ": ", status.message()));
  }
}

void Settings::Assign(Setting* setting, const std::string& text, std::string origin, std::vector<std::string>* errors) {
  const absl::Status status = AssignSetting(text, setting->target);
  if (!status.ok()) errors->push_back(absl::StrCat(origin, ": ", status.message()));
  setting->origin = std::move(origin);
}

std::map<std::string, std::string> Settings::Values() const {
  std::map<std::string, std::string> values;
  for (const Setting& setting : settings_) values[setting.name] = SettingText(setting.target);
  return values;
}

std::string Settings::Help() const {
  std::string text = absl::StrCat(program_, " ", kVersion, "\n\nUsage: ", program_, " [FLAGS]\n\n");
  const auto add = [&text](const std::string& flag, const std::string& help) {
    absl::StrAppendFormat(&text, "  %-34s %s\n", flag, help);
  };
  add("--config=PATH", absl::StrCat("YAML file (default ", default_config_path_, " if it exists)"));
  add("--check-config", "read and check the configuration, print OK or what is wrong, and leave");
  add("--help", "this text");
  add("--version", "print the version");
  for (const Switch& other : switches_) add(absl::StrCat("--", other.flag), other.help);
  for (const Setting& setting : settings_) {
    add(absl::StrCat("--", FlagName(setting), "=..."),
        absl::StrCat(setting.help, " (", SettingTypeName(setting.target), "; default '", setting.default_text, "')"));
  }
  absl::StrAppend(&text, "\nA flag --a-b is a.b in the YAML file (a: {b: ...}) and ", environment_prefix_,
                  "A_B in the environment;\nflags override the environment, which overrides the file.\n");
  return text;
}

Settings::Setting* Settings::Find(absl::string_view name) {
  const auto found = std::find_if(settings_.begin(), settings_.end(), [&](const Setting& s) { return s.name == name; });
  return found == settings_.end() ? nullptr : &*found;
}

Settings::Setting* Settings::FindFlag(absl::string_view flag) {
  const auto found =
      std::find_if(settings_.begin(), settings_.end(), [&](const Setting& s) { return FlagName(s) == flag; });
  return found == settings_.end() ? nullptr : &*found;
}

std::vector<std::string> Settings::FlagNames() const {
  std::vector<std::string> names = {kHelpFlag, kVersionFlag, kCheckConfigFlag, kConfigFlag};
  for (const Switch& other : switches_) names.push_back(other.flag);
  for (const Setting& setting : settings_) names.push_back(FlagName(setting));
  return names;
}

std::string Settings::EnvironmentName(const Setting& setting) const {
  return environment_prefix_ + absl::AsciiStrToUpper(absl::StrReplaceAll(setting.name, {{".", "_"}, {"-", "_"}}));
}

std::string Settings::FlagName(const Setting& setting) {
  return absl::StrReplaceAll(setting.name, {{".", "-"}, {"_", "-"}});
}

}  // namespace lockstep
