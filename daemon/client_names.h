// The alternative names that the certificate of a client of a page has.
//
// Thread-safe for different sessions.

#ifndef LOCKSTEP_DAEMON_CLIENT_NAMES_H_
#define LOCKSTEP_DAEMON_CLIENT_NAMES_H_

#include <gnutls/gnutls.h>

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep {

// Names beyond these are not looked at.
inline constexpr size_t kMaxClientNames = 100;

// DNS names, mail addresses, URIs and IP addresses of the certificate at the other end of `session`, in its order; none
// if there is no certificate, or none that can be read. Whether it is to be believed is asked elsewhere.
std::vector<std::string> AlternativeNamesOf(gnutls_session_t session);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_CLIENT_NAMES_H_
