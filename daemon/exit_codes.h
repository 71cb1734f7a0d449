// Exit codes of the daemons: one number per kind of failure, so that a supervisor or a script can tell them apart.
//
// Part of the interface that operators see: never change or reuse a number. Immutable.

#ifndef LOCKSTEP_DAEMON_EXIT_CODES_H_
#define LOCKSTEP_DAEMON_EXIT_CODES_H_

namespace lockstep {

inline constexpr int kExitOk = 0;
inline constexpr int kExitInternal = 1;       // anything that has no number of its own
inline constexpr int kExitUsage = 2;          // unknown flag or unreadable value of a flag
inline constexpr int kExitBadConfig = 3;      // configuration file or environment refused
inline constexpr int kExitPortInUse = 4;      // an address to listen on is taken or does not exist here
inline constexpr int kExitDataDirectory = 5;  // data directory missing, not writable or locked by another process
inline constexpr int kExitNewerSchema = 6;    // data directory was written by a newer version
inline constexpr int kExitDataCorrupt = 7;    // data directory is damaged

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_EXIT_CODES_H_
