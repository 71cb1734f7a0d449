#include "collector/alert/alert_routes_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "collector/access/access_rules.h"
#include "collector/alert/alert_protocol.h"
#include "collector/alert/incident_text.h"
#include "daemon/bounded_file.h"
#include "daemon/child_process.h"
#include "daemon/http_client.h"
#include "daemon/nearest_name.h"
#include "daemon/yaml_map.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

using FileReader = std::function<absl::StatusOr<std::string>(const std::string& path)>;

constexpr char kGap[] = "*";
constexpr char kPagerdutyUrl[] = "https://events.pagerduty.com/v2/enqueue";
constexpr char kSlackApiUrl[] = "https://slack.com/api/chat.postMessage";
// Alertmanager forgets what it did not hear of for 5 minutes, and takes a few dozen alerts a second with ease.
constexpr absl::Duration kShortestTime = absl::Seconds(1);
constexpr absl::Duration kLongestTime = absl::Hours(1);
constexpr int kMostRunsPerHour = 100;  // of the hook
constexpr size_t kMaxHeaders = 32;
constexpr size_t kMaxSocketPathBytes = 107;  // what a sockaddr_un holds

// What a receiver of each type may say besides name and type.
constexpr const char* kKeys[] = {
    "ca headers url url_file token_file secret_file",  // webhook
    "ca headers urls token_file repeat",               // alertmanager
    "ca headers url key_file",                         // pagerduty
    "ca headers url url_file token_file channel",      // slack
    "socket token_file",                               // nvsentinel
};
static_assert(std::size(kKeys) == static_cast<size_t>(ReceiverType::kNvsentinel) + 1);

std::vector<std::string> KeysOf(ReceiverType type) {
  return absl::StrSplit(absl::StrCat("name type ", kKeys[static_cast<size_t>(type)]), ' ');
}

template <typename Enum>
std::vector<std::string> NamesUpTo(Enum last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.push_back(Name(static_cast<Enum>(i)));
  return names;
}

bool IsOneWord(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isgraph(c); });
}

bool IsHeaderName(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

class RoutesReader {
 public:
  RoutesReader(const Tenants& tenants, const FileReader& read_file) : tenants_(tenants), read_file_(read_file) {}

  absl::StatusOr<AlertRoutes> Read(const YAML::Node& root) {
    RETURN_IF_ERROR(
        CheckYamlMap(root, {"fleet", "external_url", "runbook_url", "stacks_url", "receivers", "routes", "hook"}));
    RETURN_IF_ERROR(ReadLinks(root));
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> receivers, YamlList(root, "receivers", kMaxReceivers));
    for (const YAML::Node& receiver : receivers) RETURN_IF_ERROR(ReadReceiver(receiver));
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

  absl::Status ReadReceiver(const YAML::Node& node) {
    if (!node.IsMap()) return RefuseYaml(node, "expected a map of name, type and what the type needs");
    ReceiverSpec receiver;
    ASSIGN_OR_RETURN(receiver.type, ReadType(node));
    RETURN_IF_ERROR(CheckYamlMap(node, KeysOf(receiver.type)));
    ASSIGN_OR_RETURN(receiver.name, YamlText(node, "name", /*required=*/true));
    if (!IsHeaderName(receiver.name)) {
      return RefuseYaml(node["name"], "the name of a receiver has letters, digits, - and _ only");
    }
    if (Find(receiver.name) != nullptr) {
      return RefuseYaml(node["name"], absl::StrCat("receiver '", receiver.name, "' appears twice"));
    }
    receiver.title = receiver.name;
    ASSIGN_OR_RETURN(receiver.authorities, YamlText(node, "ca"));
    if (const absl::Status ca = CheckAuthorities(receiver.authorities); !ca.ok()) return RefuseYaml(node["ca"], ca);
    RETURN_IF_ERROR(ReadHeaders(node, receiver));
    ASSIGN_OR_RETURN(receiver.key, ReadSecret(node, "key_file"));
    ASSIGN_OR_RETURN(receiver.token, ReadSecret(node, "token_file"));
    ASSIGN_OR_RETURN(receiver.secret, ReadSecret(node, "secret_file"));
    ASSIGN_OR_RETURN(receiver.channel, YamlText(node, "channel"));
    if (receiver.type == ReceiverType::kNvsentinel) {
      RETURN_IF_ERROR(ReadSocket(node, receiver));
    } else {
      RETURN_IF_ERROR(ReadUrls(node, receiver));
    }
    RETURN_IF_ERROR(CheckWhole(node, receiver));
    RETURN_IF_ERROR(ReadRepeat(node, receiver));
    routes_.receivers.push_back(std::move(receiver));
    return absl::OkStatus();
  }

  static absl::StatusOr<ReceiverType> ReadType(const YAML::Node& node) {
    ASSIGN_OR_RETURN(const std::string name, YamlText(node, "type", /*required=*/true));
    std::vector<std::string> known;
    for (const AlertProtocol& protocol : AllAlertProtocols()) {
      if (name == protocol.name) return protocol.type;
      known.emplace_back(protocol.name);
    }
    return RefuseYaml(node["type"], absl::StrCat("type '", name, "': expected ", absl::StrJoin(known, ", "),
                                                 DidYouMean(name, known)));
  }

  static absl::Status ReadHeaders(const YAML::Node& node, ReceiverSpec& receiver) {
    const YAML::Node headers = node["headers"];
    if (!headers.IsDefined()) return absl::OkStatus();
    if (!headers.IsMap() || headers.size() > kMaxHeaders) {
      return RefuseYaml(headers, absl::StrCat("'headers' must be a map of at most ", kMaxHeaders, " names to texts"));
    }
    for (const auto& entry : headers) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const std::string value = entry.second.IsScalar() ? entry.second.Scalar() : "";
      const bool is_clean = std::none_of(value.begin(), value.end(), [](unsigned char c) { return c < ' '; });
      if (!IsHeaderName(name) || value.empty() || !is_clean) {
        return RefuseYaml(entry.first, "a header is a name of letters, digits and -, and a text of one line");
      }
      if (absl::EqualsIgnoreCase(name, "Authorization")) {
        return RefuseYaml(entry.first, "a secret does not stand in this file: use 'token_file'");
      }
      receiver.headers.push_back(absl::StrCat(name, ": ", value));
    }
    return absl::OkStatus();
  }

  // What stands in the file that a key names, without the end of its line; "" where there is no such key.
  absl::StatusOr<std::string> ReadSecret(const YAML::Node& node, const char* key) const {
    ASSIGN_OR_RETURN(const std::string path, YamlText(node, key));
    if (path.empty()) return std::string();
    absl::StatusOr<std::string> text = read_file_(path);
    if (!text.ok()) return RefuseYaml(node[key], text.status());
    const std::string secret(absl::StripAsciiWhitespace(*text));
    if (!IsOneWord(secret)) return RefuseYaml(node[key], absl::StrCat(path, " must hold one word"));
    return secret;
  }

  absl::Status ReadUrls(const YAML::Node& node, ReceiverSpec& receiver) const {
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> urls, YamlList(node, "urls", kMaxReceivers));
    for (const YAML::Node& url : urls) receiver.urls.push_back(url.IsScalar() ? url.Scalar() : "");
    ASSIGN_OR_RETURN(const std::string url, YamlText(node, "url"));
    ASSIGN_OR_RETURN(const std::string from_file, ReadSecret(node, "url_file"));
    if (!url.empty() && !from_file.empty()) return RefuseYaml(node["url"], "'url' or 'url_file', not both");
    if (!url.empty()) receiver.urls.push_back(url);
    if (!from_file.empty()) receiver.urls.push_back(from_file);
    const bool needs_none = receiver.type == ReceiverType::kPagerduty || !receiver.token.empty();
    if (receiver.urls.empty() && receiver.type == ReceiverType::kPagerduty) receiver.urls.emplace_back(kPagerdutyUrl);
    if (receiver.urls.empty() && receiver.type == ReceiverType::kSlack && needs_none) {
      receiver.urls.emplace_back(kSlackApiUrl);
    }
    if (receiver.urls.empty()) return RefuseYaml(node, "where is it? A URL is missing");
    // Whoever reads a secret on the way can speak in our name.
    const bool sends_secret = !receiver.key.empty() || !receiver.token.empty() || receiver.type == ReceiverType::kSlack;
    for (const std::string& each : receiver.urls) {
      if (!absl::StartsWith(each, "http://") && !absl::StartsWith(each, "https://")) {
        return RefuseYaml(node, "a URL begins with http:// or https://");
      }
      if (sends_secret && !CheckTrustworthyUrl(each).ok()) {
        return RefuseYaml(node, "its key, token or URL is a secret: the URL must be https, or http to loopback");
      }
    }
    std::vector<std::string> sorted = receiver.urls;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      return RefuseYaml(node, "a URL appears twice");
    return absl::OkStatus();
  }

  // Its token is renewed while we live: the file was only tried.
  static absl::Status ReadSocket(const YAML::Node& node, ReceiverSpec& receiver) {
    ASSIGN_OR_RETURN(const std::string path, YamlText(node, "socket", /*required=*/true));
    if (!absl::StartsWith(path, "/") || path.size() > kMaxSocketPathBytes) {
      return RefuseYaml(node["socket"],
                        absl::StrCat("'socket' must be an absolute path of at most ", kMaxSocketPathBytes, " bytes"));
    }
    receiver.urls = {absl::StrCat("unix:", path)};
    receiver.token.clear();
    ASSIGN_OR_RETURN(receiver.token_file, YamlText(node, "token_file"));
    return absl::OkStatus();
  }

  static absl::Status CheckWhole(const YAML::Node& node, const ReceiverSpec& receiver) {
    if (receiver.type == ReceiverType::kPagerduty && receiver.key.empty()) {
      return RefuseYaml(node, "'key_file' is missing: the integration key of a PagerDuty service");
    }
    if (receiver.type == ReceiverType::kSlack && receiver.token.empty() != receiver.channel.empty()) {
      return RefuseYaml(node, "'token_file' and 'channel' need each other; without both, 'url_file' is a webhook");
    }
    return absl::OkStatus();
  }

  static absl::Status ReadRepeat(const YAML::Node& node, ReceiverSpec& receiver) {
    return ReadTime(node, "repeat", receiver.repeat_ns);
  }

  // Leaves `nanos` as it is where there is no such key.
  static absl::Status ReadTime(const YAML::Node& node, const char* key, int64_t& nanos) {
    ASSIGN_OR_RETURN(const std::string text, YamlText(node, key));
    if (text.empty()) return absl::OkStatus();
    absl::Duration time;
    if (!absl::ParseDuration(text, &time) || time < kShortestTime || time > kLongestTime) {
      return RefuseYaml(node[key], absl::StrCat("'", key, "' must be from 1s to 1h"));
    }
    nanos = absl::ToInt64Nanoseconds(time);
    return absl::OkStatus();
  }

  // Leaves `value` as it is where there is no such key.
  static absl::Status ReadBool(const YAML::Node& node, const char* key, bool& value) {
    ASSIGN_OR_RETURN(const std::string text, YamlText(node, key));
    if (!text.empty() && text != "true" && text != "false") {
      return RefuseYaml(node[key], absl::StrCat("'", key, "' must be true or false"));
    }
    if (!text.empty()) value = text == "true";
    return absl::OkStatus();
  }

  absl::Status ReadHook(const YAML::Node& node) {
    RETURN_IF_ERROR(CheckYamlMap(
        node, {"command", "run", "match", "environment", "timeout", "every", "max_per_hour", "max_share"}));
    HookSpec& hook = routes_.hook;
    ASSIGN_OR_RETURN(hook.command, YamlText(node, "command", /*required=*/true));
    if (!absl::StartsWith(hook.command, "/")) return RefuseYaml(node["command"], "'command' must be an absolute path");
    RETURN_IF_ERROR(ReadBool(node, "run", hook.run));
    RETURN_IF_ERROR(ReadTime(node, "timeout", hook.timeout_ns));
    RETURN_IF_ERROR(ReadTime(node, "every", hook.every_ns));
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
      RETURN_IF_ERROR(ReadMatch(match, route));
      hook.matches.push_back(std::move(route));
    }
    return ReadEnvironment(node["environment"], hook);
  }

  static absl::Status ReadEnvironment(const YAML::Node& node, HookSpec& hook) {
    if (!node.IsDefined()) return absl::OkStatus();
    if (!node.IsMap() || node.size() > kMaxHeaders) {
      return RefuseYaml(node, absl::StrCat("'environment' must be a map of at most ", kMaxHeaders, " names to texts"));
    }
    for (const auto& entry : node) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (!IsHeaderName(name) || absl::StrContains(name, "-") || !entry.second.IsScalar()) {
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
    if (node["match"].IsDefined()) RETURN_IF_ERROR(ReadMatch(node["match"], route));
    ASSIGN_OR_RETURN(route.receivers, Texts(node, "receivers"));
    for (const std::string& name : route.receivers) {
      if (Find(name) != nullptr) continue;
      std::vector<std::string> known;
      for (const ReceiverSpec& receiver : routes_.receivers) known.push_back(receiver.name);
      return RefuseYaml(node["receivers"],
                        absl::StrCat("receiver '", name, "' is not among 'receivers'", DidYouMean(name, known)));
    }
    if (route.receivers.empty() && !node["receivers"].IsDefined()) return RefuseYaml(node, "'receivers' is missing");
    RETURN_IF_ERROR(ReadBool(node, "continue", route.goes_on));
    routes_.routes.push_back(std::move(route));
    return absl::OkStatus();
  }

  absl::Status ReadMatch(const YAML::Node& match, AlertRoute& route) {
    RETURN_IF_ERROR(CheckYamlMap(match, {"severity", "scope", "class", "job", "tenant", "host"}));
    ASSIGN_OR_RETURN(route.severities, KnownTexts(match, "severity", {kCritical, kWarning}));
    ASSIGN_OR_RETURN(route.scopes, KnownTexts(match, "scope", NamesUpTo(VerdictScope::kJob)));
    std::vector<std::string> classes = NamesUpTo(VerdictClass::kCounterOutlier);
    classes.emplace_back(kSlowUnexplained);
    ASSIGN_OR_RETURN(route.classes, KnownTexts(match, "class", classes));
    ASSIGN_OR_RETURN(route.jobs, Patterns(match, "job"));
    ASSIGN_OR_RETURN(route.hosts, Patterns(match, "host"));
    std::vector<std::string> known;
    for (const auto& [name, jobs] : tenants_) known.push_back(name);
    ASSIGN_OR_RETURN(const std::vector<std::string> tenants, KnownTexts(match, "tenant", known));
    for (const std::string& tenant : tenants) {
      const std::vector<Wildcard>& jobs = tenants_.at(tenant);
      if (jobs.empty()) return RefuseYaml(match["tenant"], absl::StrCat("tenant '", tenant, "' has no jobs"));
      route.tenant_jobs.insert(route.tenant_jobs.end(), jobs.begin(), jobs.end());
    }
    return absl::OkStatus();
  }

  // One text or a list of texts; none where the key is missing.
  static absl::StatusOr<std::vector<std::string>> Texts(const YAML::Node& map, const char* key) {
    const YAML::Node value = map[key];
    if (value.IsDefined() && value.IsScalar()) {
      ASSIGN_OR_RETURN(std::string text, YamlText(map, key));
      return std::vector<std::string>{std::move(text)};
    }
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> list, YamlList(map, key, kMaxRoutes));
    std::vector<std::string> texts;
    for (const YAML::Node& entry : list) {
      if (!entry.IsScalar() || entry.Scalar().empty()) return RefuseYaml(entry, "expected a text");
      texts.push_back(entry.Scalar());
    }
    return texts;
  }

  static absl::StatusOr<std::vector<std::string>> KnownTexts(const YAML::Node& map, const char* key,
                                                             const std::vector<std::string>& known) {
    ASSIGN_OR_RETURN(std::vector<std::string> texts, Texts(map, key));
    for (const std::string& text : texts) {
      if (std::find(known.begin(), known.end(), text) != known.end()) continue;
      return RefuseYaml(map[key], absl::StrCat(key, " '", text, "' is not known", DidYouMean(text, known)));
    }
    return texts;
  }

  static absl::StatusOr<std::vector<Wildcard>> Patterns(const YAML::Node& map, const char* key) {
    ASSIGN_OR_RETURN(const std::vector<std::string> texts, Texts(map, key));
    std::vector<Wildcard> patterns;
    for (const std::string& text : texts) {
      absl::StatusOr<Wildcard> pattern = Wildcard::Parse(text, kGap);
      if (!pattern.ok()) return RefuseYaml(map[key], pattern.status());
      patterns.push_back(*std::move(pattern));
    }
    return patterns;
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
  const FileReader& read_file_;
  AlertRoutes routes_;
};

// In place of any secret, also of a URL.
absl::StatusOr<std::string> LeaveOut(const std::string&) { return std::string("https://left.out"); }

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
}

}  // namespace

absl::StatusOr<AlertRoutes> ParseAlertRoutes(absl::string_view text, const Tenants& tenants,
                                             const FileReader& read_file) {
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
