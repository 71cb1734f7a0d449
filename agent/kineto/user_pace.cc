#include "agent/kineto/user_pace.h"

#include <algorithm>
#include <iterator>

namespace lockstep {

bool UserPace::Allow(uint32_t uid, int64_t now_ns) {
  auto user = free_at_ns_.find(uid);
  if (user == free_at_ns_.end()) {
    if (free_at_ns_.size() >= kMaxUsers) {
      for (auto other = free_at_ns_.begin(); other != free_at_ns_.end();) {
        other = other->second <= now_ns ? free_at_ns_.erase(other) : std::next(other);
      }
    }
    if (free_at_ns_.size() >= kMaxUsers) return false;
    user = free_at_ns_.emplace(uid, now_ns).first;
  }
  const int64_t free_at_ns = std::max(user->second, now_ns) + kNanosEach;
  if (free_at_ns - now_ns > kBurst * kNanosEach) return false;
  user->second = free_at_ns;
  return true;
}

}  // namespace lockstep
