// The patterns of one rank from its Kineto (Chrome) trace, as the trace goes by. docs/formats.md lists the fields.
//
// Times of day are not kept. Memory: that of PatternBuilder, of the largest value (kMaxProfileValueBytes) and of one
// parsed event: 64 MiB together with the usual limits, whatever the size of the trace. Not thread-safe.

#ifndef LOCKSTEP_FORMATS_KINETO_PROFILE_H_
#define LOCKSTEP_FORMATS_KINETO_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "detector/patterns/pattern_builder.h"
#include "detector/patterns/rank_patterns.h"
#include "formats/byte_source.h"
#include "formats/kineto_call.h"

namespace lockstep {

inline constexpr size_t kMaxProfileValueBytes = size_t{8} << 20;

// Takes events and members in their order in the trace (kineto_walk.h).
class KinetoProfile {
 public:
  explicit KinetoProfile(const PatternLimits& limits = {}) : builder_(limits) {}

  void TakeEvent(absl::string_view text);
  void TakeMember(absl::string_view key, absl::string_view value);

  uint64_t events() const { return events_; }
  uint64_t broken() const { return broken_; }

  // The rank is that of the trace, or else that in the name of the file; -1 = neither says. Call once, last.
  RankPatterns Finish(absl::string_view path);

 private:
  KinetoCallParser parser_;
  PatternBuilder builder_;
  int64_t rank_ = -1;
  uint64_t events_ = 0;
  uint64_t broken_ = 0;
};

struct ProfileResult {
  absl::Status status;  // DATA_LOSS: the first damage, or why there is nothing; what precedes it is in `patterns`
  RankPatterns patterns;
  uint64_t events = 0;
};

// `path` is where the name of the file may say the rank or host.
ProfileResult ReadKinetoProfile(absl::string_view path, ByteSource& source, const PatternLimits& limits = {});

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_KINETO_PROFILE_H_
