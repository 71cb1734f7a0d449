// Profiles of ranks that do one or two things, for tests of those who ask ranks for profiles.

#ifndef LOCKSTEP_FORMATS_TESTING_SIMPLE_PROFILES_H_
#define LOCKSTEP_FORMATS_TESTING_SIMPLE_PROFILES_H_

#include <utility>
#include <vector>

#include "detector/patterns/function_kind.h"
#include "detector/patterns/rank_patterns.h"
#include "formats/pattern_message.h"
#include "proto/patterns.pb.h"

namespace lockstep {

// Of a window of one second.
inline wire::RankProfile SimpleProfile(std::vector<FunctionPattern> functions) {
  RankPatterns patterns;
  patterns.window_seconds = 1;
  patterns.functions = std::move(functions);
  wire::RankProfile profile;
  FillProfile(patterns, profile);
  return profile;
}

// Waits for its data for a share of the time, and computes for the rest.
inline wire::RankProfile LoadingProfile(double loading) {
  return SimpleProfile({{.kind = FunctionKind::kGpuCompute,
                         .name = "gemm",
                         .beta = 1 - loading,
                         .calls_per_second = 10,
                         .mean_seconds = 0.05},
                        {.kind = FunctionKind::kAnnotation,
                         .name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                         .beta = loading,
                         .calls_per_second = 5,
                         .mean_seconds = loading / 5}});
}

// Computes for a share of the time, and waits for others for the rest.
inline wire::RankProfile ComputingProfile(double computing) {
  return SimpleProfile({{.kind = FunctionKind::kGpuCompute,
                         .name = "gemm",
                         .beta = computing,
                         .calls_per_second = 10,
                         .mean_seconds = computing / 10}});
}

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_TESTING_SIMPLE_PROFILES_H_
