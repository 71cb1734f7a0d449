#include "collector/alert/receiver_yaml.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "collector/alert/alert_protocol.h"
#include "collector/alert/yaml_values.h"
#include "daemon/http_client.h"
#include "daemon/nearest_name.h"
#include "daemon/yaml_map.h"

namespace lockstep {
namespace {

constexpr char kPagerdutyUrl[] = "https://events.pagerduty.com/v2/enqueue";
constexpr char kSlackApiUrl[] = "https://slack.com/api/chat.postMessage";
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

absl::StatusOr<ReceiverType> ReadType(const YAML::Node& node) {
  ASSIGN_OR_RETURN(const std::string name, YamlText(node, "type", /*required=*/true));
  std::vector<std::string> known;
  for (const AlertProtocol& protocol : AllAlertProtocols()) {
    if (name == protocol.name) return protocol.type;
    known.emplace_back(protocol.name);
  }
  return RefuseYaml(node["type"],
                    absl::StrCat("type '", name, "': expected ", absl::StrJoin(known, ", "), DidYouMean(name, known)));
}

absl::Status ReadHeaders(const YAML::Node& node, ReceiverSpec& receiver) {
  const YAML::Node headers = node["headers"];
  if (!headers.IsDefined()) return absl::OkStatus();
  if (!headers.IsMap() || headers.size() > kMaxHeaders) {
    return RefuseYaml(headers, absl::StrCat("'headers' must be a map of at most ", kMaxHeaders, " names to texts"));
  }
  for (const auto& entry : headers) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const std::string value = entry.second.IsScalar() ? entry.second.Scalar() : "";
    const bool is_clean = std::none_of(value.begin(), value.end(), [](unsigned char c) { return c < ' '; });
    if (!IsPlainName(name) || value.empty() || !is_clean) {
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
absl::StatusOr<std::string> ReadSecret(const YAML::Node& node, const char* key, const SecretReader& read_file) {
  ASSIGN_OR_RETURN(const std::string path, YamlText(node, key));
  if (path.empty()) return std::string();
  absl::StatusOr<std::string> text = read_file(path);
  if (!text.ok()) return RefuseYaml(node[key], text.status());
  const std::string secret(absl::StripAsciiWhitespace(*text));
  if (!IsOneWord(secret)) return RefuseYaml(node[key], absl::StrCat(path, " must hold one word"));
  return secret;
}

absl::Status ReadUrls(const YAML::Node& node, const SecretReader& read_file, ReceiverSpec& receiver) {
  ASSIGN_OR_RETURN(const std::vector<YAML::Node> urls, YamlList(node, "urls", kMaxUrls));
  for (const YAML::Node& url : urls) receiver.urls.push_back(url.IsScalar() ? url.Scalar() : "");
  ASSIGN_OR_RETURN(const std::string url, YamlText(node, "url"));
  ASSIGN_OR_RETURN(const std::string from_file, ReadSecret(node, "url_file", read_file));
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
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return RefuseYaml(node, "a URL appears twice");
  return absl::OkStatus();
}

// Its token is renewed while we live: the file was only tried.
absl::Status ReadSocket(const YAML::Node& node, ReceiverSpec& receiver) {
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

absl::Status CheckWhole(const YAML::Node& node, const ReceiverSpec& receiver) {
  if (receiver.type == ReceiverType::kPagerduty && receiver.key.empty()) {
    return RefuseYaml(node, "'key_file' is missing: the integration key of a PagerDuty service");
  }
  if (receiver.type == ReceiverType::kSlack && receiver.token.empty() != receiver.channel.empty()) {
    return RefuseYaml(node, "'token_file' and 'channel' need each other; without both, 'url_file' is a webhook");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ReceiverSpec> ReadReceiver(const YAML::Node& node, absl::Span<const ReceiverSpec> before,
                                          const SecretReader& read_file) {
  if (!node.IsMap()) return RefuseYaml(node, "expected a map of name, type and what the type needs");
  ReceiverSpec receiver;
  ASSIGN_OR_RETURN(receiver.type, ReadType(node));
  RETURN_IF_ERROR(CheckYamlMap(node, KeysOf(receiver.type)));
  ASSIGN_OR_RETURN(receiver.name, YamlText(node, "name", /*required=*/true));
  if (!IsPlainName(receiver.name)) {
    return RefuseYaml(node["name"], "the name of a receiver has letters, digits, - and _ only");
  }
  const bool taken =
      std::any_of(before.begin(), before.end(), [&](const ReceiverSpec& other) { return other.name == receiver.name; });
  if (taken) {
    return RefuseYaml(node["name"], absl::StrCat("receiver '", receiver.name, "' appears twice"));
  }
  receiver.title = receiver.name;
  ASSIGN_OR_RETURN(receiver.authorities, YamlText(node, "ca"));
  if (const absl::Status ca = CheckAuthorities(receiver.authorities); !ca.ok()) return RefuseYaml(node["ca"], ca);
  RETURN_IF_ERROR(ReadHeaders(node, receiver));
  ASSIGN_OR_RETURN(receiver.key, ReadSecret(node, "key_file", read_file));
  ASSIGN_OR_RETURN(receiver.token, ReadSecret(node, "token_file", read_file));
  ASSIGN_OR_RETURN(receiver.secret, ReadSecret(node, "secret_file", read_file));
  ASSIGN_OR_RETURN(receiver.channel, YamlText(node, "channel"));
  if (receiver.type == ReceiverType::kNvsentinel) {
    RETURN_IF_ERROR(ReadSocket(node, receiver));
  } else {
    RETURN_IF_ERROR(ReadUrls(node, read_file, receiver));
  }
  RETURN_IF_ERROR(CheckWhole(node, receiver));
  RETURN_IF_ERROR(ReadYamlTime(node, "repeat", receiver.repeat_ns));
  return receiver;
}

}  // namespace lockstep
