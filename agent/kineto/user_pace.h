// How many datagrams of each user are looked at: a burst, and so many per second after it. Whoever sends more loses the
// rest, and nobody else does.

#ifndef LOCKSTEP_AGENT_KINETO_USER_PACE_H_
#define LOCKSTEP_AGENT_KINETO_USER_PACE_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"

namespace lockstep {

// Not thread-safe.
class UserPace {
 public:
  // A client polls every few seconds: a full share of processes (RegisteredProcesses) is far below.
  static constexpr int64_t kBurst = 256;
  static constexpr int64_t kPerSecond = 64;
  static constexpr size_t kMaxUsers = 256;  // further ones are refused until one of these has been quiet

  // Whether one more datagram of this user is looked at.
  bool Allow(uint32_t uid, int64_t now_ns);

 private:
  static constexpr int64_t kNanosEach = kNanosPerSecond / kPerSecond;

  // By uid: when all of the burst is free again. In the past = the user has been quiet.
  std::map<uint32_t, int64_t> free_at_ns_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KINETO_USER_PACE_H_
