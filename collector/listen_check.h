// Whether an address can be listened on, asked before anything is written to disk.
//
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_LISTEN_CHECK_H_
#define LOCKSTEP_COLLECTOR_LISTEN_CHECK_H_

#include <string>

#include "absl/status/status.h"

namespace lockstep {

// Binds and listens for a moment. INVALID_ARGUMENT for an address that is not "host:port", ALREADY_EXISTS when it is in
// use or not an address of this machine. Another process may still be faster afterwards.
absl::Status CheckListenable(const std::string& address);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_LISTEN_CHECK_H_
