// A rank that waits for its data, for tests of those who ask ranks for profiles.

#ifndef LOCKSTEP_FORMATS_TESTING_LOADING_PROFILE_H_
#define LOCKSTEP_FORMATS_TESTING_LOADING_PROFILE_H_

#include "detector/patterns/rank_patterns.h"
#include "formats/pattern_message.h"
#include "proto/patterns.pb.h"

namespace lockstep {

// One that waits for a share of the time, and computes for the rest.
inline wire::RankProfile LoadingProfile(double loading) {
  RankPatterns patterns;
  patterns.window_seconds = 1;
  patterns.functions = {{.kind = FunctionKind::kGpuCompute,
                         .name = "gemm",
                         .beta = 1 - loading,
                         .calls_per_second = 10,
                         .mean_seconds = 0.05},
                        {.kind = FunctionKind::kAnnotation,
                         .name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                         .beta = loading,
                         .calls_per_second = 5,
                         .mean_seconds = loading / 5}};
  wire::RankProfile profile;
  FillProfile(patterns, profile);
  return profile;
}

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_TESTING_LOADING_PROFILE_H_
