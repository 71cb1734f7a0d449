// What an OpenID Connect provider says about itself, ISSUER/.well-known/openid-configuration: where its key set is.
//
// Pure; the text is untrusted input.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_DISCOVERY_DOCUMENT_H_
#define LOCKSTEP_COLLECTOR_ACCESS_DISCOVERY_DOCUMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// INVALID_ARGUMENT for what is no such document, is of another issuer, or names no key set.
absl::StatusOr<std::string> KeySetUrlOf(absl::string_view document, absl::string_view issuer);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_DISCOVERY_DOCUMENT_H_
