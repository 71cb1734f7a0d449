// How much evidence an alarm needs, so that healthy machines raise as few false ones as was promised.
//
// Evidence is counted in nats: the logarithm of "how much likelier is this if something changed than if nothing did",
// summed over time by CUSUM (Page 1954), which starts anew whenever the sum falls below 0. With independent ticks and
// normal noise a healthy series reaches h nats at most e^-h times per tick: each start of the sum is a likelihood
// ratio, and by Ville's inequality one of mean 1 ever exceeds e^h with probability e^-h at most. Hence for a budget of
// B false alarms per machine and day, S series per machine and T ticks per day: h = ln(S T / B). That sum is the same
// for 4 machines and for 10,000, since the budget is per machine: a fleet's budget is B times its machines.
//
// Three things break the assumption, and each has its answer:
// - Noise remembers. Sums over several ticks then vary more than with independent ticks: PeerGroup measures by how much
//   and widens the scale by it (the effective sample size).
// - The scale is itself estimated. A distance measured on few degrees of freedom has the tail of Student's t: NormalOf
//   brings it back to that of a normal distribution (Wallace 1959), and StudentOf goes the other way: how far from N
//   peers a machine may stand by its nature.
// - Noise has wild moments. No tick may add more than its share (h per min_persistence), so that only what lasts can
//   reach h, however wild it is.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_DETECTOR_STATS_FALSE_ALARM_BUDGET_H_
#define LOCKSTEP_DETECTOR_STATS_FALSE_ALARM_BUDGET_H_

#include <cstdint>

namespace lockstep {

// Nats that an alarm needs. All arguments > 0; at least kLeastEvidence.
double EvidenceNeeded(double series_per_machine, double tick_seconds, double false_alarms_per_machine_day);

// One in ten million: below that the model of the noise is not to be trusted, whatever the budget.
inline constexpr double kLeastEvidence = 16;

// The same for what begins at the very moment at which a job hangs. Something is at fault then, so that one look at all
// `series` of the job is what chance has, and `false_alarms_per_hang` is what may go wrong. At least kLeastInHang.
double EvidenceInHang(double series, double false_alarms_per_hang);

// One in 20,000: the same where one look is all that chance has.
inline constexpr double kLeastInHang = 10;

// The normal score of about the same tail probability as `t` of Student's distribution. `freedom` >= 1. Keeps the sign.
double NormalOf(double t, double freedom);
// The inverse. At most kFurthest.
double StudentOf(double normal, double freedom);

// Bound: a ratio of rates that far is beyond any budget.
inline constexpr double kFurthest = 1e6;

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_FALSE_ALARM_BUDGET_H_
