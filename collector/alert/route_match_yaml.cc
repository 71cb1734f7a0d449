#include "collector/alert/route_match_yaml.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collector/access/wildcard.h"
#include "collector/alert/incident_text.h"
#include "collector/alert/yaml_values.h"
#include "daemon/nearest_name.h"
#include "daemon/yaml_map.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr char kGap[] = "*";

template <typename Enum>
std::vector<std::string> NamesUpTo(Enum last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.push_back(Name(static_cast<Enum>(i)));
  return names;
}

absl::StatusOr<std::vector<std::string>> KnownTexts(const YAML::Node& map, const char* key,
                                                    const std::vector<std::string>& known) {
  ASSIGN_OR_RETURN(std::vector<std::string> texts, YamlTexts(map, key));
  for (const std::string& text : texts) {
    if (std::find(known.begin(), known.end(), text) != known.end()) continue;
    return RefuseYaml(map[key], absl::StrCat(key, " '", text, "' is not known", DidYouMean(text, known)));
  }
  return texts;
}

absl::StatusOr<std::vector<Wildcard>> Patterns(const YAML::Node& map, const char* key) {
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, YamlTexts(map, key));
  std::vector<Wildcard> patterns;
  for (const std::string& text : texts) {
    absl::StatusOr<Wildcard> pattern = Wildcard::Parse(text, kGap);
    if (!pattern.ok()) return RefuseYaml(map[key], pattern.status());
    patterns.push_back(*std::move(pattern));
  }
  return patterns;
}

}  // namespace

absl::Status ReadMatch(const YAML::Node& match, const Tenants& tenants, AlertRoute& route) {
  RETURN_IF_ERROR(CheckYamlMap(match, {"severity", "scope", "class", "job", "tenant", "host"}));
  ASSIGN_OR_RETURN(route.severities, KnownTexts(match, "severity", {kCritical, kWarning}));
  ASSIGN_OR_RETURN(route.scopes, KnownTexts(match, "scope", NamesUpTo(VerdictScope::kJob)));
  std::vector<std::string> classes = NamesUpTo(VerdictClass::kCounterOutlier);
  classes.emplace_back(kSlowUnexplained);
  ASSIGN_OR_RETURN(route.classes, KnownTexts(match, "class", classes));
  ASSIGN_OR_RETURN(route.jobs, Patterns(match, "job"));
  ASSIGN_OR_RETURN(route.hosts, Patterns(match, "host"));
  std::vector<std::string> known;
  for (const auto& [name, jobs] : tenants) known.push_back(name);
  ASSIGN_OR_RETURN(const std::vector<std::string> named, KnownTexts(match, "tenant", known));
  for (const std::string& tenant : named) {
    const std::vector<Wildcard>& jobs = tenants.at(tenant);
    if (jobs.empty()) return RefuseYaml(match["tenant"], absl::StrCat("tenant '", tenant, "' has no jobs"));
    route.tenant_jobs.insert(route.tenant_jobs.end(), jobs.begin(), jobs.end());
  }
  return absl::OkStatus();
}

}  // namespace lockstep
