// Makes the patterns of one rank from the events of its profile, in any order, within a fixed memory.
//
// Up to kMostEvents are kept as they are. Beyond that the shortest go first: half of them, and from then on all that
// are shorter; their calls and durations still count, only the critical path no longer sees them (what calls them
// takes their place). Names beyond kMostFunctions are one function per kind. Nothing is dropped uncounted.
//
// The window is that of the steps which the profile marks, or else all of it. Threads of the host in the background
// (host_lanes.h) are left out of the path.
//
// Memory: at most 40 MiB, with that many events, functions and lanes. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_PATTERN_BUILDER_H_
#define LOCKSTEP_DETECTOR_PATTERNS_PATTERN_BUILDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "detector/patterns/critical_path.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/function_kind.h"
#include "detector/patterns/host_lanes.h"
#include "detector/patterns/rank_patterns.h"

namespace lockstep {

inline constexpr size_t kMostEvents = size_t{1} << 20;        // 16 MiB
inline constexpr size_t kMostFunctions = size_t{32} << 10;    // 10 MiB with their names
inline constexpr int64_t kMostEventNanos = int64_t{1} << 46;  // 19 hours: of a time, and of a duration

struct PatternLimits {
  size_t events = kMostEvents;
  size_t functions = kMostFunctions;
  size_t bytes = kMostPatternBytes;
};

// One call of a function. Times count from any moment that is the same for all events of the rank.
struct FunctionCall {
  uint32_t function = 0;  // of PatternBuilder::Function
  uint64_t lane = 0;      // thread or stream: any number that tells it from others
  int64_t begin_ns = 0;
  int64_t duration_ns = 0;
  double utilisation = 0;  // as Utilisation says; 0 = not counted
};

class PatternBuilder {
 public:
  explicit PatternBuilder(const PatternLimits& limits = {});

  // The handle of a function, made at its first mention. `utilisation` is what its calls count.
  uint32_t Function(FunctionKind kind, absl::string_view name, Utilisation utilisation);

  // Calls that begin or last longer than kMostEventNanos (counted from the first one) are left out and counted.
  void Add(const FunctionCall& call);

  // A step lies on `lane`.
  void AddStep(uint64_t lane, int64_t begin_ns, int64_t duration_ns);

  uint64_t calls() const { return calls_; }

  // Rank and host are the caller's to fill. Call once, last.
  RankPatterns Finish();

 private:
  struct Sums {
    FunctionKind kind;
    FunctionGroup group;
    Utilisation utilisation;
    std::string name;
    uint64_t calls = 0;
    double seconds = 0;
    double squares = 0;
    double weight = 0;  // seconds of the calls that counted their utilisation
    double used = 0;
    double used_squares = 0;
  };

  void Keep(PathEvent event);
  void ForgetShort();
  std::vector<PathFunction> PathFunctions() const;
  FunctionPattern PatternOf(const Sums& sums, double beta, double window_seconds) const;

  const PatternLimits limits_;
  std::vector<Sums> functions_;
  absl::flat_hash_map<std::string, uint32_t> function_by_name_;
  HostLanes lanes_;
  std::vector<PathEvent> events_;
  uint32_t shortest_kept_ns_ = 0;
  bool has_zero_ = false;
  int64_t zero_ns_ = 0;  // times are kept relative to the first one
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t first_step_ns_ = 0;
  int64_t last_step_ns_ = 0;
  int32_t steps_ = 0;
  uint64_t calls_ = 0;
  PatternsLeftOut left_out_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_PATTERN_BUILDER_H_
