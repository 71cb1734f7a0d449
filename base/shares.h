// What rules of judging mean by "few", "a minor part" and "nearly all" of a whole, where no theory tells the number.
//
// One number per word, so that all rules mean the same by it. Immutable; thread-safe.

#ifndef LOCKSTEP_BASE_SHARES_H_
#define LOCKSTEP_BASE_SHARES_H_

namespace lockstep {

// By judgement, not measured.
inline constexpr double kFew = 0.1;
inline constexpr double kMinorPart = 0.25;
inline constexpr double kNearlyAll = 0.8;

// The rest of a whole.
inline constexpr double kAllButFew = 1 - kFew;
inline constexpr double kMajorPart = 1 - kMinorPart;
// With more than half, no second one can be the main part as well.
inline constexpr double kMainPart = 0.5;

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_SHARES_H_
