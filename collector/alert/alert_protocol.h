// The kinds of receivers: how each is spoken to, a row each. Pure.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_PROTOCOL_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_PROTOCOL_H_

#include <cstdint>

#include "absl/types/span.h"
#include "collector/alert/alert_message.h"
#include "collector/alert/receiver_spec.h"
#include "collector/incident/incident_book.h"
#include "daemon/http_client.h"

namespace lockstep {

struct AlertProtocol {
  ReceiverType type;
  const char* name;             // as in the file of receivers
  const char* path;             // behind the URL that is configured
  bool hears_acknowledgements;  // wants to know at once who has an incident in hand
  bool hears_numbers;           // wants news that only have newer numbers
  bool is_repeated;             // is told again and again what fires
  int64_t least_gap_ns;         // between two messages
  // In HTTP; null = it speaks something else (collector/alert/endpoint_for.h).
  AlertMessage (*message)(const IncidentEvent& event, const ReceiverSpec& receiver, const DeliveryContext& context);
  AnswerVerdict (*judge)(const ReceiverSpec& receiver, const HttpAnswer& answer);
};

// In the order of ReceiverType.
absl::Span<const AlertProtocol> AllAlertProtocols();

inline const AlertProtocol& ProtocolOf(ReceiverType type) { return AllAlertProtocols()[static_cast<size_t>(type)]; }

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_PROTOCOL_H_
