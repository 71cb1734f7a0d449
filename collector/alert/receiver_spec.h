// One receiver of alerts, as configured. Plain value; thread-compatible. Holds secrets: never to be logged.

#ifndef LOCKSTEP_COLLECTOR_ALERT_RECEIVER_SPEC_H_
#define LOCKSTEP_COLLECTOR_ALERT_RECEIVER_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

enum class ReceiverType { kWebhook, kAlertmanager, kPagerduty, kSlack, kNvsentinel };

struct ReceiverSpec {
  std::string name;   // in routes and logs
  std::string title;  // in what it is told and in metrics
  ReceiverType type = ReceiverType::kWebhook;
  std::vector<std::string> urls;       // each is told; may be secret
  std::string authorities;             // PEM file as in HttpOptions
  std::vector<std::string> headers;    // more lines, "Name: value"
  std::string key;                     // of PagerDuty: to which service an alert goes
  std::string token;                   // of Slack's API; of the others a bearer token, "" = none
  std::string token_file;              // of NVSentinel: holds one that is renewed, read for each message; "" = none
  std::string channel;                 // of Slack's API
  std::string secret;                  // signs what a webhook is told; "" = nothing does
  int64_t repeat_ns = 60'000'000'000;  // Alertmanager: between two times that it is told what fires

  bool operator==(const ReceiverSpec&) const = default;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_RECEIVER_SPEC_H_
