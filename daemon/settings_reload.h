// Settings that a running daemon takes on: what SIGHUP asks for.
//
// Flags, environment and file are read again into options of their own and compared, setting by setting, with what is
// in force. A changed setting that an applier names is applied; of any other the log says that it needs a restart, at
// every reload until it has one. What is wrong anywhere keeps everything as it is: nothing is taken on of a file that
// does not load whole.
//
//   Settings again = ...;  // bound to `renewed`, as `settings` are to the options in force
//   SettingsReload reload(settings, again,
//                         {{{"log_level"}, [&renewed] { return SetLogThreshold(renewed.log_level); }}});
//   if (signals.TakeHangup()) metrics.CountReload(reload.Reload().ok());

#ifndef LOCKSTEP_DAEMON_SETTINGS_RELOAD_H_
#define LOCKSTEP_DAEMON_SETTINGS_RELOAD_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/settings.h"

namespace lockstep {

// What a reload came to: names of settings in the order of the alphabet, and what was wrong and where.
struct ReloadOutcome {
  std::vector<std::string> applied;
  std::vector<std::string> need_restart;
  std::vector<std::string> problems;

  bool ok() const { return problems.empty(); }
};

// Not thread-safe. Borrows `again`.
class SettingsReload {
 public:
  // Settings that are applied together. `apply` reads the options that `again` fills; it is called once when any of
  // `names` has changed. An error leaves them at what was in force, and is tried again at the next reload.
  struct Applier {
    std::vector<std::string> names;
    std::function<absl::Status()> apply;
    bool reads_file = false;  // which may have changed although its name has not: called at every reload
  };

  // `started`: what the daemon was started with, as loaded. `again` has the same settings, none of them bound to what
  // the daemon runs with. REQUIRES: appliers name settings that there are.
  SettingsReload(const Settings& started, Settings& again, std::vector<Applier> appliers);

  // Reads everything again and applies what can be. Logs one line per changed setting, then one that says how the
  // whole went; the names of settings are told, their values (which may be secret) are not.
  ReloadOutcome Reload();

 private:
  using Texts = std::map<std::string, std::string>;  // values by the names of settings

  bool IsLive(const std::string& name) const;
  std::vector<std::string> ChangedOf(const std::vector<std::string>& names, const Texts& wanted) const;
  void Apply(const Applier& applier, const Texts& wanted, ReloadOutcome* outcome);

  Texts in_force_;
  Settings& again_;
  const std::vector<std::string> arguments_;
  const Settings::EnvironmentLookup environment_;
  const std::vector<Applier> appliers_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_SETTINGS_RELOAD_H_
