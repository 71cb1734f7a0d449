// How sure an accusation is of those whom it names.
//
// These are ranks of how directly the records show a culprit, and not probabilities: nothing calibrates them.
// Immutable; thread-safe.

#ifndef LOCKSTEP_DETECTOR_VERDICT_CONFIDENCE_H_
#define LOCKSTEP_DETECTOR_VERDICT_CONFIDENCE_H_

namespace lockstep {

// By judgement, not measured.
inline constexpr double kPlainConfidence = 0.97;  // a rank stands where the others do not
inline constexpr double kSureConfidence = 0.95;   // one of many, by its own numbers
inline constexpr double kLikelyConfidence = 0.8;  // by what others say of it, or one of a pair
inline constexpr double kUnseenConfidence = 0.6;  // nothing is recorded of it
// As likely as not.
inline constexpr double kDoubtfulConfidence = 0.5;

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_CONFIDENCE_H_
