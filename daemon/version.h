// The version of this release: one number for all binaries. Immutable.

#ifndef LOCKSTEP_DAEMON_VERSION_H_
#define LOCKSTEP_DAEMON_VERSION_H_

namespace lockstep {

inline constexpr char kVersion[] = "0.2.0";

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_VERSION_H_
