// Which endpoint speaks to a receiver.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ENDPOINT_FOR_H_
#define LOCKSTEP_COLLECTOR_ALERT_ENDPOINT_FOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collector/alert/alert_endpoint.h"
#include "collector/alert/receiver_spec.h"

namespace lockstep {

// `url`: one of the receiver's. `timeout_ns` of each message. `abort` is asked about once a second, and more often
// while data flows; true ends the message without an answer.
std::unique_ptr<AlertEndpoint> EndpointFor(const ReceiverSpec& receiver, const std::string& url, int64_t timeout_ns,
                                           std::function<bool()> abort);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ENDPOINT_FOR_H_
