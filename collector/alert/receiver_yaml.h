// One receiver in the file of receivers and routes (alert_routes_yaml.h).
//
//     {name: chat, type: slack, token_file: /etc/lockstep/slack.token, channel: C0123456, headers: {X-Team: infra}}
//
// The type says which keys there may be. Secrets are in files of their own and are read with it, but for the token of
// NVSentinel, which is renewed. A secret never goes where others can read it, nor into a refusal. Limits: kMaxUrls, 32
// headers. Thread-safe; owns nothing.

#ifndef LOCKSTEP_COLLECTOR_ALERT_RECEIVER_YAML_H_
#define LOCKSTEP_COLLECTOR_ALERT_RECEIVER_YAML_H_

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collector/alert/receiver_spec.h"

namespace lockstep {

inline constexpr size_t kMaxUrls = 64;

// The text of a file that holds a secret.
using SecretReader = std::function<absl::StatusOr<std::string>(const std::string& path)>;

// `before`: those above it in the file, whose names are taken. INVALID_ARGUMENT says in which line what is wrong. Looks
// into the file of authorities.
absl::StatusOr<ReceiverSpec> ReadReceiver(const YAML::Node& node, absl::Span<const ReceiverSpec> before,
                                          const SecretReader& read_file);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_RECEIVER_YAML_H_
