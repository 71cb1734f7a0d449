#include "collector/alert/alert_routes_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collector/access/access_rules.h"
#include "collector/alert/receiver_spec.h"
#include "collector/alert/receiver_yaml.h"
#include "collector/alert/route_match_yaml.h"
#include "collector/alert/yaml_values.h"
#include "daemon/bounded_file.h"
#include "daemon/child_process.h"
#include "daemon/nearest_name.h"
#include "daemon/yaml_map.h"

namespace lockstep {
namespace {

constexpr int kMostRunsPerHour = 100;  // of the hook
constexpr size_t kMaxVariables = 32;   // of its environment

class RoutesReader {
 public:
  RoutesReader(const Tenants& tenants, const SecretReader& read_file) : tenants_(tenants), read_file_(read_file) {}

  absl::StatusOr<AlertRoutes> Read(const YAML::Node& root) {
    RETURN_IF_ERROR(
        CheckYamlMap(root, {"fleet", "external_url", "runbook_url", "stacks_url", "receivers", "routes", "hook"}));
    RETURN_IF_ERROR(ReadLinks(root));
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> receivers, YamlList(root, "receivers", kMaxReceivers));
    for (const YAML::Node& node : receivers) {
      ASSIGN_OR_RETURN(ReceiverSpec receiver, ReadReceiver(node, routes_.receivers, read_file_));
      routes_.receivers.push_back(std::move(receiver));
    }
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> routes, YamlList(root, "routes", kMaxRoutes));
    for (const YAML::Node& route : routes) RETURN_IF_ERROR(ReadRoute(route));
    for (size_t i = 0; i < receivers.size(); ++i) {
      const std::string& name = routes_.receivers[i].name;
      if (!IsRouted(name)) return RefuseYaml(receivers[i], absl::StrCat("no route names receiver '", name, "'"));
    }
    if (root["hook"].IsDefined()) RETURN_IF_ERROR(ReadHook(root["hook"]));
    return std::move(routes_);
  }

 private:
  absl::Status ReadLinks(const YAML::Node& root) {
    AlertLinks& links = routes_.links;
    ASSIGN_OR_RETURN(const std::string fleet, YamlText(root, "fleet"));
    if (!fleet.empty()) links.fleet = fleet;
    if (!IsOneWord(links.fleet) || links.fleet.size() > 100) {
      return RefuseYaml(root["fleet"], "'fleet' must be one word of at most 100 letters");
    }
    ASSIGN_OR_RETURN(links.external_url, YamlText(root, "external_url"));
    ASSIGN_OR_RETURN(links.runbook_url, YamlText(root, "runbook_url"));
    ASSIGN_OR_RETURN(links.stacks_url, YamlText(root, "stacks_url"));
    return absl::OkStatus();
  }

  absl::Status ReadHook(const YAML::Node& node) {
    RETURN_IF_ERROR(CheckYamlMap(
        node, {"command", "run", "match", "environment", "timeout", "every", "max_per_hour", "max_share"}));
    HookSpec& hook = routes_.hook;
    ASSIGN_OR_RETURN(hook.command, YamlText(node, "command", /*required=*/true));
    if (!absl::StartsWith(hook.command, "/")) return RefuseYaml(node["command"], "'command' must be an absolute path");
    RETURN_IF_ERROR(ReadYamlBool(node, "run", hook.run));
    RETURN_IF_ERROR(ReadYamlTime(node, "timeout", hook.timeout_ns));
    RETURN_IF_ERROR(ReadYamlTime(node, "every", hook.every_ns));
    ASSIGN_OR_RETURN(const std::string per_hour, YamlText(node, "max_per_hour"));
    if (!per_hour.empty() && (!absl::SimpleAtoi(per_hour, &hook.max_per_hour) || hook.max_per_hour < 1 ||
                              hook.max_per_hour > kMostRunsPerHour)) {
      return RefuseYaml(node["max_per_hour"], absl::StrCat("'max_per_hour' must be from 1 to ", kMostRunsPerHour));
    }
    ASSIGN_OR_RETURN(const std::string share, YamlText(node, "max_share"));
    if (!share.empty() && (!absl::SimpleAtod(share, &hook.max_share) || !(hook.max_share > 0 && hook.max_share <= 1))) {
      return RefuseYaml(node["max_share"], "'max_share' must be above 0, and at most 1");
    }
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> matches, YamlList(node, "match", kMaxRoutes));
    if (matches.empty()) return RefuseYaml(node, "'match' must list what it is run for, as routes have it");
    for (const YAML::Node& match : matches) {
      AlertRoute route;
      route.line = YamlLine(match);
      RETURN_IF_ERROR(ReadMatch(match, tenants_, route));
      hook.matches.push_back(std::move(route));
    }
    return ReadEnvironment(node["environment"], hook);
  }

  static absl::Status ReadEnvironment(const YAML::Node& node, HookSpec& hook) {
    if (!node.IsDefined()) return absl::OkStatus();
    if (!node.IsMap() || node.size() > kMaxVariables) {
      return RefuseYaml(node,
                        absl::StrCat("'environment' must be a map of at most ", kMaxVariables, " names to texts"));
    }
    for (const auto& entry : node) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (!IsPlainName(name) || absl::StrContains(name, "-") || !entry.second.IsScalar()) {
        return RefuseYaml(entry.first, "a variable is a name of letters, digits and _, and a text");
      }
      hook.environment.push_back(absl::StrCat(name, "=", entry.second.Scalar()));
    }
    return absl::OkStatus();
  }

  absl::Status ReadRoute(const YAML::Node& node) {
    RETURN_IF_ERROR(CheckYamlMap(node, {"match", "receivers", "continue"}));
    AlertRoute route;
    route.line = YamlLine(node);
    if (node["match"].IsDefined()) RETURN_IF_ERROR(ReadMatch(node["match"], tenants_, route));
    ASSIGN_OR_RETURN(route.receivers, YamlTexts(node, "receivers"));
    for (const std::string& name : route.receivers) {
      if (Find(name) != nullptr) continue;
      std::vector<std::string> known;
      for (const ReceiverSpec& receiver : routes_.receivers) known.push_back(receiver.name);
      return RefuseYaml(node["receivers"],
                        absl::StrCat("receiver '", name, "' is not among 'receivers'", DidYouMean(name, known)));
    }
    if (route.receivers.empty() && !node["receivers"].IsDefined()) return RefuseYaml(node, "'receivers' is missing");
    RETURN_IF_ERROR(ReadYamlBool(node, "continue", route.goes_on));
    routes_.routes.push_back(std::move(route));
    return absl::OkStatus();
  }

  const ReceiverSpec* Find(const std::string& name) const {
    const auto found = std::find_if(routes_.receivers.begin(), routes_.receivers.end(),
                                    [&name](const ReceiverSpec& receiver) { return receiver.name == name; });
    return found == routes_.receivers.end() ? nullptr : &*found;
  }

  bool IsRouted(const std::string& name) const {
    return std::any_of(routes_.routes.begin(), routes_.routes.end(), [&name](const AlertRoute& route) {
      return std::find(route.receivers.begin(), route.receivers.end(), name) != route.receivers.end();
    });
  }

  const Tenants& tenants_;
  const SecretReader& read_file_;
  AlertRoutes routes_;
};

// In place of any secret, also of a URL.
absl::StatusOr<std::string> LeaveOut(const std::string&) { return std::string("https://left.out"); }

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
}

}  // namespace

absl::StatusOr<AlertRoutes> ParseAlertRoutes(absl::string_view text, const Tenants& tenants,
                                             const SecretReader& read_file) {
  AlertRoutes routes;
  RETURN_IF_ERROR(ReadYaml(text, kMaxAlertRoutesBytes, [&](const YAML::Node& root) -> absl::Status {
    ASSIGN_OR_RETURN(routes, RoutesReader(tenants, read_file).Read(root));
    return absl::OkStatus();
  }));
  return routes;
}

absl::StatusOr<AlertRoutes> LoadAlertRoutes(const std::string& path, const std::string& access_rules,
                                            bool with_secrets) {
  Tenants tenants;
  if (!access_rules.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadBoundedFile(access_rules));
    absl::StatusOr<AccessRules> rules = ParseAccessRules(text);
    if (!rules.ok()) return InFile(access_rules, rules.status());
    tenants = std::move(rules->tenants);
  }
  ASSIGN_OR_RETURN(const std::string text, ReadBoundedFile(path));
  absl::StatusOr<AlertRoutes> routes = ParseAlertRoutes(text, tenants, with_secrets ? ReadBoundedFile : LeaveOut);
  if (!routes.ok()) return InFile(path, routes.status());
  if (with_secrets && !routes->hook.command.empty()) {
    if (const absl::Status hook = CheckTrustedProgram(routes->hook.command); !hook.ok()) return InFile(path, hook);
  }
  routes->file = path;
  routes->text = text;
  return routes;
}

}  // namespace lockstep
