// Tokens that were checked against their slow hash lately, so that a script that asks every second costs one check.
//
// Remembers digests, never tokens, at most kMaxVerifiedTokens; a full memory is emptied. Wrong tokens are not
// remembered, but checking is rationed: kMaxChecksPerSecond, whoever asks. Thread-safe.

#ifndef LOCKSTEP_DAEMON_VERIFIED_TOKENS_H_
#define LOCKSTEP_DAEMON_VERIFIED_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "base/ration.h"

namespace lockstep {

inline constexpr size_t kMaxVerifiedTokens = 1'024;
// A guess takes a CPU for the time of one hash; people and scripts are checked once per change of the rules.
inline constexpr int kMaxChecksPerSecond = 20;

class VerifiedTokens {
 public:
  bool Knows(absl::string_view token) const;
  void Remember(absl::string_view token);

  // Whether another token may be checked in this second.
  bool TakeCheck(int64_t monotonic_ns);

 private:
  mutable Mutex mutex_;
  std::set<std::string> digests_ ABSL_GUARDED_BY(mutex_);
  Ration checks_ ABSL_GUARDED_BY(mutex_){kMaxChecksPerSecond};
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_VERIFIED_TOKENS_H_
