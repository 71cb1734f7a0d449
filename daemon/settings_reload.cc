#include "daemon/settings_reload.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/log.h"

namespace lockstep {
namespace {

std::vector<std::string> NamesOf(const std::map<std::string, std::string>& texts) {
  std::vector<std::string> names;
  for (const auto& [name, text] : texts) names.push_back(name);
  return names;
}

}  // namespace

SettingsReload::SettingsReload(const Settings& started, Settings& again, std::vector<Applier> appliers)
    : in_force_(started.Values()),
      again_(again),
      arguments_(started.arguments()),
      environment_(started.environment()),
      appliers_(std::move(appliers)) {
  for (const Applier& applier : appliers_) {
    for (const std::string& name : applier.names) CHECK(in_force_.contains(name));
  }
}

ReloadOutcome SettingsReload::Reload() {
  ReloadOutcome outcome;
  outcome.problems = again_.Load(arguments_, environment_).problems;
  if (!outcome.ok()) {
    Log(LogLevel::kError, "settings stay as they are", {{"error", absl::StrJoin(outcome.problems, "; ")}});
    return outcome;
  }
  const Texts wanted = again_.Values();
  // Lines precede changes: a stricter log level would swallow them.
  for (const std::string& name : ChangedOf(NamesOf(wanted), wanted)) {
    if (IsLive(name)) {
      Log(LogLevel::kInfo, "applying a changed setting", {{"setting", name}});
    } else {
      outcome.need_restart.push_back(name);
      Log(LogLevel::kWarning, "a changed setting needs a restart", {{"setting", name}});
    }
  }
  for (const Applier& applier : appliers_) Apply(applier, wanted, &outcome);
  std::sort(outcome.applied.begin(), outcome.applied.end());
  Log(LogLevel::kInfo, "settings were read again",
      {{"applied", absl::StrCat(outcome.applied.size())},
       {"need_restart", absl::StrCat(outcome.need_restart.size())},
       {"failed", absl::StrCat(outcome.problems.size())}});
  return outcome;
}

bool SettingsReload::IsLive(const std::string& name) const {
  return std::any_of(appliers_.begin(), appliers_.end(), [&name](const Applier& applier) {
    return std::find(applier.names.begin(), applier.names.end(), name) != applier.names.end();
  });
}

std::vector<std::string> SettingsReload::ChangedOf(const std::vector<std::string>& names, const Texts& wanted) const {
  std::vector<std::string> changed;
  for (const std::string& name : names) {
    if (in_force_.at(name) != wanted.at(name)) changed.push_back(name);
  }
  return changed;
}

void SettingsReload::Apply(const Applier& applier, const Texts& wanted, ReloadOutcome* outcome) {
  const std::vector<std::string> changed = ChangedOf(applier.names, wanted);
  if (changed.empty() && !applier.reads_file) return;
  if (const absl::Status status = applier.apply(); !status.ok()) {
    const std::string names = absl::StrJoin(changed.empty() ? applier.names : changed, ",");
    outcome->problems.push_back(absl::StrCat(names, ": ", status.message()));
    Log(LogLevel::kError, "a changed setting was not applied",
        {{"setting", names}, {"error", std::string(status.message())}});
    return;
  }
  for (const std::string& name : changed) {
    in_force_[name] = wanted.at(name);
    outcome->applied.push_back(name);
  }
}

}  // namespace lockstep
