// The file of receivers and routes.
//
//   fleet: prod-a                                # tells these incidents from those of another collector
//   external_url: "https://lockstep.example.org/incidents/{incident}"
//   runbook_url: https://wiki.example.org/lockstep-runbook
//   receivers:
//     - {name: am, type: alertmanager, urls: ["http://am-0:9093", "http://am-1:9093"]}
//     - {name: oncall, type: pagerduty, key_file: /etc/lockstep/pagerduty.key}
//     - {name: chat, type: slack, token_file: /etc/lockstep/slack.token, channel: C0123456}
//     - {name: tickets, type: webhook, url: "https://tickets.example.org", secret_file: /etc/lockstep/tickets.secret}
//     - {name: nvs, type: nvsentinel, socket: /var/run/nvsentinel/nvsentinel.sock, token_file: /run/secrets/nvs/token}
//   routes:                                      # the first that fits counts
//     - {match: {severity: critical, scope: [machine, network]}, receivers: [oncall], continue: true}
//     - {match: {job: "vision-*", tenant: vision}, receivers: [chat]}
//     - {receivers: [am]}
//   hook:                                        # a program that is run when an incident opens; collector/hook
//     {command: /etc/lockstep/hook, run: false, match: [{severity: critical, scope: machine}], max_per_hour: 4}
//
// Secrets are in files of their own and are read with it, but for the token of NVSentinel, which is renewed. Limits:
// kMaxReceivers, kMaxRoutes, kMaxAlertRoutesBytes. What a receiver may say is in receiver_yaml.h, which incidents a
// route is for in route_match_yaml.h.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_ROUTES_YAML_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_ROUTES_YAML_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collector/alert/alert_routes.h"

namespace lockstep {

inline constexpr size_t kMaxReceivers = 64;
inline constexpr size_t kMaxRoutes = 1'000;
inline constexpr size_t kMaxAlertRoutesBytes = 1 << 20;

// Reads files of secrets by `read_file`, and looks into those of authorities. INVALID_ARGUMENT says in which line what
// is wrong, and what was expected; never what is in a secret.
absl::StatusOr<AlertRoutes> ParseAlertRoutes(
    absl::string_view text, const Tenants& tenants,
    const std::function<absl::StatusOr<std::string>(const std::string& path)>& read_file);

// Of these files; the tenants are those of the rules of access, "" = there are none. The error names the file.
// `with_secrets` false: files of secrets are not read, and the receivers cannot be spoken to. Thread-safe.
absl::StatusOr<AlertRoutes> LoadAlertRoutes(const std::string& path, const std::string& access_rules,
                                            bool with_secrets = true);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_ROUTES_YAML_H_
