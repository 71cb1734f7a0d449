// When ranks of a job are profiled without anybody asking for it, and because of what.
//
// A job that is slow is profiled for one of two reasons: a verdict says that software is to blame, or advises to look
// at it, or the ledger has a part that nothing explains. What a machine or the network explains is left to that. A
// reason has to hold for kSettleNanos, since the suspects of an incident change while it is young. It counts once: what
// began before the newest profile was profiled already, and an incident remembers that. What rests on profiles alone
// counts again and again, because only another profile can end it while the job is slow. Never more than one profile
// per job and kEveryNanos.
//
// Pure: time comes with the calls, and so does what an earlier life of the collector did. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_PROFILES_PROFILE_SCHEDULE_H_
#define LOCKSTEP_COLLECTOR_PROFILES_PROFILE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/types/span.h"
#include "base/clock.h"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

// Why a job is profiled. Plain value; thread-compatible.
struct ProfileReason {
  uint64_t incident = 0;  // that blames software, or else the dearest, to which observations belong; 0 = there is none
  std::string text;       // "incident 7"
};

// Whether `incident` is open, is no suspicion, is not worked on, and is of a class that costs steps. Pure.
bool MayBeProfiled(const wire::Incident& incident);

// The one of `incidents` that a profile of their job most likely is about: that blames software before others, and then
// the dearest; nullptr = there are none. Pure.
const wire::Incident* MostLikelyProfiled(absl::Span<const wire::Incident> incidents);

// Whether the ledger of `job` has a part that nothing explains, larger than kLeastUnexplained of what a step needs and
// than twice its error. Pure.
inline constexpr double kLeastUnexplained = 0.05;
bool HasUnexplainedPart(const wire::Job& job);

class ProfileSchedule {
 public:
  static constexpr int64_t kEveryNanos = 3'600 * kNanosPerSecond;
  static constexpr int64_t kSettleNanos = 30 * kNanosPerSecond;
  static constexpr int64_t kRememberNanos = 24 * kEveryNanos;  // of jobs that are not there any more

  // An earlier life has profiled `job` then. What nothing explains at the beginning of this life was profiled then. To
  // be called first, if at all.
  void Restore(const std::string& job, int64_t wall_ns);

  // The best reason to profile `job` now; nothing: there is none, or it is too early. `incidents` are those of the job
  // of which MayBeProfiled is true. An incident that blames software comes first, the dearest of several.
  std::optional<ProfileReason> Due(const wire::Job& job, absl::Span<const wire::Incident> incidents, int64_t wall_ns);

  // `job` is profiled now.
  void Begin(const std::string& job, int64_t wall_ns) { jobs_[job].profiled_ns = wall_ns; }

  // Forgets jobs that are none of `jobs`, and that were not profiled lately.
  void Forget(const std::set<std::string>& jobs, int64_t wall_ns);

  size_t jobs() const { return jobs_.size(); }

 private:
  struct Job {
    std::optional<int64_t> profiled_ns;           // the newest
    std::optional<int64_t> unexplained_since_ns;  // empty = everything is explained
  };

  static bool WasProfiledWithin(const Job& job, int64_t span_ns, int64_t wall_ns) {
    return job.profiled_ns.has_value() && wall_ns - *job.profiled_ns < span_ns;
  }

  std::map<std::string, Job> jobs_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_PROFILES_PROFILE_SCHEDULE_H_
