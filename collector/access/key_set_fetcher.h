// The key set of an OpenID provider, fetched again and again on a thread of its own: no call waits for the provider.
//
// The newest set that could be used stays in force while the provider fails: that is counted, logged when it is news,
// and tried again with growing delays. Answers are bounded in size and time, redirects are not followed. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_KEY_SET_FETCHER_H_
#define LOCKSTEP_COLLECTOR_ACCESS_KEY_SET_FETCHER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/told_error.h"
#include "collector/access/key_set_origin.h"
#include "collector/metrics.h"

namespace lockstep {

inline constexpr size_t kMaxKeySetBytes = size_t{1} << 20;  // of each answer

struct KeySetTimes {
  int64_t every_ns = 3'600 * kNanosPerSecond;            // between fetches when all is well
  int64_t first_retry_ns = 1 * kNanosPerSecond;          // after a failure; doubles
  int64_t longest_retry_ns = 300 * kNanosPerSecond;      // of these delays
  int64_t least_between_asks_ns = 30 * kNanosPerSecond;  // anybody can send a token of a key that nobody knows
};

class KeySetFetcher {
 public:
  // What is wrong with a key set; only one that it takes is used. Called from the thread.
  using Check = std::function<absl::Status(const std::string& jwks)>;

  // Starts the thread, which fetches at once. `clock` is borrowed, and so is what `metrics` refers to.
  KeySetFetcher(const KeySetOrigin& origin, const KeySetTimes& times, Check check, const Clock& clock,
                const KeySetMetrics& metrics);
  // Gives up what is under way.
  ~KeySetFetcher();

  const KeySetOrigin& origin() const { return origin_; }

  // The newest set that was given; UNAVAILABLE, with the reason, if there was none yet.
  absl::StatusOr<std::string> keys() const;

  // A token names a key that is not in the set: it may be new. At most one fetch per `least_between_asks_ns`.
  void AskAgain();

 private:
  void Run();
  // Waits until it is time, or somebody asks. False when it is over.
  bool WaitForNext(int64_t nanos);
  absl::StatusOr<std::string> Fetch();
  // The address of the key set, as the issuer says it.
  absl::StatusOr<std::string> Discover();
  absl::StatusOr<std::string> Get(const std::string& url);

  const KeySetOrigin origin_;
  const KeySetTimes times_;
  const Check check_;
  const Clock& clock_;
  KeySetMetrics metrics_;
  ToldError told_error_;  // of the thread

  mutable Mutex mutex_;
  CondVar changed_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::string keys_ ABSL_GUARDED_BY(mutex_);        // "" = none yet
  int64_t fetched_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // monotonic, begin of the newest attempt
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> stopping_{false};

  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_KEY_SET_FETCHER_H_
