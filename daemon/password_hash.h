// Checks a password or token against its hash of crypt(3): $2b$ (bcrypt), $5$, $6$, $y$ and what else the system knows.
//
// As slow as the hash was made to be, up to a second: not for a thread that others wait for. Thread-safe.

#ifndef LOCKSTEP_DAEMON_PASSWORD_HASH_H_
#define LOCKSTEP_DAEMON_PASSWORD_HASH_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// False also for a hash that cannot be read. Compares in constant time.
bool MatchesHash(const std::string& password, const std::string& hash);

// Whether the two are equal, in a time that depends on their lengths only.
bool EqualsInConstantTime(absl::string_view a, absl::string_view b);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_PASSWORD_HASH_H_
