// Which webhooks are told of incidents. Plain value; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_WEBHOOK_TARGETS_H_
#define LOCKSTEP_COLLECTOR_WEBHOOK_TARGETS_H_

#include <string>
#include <vector>

namespace lockstep {

struct WebhookTargets {
  std::vector<std::string> urls;
  std::string authorities;  // as in HttpOptions, for all of them
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_WEBHOOK_TARGETS_H_
