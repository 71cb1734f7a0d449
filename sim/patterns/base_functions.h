// What the ranks of healthy jobs spend their time on, by framework: the functions and the usual range of their shares
// of a step. Immutable.

#ifndef LOCKSTEP_SIM_PATTERNS_BASE_FUNCTIONS_H_
#define LOCKSTEP_SIM_PATTERNS_BASE_FUNCTIONS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "detector/patterns/function_kind.h"
#include "detector/patterns/rank_patterns.h"

namespace lockstep {

inline constexpr int kFrameworks = 4;
inline constexpr uint8_t kMegatron = 1;
inline constexpr uint8_t kConvolutions = 2;  // DDP
inline constexpr uint8_t kSharded = 4;       // FSDP
inline constexpr uint8_t kRecommender = 8;
inline constexpr uint8_t kLanguage = kMegatron | kSharded;
inline constexpr uint8_t kAllFrameworks = 15;

enum class OnStages : uint8_t { kAll, kFirst, kLast };

struct BaseFunction {
  FunctionKind kind;
  const char* name;
  uint8_t frameworks;
  OnStages stages;
  double least_share;  // of a step, waiting not included
  double most_share;
  int32_t least_calls;  // per step
  int32_t most_calls;
  double spread;  // of the duration of a call
  Utilisation utilisation;
  double mu;
};

absl::Span<const BaseFunction> AllBaseFunctions();

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_PATTERNS_BASE_FUNCTIONS_H_
