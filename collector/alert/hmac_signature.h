// By which a receiver sees that a message comes from somebody who knows the secret, and when it was sent. Pure.

#ifndef LOCKSTEP_COLLECTOR_ALERT_HMAC_SIGNATURE_H_
#define LOCKSTEP_COLLECTOR_ALERT_HMAC_SIGNATURE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// "t=SECONDS,v1=HEX": HEX is the HMAC-SHA256 of "SECONDS.BODY" under `secret`, SECONDS are since the Unix epoch.
std::string HmacSignature(absl::string_view secret, int64_t wall_ns, absl::string_view body);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_HMAC_SIGNATURE_H_
