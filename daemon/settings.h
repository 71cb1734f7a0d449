// Declarative settings of a daemon: each is named once and bound to a field of a plain options struct.
//
//   Settings settings("lockstep-agent", "LOCKSTEP_AGENT_");
//   settings.Add("collector.address", &options.collector_address, "host:port of the collector");
//   if (std::optional<int> code = settings.LoadOrExplain(argc, argv)) return *code;
//
// `collector.address` is then, by rising precedence: the field's value before loading (the default), the YAML file
// (collector: {address: ...}), the environment (LOCKSTEP_AGENT_COLLECTOR_ADDRESS) and the flag (--collector-address).
// The file is that of --config, else /etc/lockstep/agent.yaml if it exists. Whatever is wrong is an error that names
// file and line, variable or flag; all errors are reported together. Environment variables that match no setting are
// ignored, because orchestrators add their own (Kubernetes: <SERVICE>_PORT).
//
// Not thread-safe. Bound fields must outlive the Settings.

#ifndef LOCKSTEP_DAEMON_SETTINGS_H_
#define LOCKSTEP_DAEMON_SETTINGS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "daemon/setting_value.h"

namespace lockstep {

// What loading came to: go on (exit_code absent), or print `text` and leave.
struct SettingsOutcome {
  std::optional<int> exit_code;
  std::string text;
  std::vector<std::string> problems;  // what is wrong and where, one by one: what `text` says of them
  std::vector<std::string> notes;     // what was left out of a file, and where
};

// Not thread-safe.
class Settings {
 public:
  // Returns why the value that is now bound is not acceptable.
  using Validator = std::function<absl::Status()>;
  // The value of an environment variable, or nullptr.
  using EnvironmentLookup = std::function<const char*(const char* name)>;

  // `program` is printed by --help and names the default file: "lockstep-agent" reads /etc/lockstep/agent.yaml.
  Settings(std::string program, std::string environment_prefix);

  // Binds `target`. REQUIRES: `name` is dotted lower case, new, and not a part of another name.
  void Add(std::string name, SettingTarget target, std::string help, Validator validator = nullptr);

  // A name that an earlier release had. In a file it is left out and noted, so that an upgrade does not stop at it.
  // REQUIRES: as of Add.
  void Retire(std::string name);

  // Binds a flag without a value, for the command line alone: what is done once does not belong into a file.
  void AddSwitch(std::string flag, bool* target, std::string help);

  // Replaces where the default file is looked for; for tests.
  void set_default_config_path(std::string path) { default_config_path_ = std::move(path); }

  // Fills all targets, from their defaults on: may be called again. `arguments` are those after the program's name.
  // After problems some targets are filled and some are not.
  SettingsOutcome Load(const std::vector<std::string>& arguments, const EnvironmentLookup& environment);

  // Load with main's arguments and the process's environment; prints what there is to print (errors, notes on stderr)
  // and returns the exit code, or nothing when the program shall run.
  std::optional<int> LoadOrExplain(int argc, const char* const* argv);

  // The present value of every setting as text, by name.
  std::map<std::string, std::string> Values() const;

  // What the last Load was given.
  const std::vector<std::string>& arguments() const { return arguments_; }
  const EnvironmentLookup& environment() const { return environment_; }

  // The text of --help, with the present values as defaults.
  std::string Help() const;

 private:
  struct Setting {
    std::string name;
    SettingTarget target;
    std::string help;
    Validator validator;
    std::string default_text;
    std::string origin;  // what set it last, for messages of the validator; empty = the default
  };
  struct Switch {
    std::string flag;
    bool* target;
    std::string help;
  };
  // What the command line asks for, values not yet assigned.
  struct CommandLine {
    std::map<std::string, std::string> values;  // flag name without dashes -> text
    bool help = false;
    bool version = false;
    bool check_config = false;
    std::optional<std::string> config_path;
  };

  absl::Status ParseFlag(const std::vector<std::string>& arguments, size_t* next, CommandLine* line);
  void LoadFile(const CommandLine& line, std::vector<std::string>* errors, std::vector<std::string>* notes);
  void LoadEnvironment(const EnvironmentLookup& environment, std::vector<std::string>* errors);
  void LoadFlags(const CommandLine& line, std::vector<std::string>* errors);
  void Validate(std::vector<std::string>* errors);
  void Assign(Setting* setting, const std::string& text, std::string origin, std::vector<std::string>* errors);

  Setting* Find(absl::string_view name);
  Setting* FindFlag(absl::string_view flag);
  std::vector<std::string> FlagNames() const;
  std::string EnvironmentName(const Setting& setting) const;
  static std::string FlagName(const Setting& setting);

  const std::string program_;
  const std::string environment_prefix_;
  std::string default_config_path_;
  std::vector<Setting> settings_;  // in the order of Add
  std::vector<std::string> retired_;
  std::vector<Switch> switches_;
  std::vector<std::string> arguments_;
  EnvironmentLookup environment_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_SETTINGS_H_
