// The numbers by which peer_group.h compares, and where each comes from.
//
// "Empirical" means chosen on the tuning numbers of `lockstep eval counters`, which no reported figure is of
// (docs/counters.md, Constants). Immutable.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_PEER_GROUP_LIMITS_H_
#define LOCKSTEP_DETECTOR_COUNTERS_PEER_GROUP_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "detector/stats/false_alarm_budget.h"

namespace lockstep::peer_group {

// Of a normal: from a mean absolute deviation to the standard deviation, the root of pi / 2.
inline constexpr double kMeanToSigma = 1.2533;

// Of two units nobody can tell which one is odd.
inline constexpr size_t kFewestValues = 3;

// Shares of the evidence that an alarm needs. Away from half of it on: chance is e^-13 then, of some 26 nats.
inline constexpr double kAwayShare = 0.5;
// Empirical, below kAwayShare: nothing is learnt from a unit that may be on its way.
inline constexpr double kCalmShare = 1.0 / 3;
// Empirical, below kCalmShare: a new phase is learnt with care.
inline constexpr double kDoubtful = 0.15;
// At which sums stop growing: a unit that is well again is so after at most five times what made it odd.
inline constexpr double kMostShares = 5;
// Three readings at least, however long a tick is, unless one reading is a surprisal (tail_record.h).
inline constexpr double kLargestStep = 0.4;

// Residuals count no more than so many sigma when noise is learnt: of a normal, 6 in 100,000 lie beyond, so that the
// noise of a normal is learnt as it is and a wild reading is not.
inline constexpr double kWildest = 4;
// A healthy machine's normal score among its peers, at most: 1e-7 of them stand further out.
inline constexpr double kNaturalScore = 5.2;
// From then on Student's t is normal, to 2 % at kNaturalScore.
inline constexpr double kMostFreedom = 500;

// Empirical: how far and how long a baseline may move while its phase is new, in spreads between machines and ticks.
inline constexpr double kYoungReach = 3;
inline constexpr uint16_t kYoungTicks = 20;
// As many ticks as the error of a place needs to fall to a third of the noise.
inline constexpr uint16_t kResettledTicks = 10;
// The error of a mean of so many seconds is a tenth of the noise of a tick: a shift by one sigma shows beyond it.
inline constexpr double kEstablishedSeconds = 120;
// A noise that is known from 20 readings is wrong by 16 %. Of slow metrics as many as kEstablishedSeconds hold, at
// least 8: wrong by 25 %.
inline constexpr double kWarmUpTicks = 20;
inline constexpr double kFewestWarmUpTicks = 8;
// Of a 16-bit counter.
inline constexpr uint16_t kMostSeen = 60'000;
// A mean over the last five ticks or so, for what people are shown.
inline constexpr double kRecentWeight = 0.2;

// Where the median is 0, differences below this share of the mean are none. Empirical.
inline constexpr double kMagnitudeFloor = 0.1;
// Of the resolution: noise that is 0 would never be learnt again. A uniform rounding error has 0.29 of a step.
inline constexpr double kNoiseFloor = 0.25;

// How long noise remembers itself until that is known: AR(1) with 0.7 from second to second; simulated noise
// has 0.5 (sim/counters/counter_spec.h). It counts as much as 80 blocks, after which the error is 16 %.
inline constexpr double kMemorySeconds = 3;
inline constexpr double kPriorBlocks = 80;
// Of what is not known. Empirical.
inline constexpr double kLeastInflation = 1.5;
// From then on old blocks are forgotten: three days of seconds.
inline constexpr double kMostBlocks = 20'000;

// Work is added up over two steps of 10 s, the usual length, or three ticks.
inline constexpr double kNetSeconds = 20;
inline constexpr double kNetTicks = 3;
// Of a tick: machines that sample at moments spread over a tick lie this far apart, in the mean over pairs.
inline constexpr double kSampledApart = 0.35;

// Nats, from which a shift since the degradation is listed: half of the least that accuses.
inline constexpr double kLeastSinceDegradation = kLeastInHang / 2;
// What peers scatter by at least, in resolutions: over a while, and in work, which is compared in sums. Means of a
// dozen readings are known to a quarter of a step, sums of work to less. Empirical.
inline constexpr double kLeastScatter = 0.25;
inline constexpr double kLeastWorkScatter = 0.1;
// Three standard errors of a scatter known from n units, which is wrong by a share of about 1 / root of n.
inline constexpr double kScatterErrors = 3;
// Ticks that one value of a counter may cover beside its own: longer ones hold restarts, which take 10 s.
inline constexpr int kMostMissed = 6;

}  // namespace lockstep::peer_group

#endif  // LOCKSTEP_DETECTOR_COUNTERS_PEER_GROUP_LIMITS_H_
