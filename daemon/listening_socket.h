// Opens the TCP socket that a server accepts from, and says clearly why if it cannot.
//
// Thread-safe.

#ifndef LOCKSTEP_DAEMON_LISTENING_SOCKET_H_
#define LOCKSTEP_DAEMON_LISTENING_SOCKET_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

struct ListeningSocket {
  int descriptor = -1;  // non-blocking, closed on exec; the caller owns it
  int port = 0;         // that is listened on
};

// `address` is "host:port" with a numeric host, IPv6 in brackets, or ":port" for all addresses of both families; port
// 0 picks a free one. `backlog` connections wait in the kernel. Errors: INVALID_ARGUMENT for an address that cannot be
// read, ALREADY_EXISTS when it cannot be listened on (in use, or not an address of this machine).
absl::StatusOr<ListeningSocket> OpenListeningSocket(absl::string_view address, int backlog);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_LISTENING_SOCKET_H_
