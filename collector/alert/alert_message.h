// What a receiver is sent, and what its answer means. Plain values; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_MESSAGE_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_MESSAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/alert/alert_links.h"
#include "proto/incident.pb.h"

namespace lockstep {

struct AlertMessage {
  std::string body;                  // JSON
  std::vector<std::string> headers;  // more lines, "Name: value"
};

// What a message depends on besides the incident.
struct DeliveryContext {
  int64_t wall_ns = 0;  // now
  AlertLinks links;
  std::string thread;  // where the receiver was told of it first; "" = it was not, or has no threads
  const wire::Incident* before = nullptr;  // as the receiver was told last; null = not known. Borrowed
};

struct AnswerVerdict {
  enum class Outcome {
    kTaken,    // the receiver has it
    kRefused,  // the message itself is wrong, and would be refused again
    kLater,    // to be sent again: it passes by itself, or somebody can mend it
  };
  Outcome outcome = Outcome::kLater;
  std::string why;     // "" when taken; may quote the receiver, never a secret
  std::string thread;  // of what was taken, for later messages about the same incident; "" = none
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_MESSAGE_H_
