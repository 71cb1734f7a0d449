// How the functions of one rank behave in a window: what a profile of gigabytes comes down to.
//
// beta is the share of the window in which the function was what the rank waited for (critical_path.h). mu and sigma
// are mean and standard deviation of how well it used what it runs on, where the profile counts that; duration, its
// spread and the rate of calls are always there. No time of day is kept, so that no two clocks are compared. The
// summary is that of EROICA (arXiv 2506.08528); what it measures differs where said. Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_RANK_PATTERNS_H_
#define LOCKSTEP_DETECTOR_PATTERNS_RANK_PATTERNS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/patterns/function_kind.h"

namespace lockstep {

// As JSON, a rank takes at most so many bytes; what does not fit is left out and counted.
inline constexpr size_t kMostPatternBytes = size_t{30} << 10;
inline constexpr size_t kMostFunctionNameBytes = 100;  // longer names are cut there; equal beginnings are one function
// Functions below this share of the window are left out and counted.
inline constexpr double kLeastBeta = 0.001;

// What mu and sigma count.
enum class Utilisation : uint8_t {
  kNone,              // no counter: see duration and rate
  kOccupancy,         // of the GPU's multiprocessors, 0 to 1, as the profiler estimates it for each launch
  kCopyBandwidth,     // bytes per second
  kMessageBandwidth,  // bytes of the rank's message per second, waiting included
};

// "occupancy", ...; "" for none.
const char* Name(Utilisation utilisation);

struct FunctionPattern {
  FunctionKind kind = FunctionKind::kPython;
  std::string name;
  double beta = 0;  // 0 to 1
  double calls_per_second = 0;
  double mean_seconds = 0;  // of a call
  double spread = 0;        // standard deviation of the duration of a call over its mean
  Utilisation utilisation = Utilisation::kNone;
  double mu = 0;
  double sigma = 0;

  bool operator==(const FunctionPattern&) const = default;
};

struct PatternsLeftOut {
  uint64_t functions = 0;      // of the table
  double beta = 0;             // theirs together
  uint64_t events = 0;         // not looked at: those beyond a limit, the shortest first
  double event_seconds = 0;    // theirs together
  uint64_t unnamed_calls = 0;  // of functions beyond kMostFunctions: they count under one name per kind

  bool operator==(const PatternsLeftOut&) const = default;
};

struct RankPatterns {
  int32_t rank = -1;
  std::string host;  // "" = not known
  double window_seconds = 0;
  int32_t steps = 0;                       // 0 = the profile marks none
  double idle = 0;                         // share of the window in which nothing ran
  std::vector<FunctionPattern> functions;  // by beta, the largest first
  PatternsLeftOut left_out;

  bool operator==(const RankPatterns&) const = default;
};

// An upper bound of what `pattern` takes as JSON.
size_t PatternBytes(const FunctionPattern& pattern);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_RANK_PATTERNS_H_
