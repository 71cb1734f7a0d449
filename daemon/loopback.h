// Whether an address can be reached from other machines.
//
// Pure.

#ifndef LOCKSTEP_DAEMON_LOOPBACK_H_
#define LOCKSTEP_DAEMON_LOOPBACK_H_

#include "absl/strings/string_view.h"

namespace lockstep {

// True for "localhost:port" and for numeric "host:port" within 127.0.0.0/8 or ::1. Whatever cannot be read is not
// loopback: false is the careful answer.
bool IsLoopbackAddress(absl::string_view address);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_LOOPBACK_H_
