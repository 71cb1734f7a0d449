// Published and simple ways to point at the culprit, run beside the engine on the same episodes.
//
// Each is a pure function from a trace to all its ranks in order of suspicion. None of them can say "network" or
// "structural": they rank, and those whose source fixes a threshold also accuse. What a source leaves open is filled in
// by us, generously to the baseline, and said in the .cc file; the results are of these versions.
// Hangs, and operations that did not finish, are outside of what they see. Pure values; thread-compatible.

#ifndef LOCKSTEP_EVAL_BASELINES_BASELINE_H_
#define LOCKSTEP_EVAL_BASELINES_BASELINE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "eval/baselines/joined_trace.h"

namespace lockstep {

struct RankedSuspect {
  int32_t rank_index = -1;
  double score = 0;      // higher is more suspect; comparable within one ranking only
  bool accused = false;  // beyond the threshold of the source; always false where the source has none
};

// All ranks of the trace, most suspect first; ties by rank index.
using Ranking = std::vector<RankedSuspect>;

struct Baseline {
  const char* name;
  const char* source;
  bool accuses;  // has a threshold
  Ranking (*rank)(const JoinedTrace& joined);
};

// In a fixed order.
absl::Span<const Baseline> AllBaselines();

// The least time inside collectives over the whole trace (the "least comms" rule of NCCLX's analyzer).
Ranking RankByLeastCommunication(const JoinedTrace& joined);

// The share of collectives to which a rank came last; accused at ten times the mean share (NCCLX's 10x rule).
Ranking RankByLastArrivals(const JoinedTrace& joined);

// Time outside of operations, as z-score over all ranks; accused above 3 (the "3-sigma" baseline of Holmes, section 6).
Ranking RankByThreeSigma(const JoinedTrace& joined);

// Stationary distribution of a walk from those who wait to those they wait for (the "RW" baseline of Holmes).
Ranking RankByRandomWalk(const JoinedTrace& joined);

// Row, column and point ratios of the wait matrix with thresholds 3, 3 and 5 (C4D as DeepXTrace implements it).
Ranking RankByWaitMatrix(const JoinedTrace& joined);

// Best median over own median of the time before each kind of operation; accused below 0.75 (nvidia-resiliency-ext).
Ranking RankByMedianRatio(const JoinedTrace& joined);

// From one score per rank index; used by the functions above.
Ranking RankedByScore(const std::vector<double>& scores, const std::vector<bool>& accused);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_BASELINES_BASELINE_H_
