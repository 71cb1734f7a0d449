// Which functions are one thing, and what it means when that thing takes long.
//
// The table knows functions by words in their names; whoever adds a framework adds rows. How much of a window a group
// may take is in expected_ranges.h. Pure functions; thread-safe.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_FUNCTION_GROUP_H_
#define LOCKSTEP_DETECTOR_PATTERNS_FUNCTION_GROUP_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "detector/patterns/function_kind.h"

namespace lockstep {

// Why functions take long.
enum class PatternClass : uint8_t {
  kDataLoading,
  kGarbageCollection,
  kKernelLaunch,  // launches, and synchronisation with the GPU or among ranks
  kMemoryCopies,
  kSlowKernel,
  kCommunicationWait,
  kRecompilation,
  kSwapping,  // allocation and paging, of the GPU or the host
  kHostContention,
  kHostWork,  // Python, operators and ranges that nothing more is known of
};

// "data loading", ...
const char* Name(PatternClass pattern_class);

enum class FunctionGroup : uint8_t {
  kMatrixProduct,
  kConvolution,
  kAttention,
  kNormalisation,
  kElementwise,
  kEmbedding,
  kOptimizerKernel,
  kOtherKernel,
  kCopyOverBus,
  kCopyOnDevice,
  kCollective,
  kBarrier,
  kLaunch,
  kSynchronisation,
  kAllocation,
  kDataLoading,
  kGarbageCollection,
  kCompilation,
  kCheckpoint,
  kOtherHost,
};

inline constexpr int kFunctionGroups = 20;  // as many as there are above

struct GroupTraits {
  const char* name;
  PatternClass pattern_class;
  bool one_thing;    // its functions are judged together; else one by one
  bool takes_calls;  // what its functions call counts as theirs (critical_path.h)
};

const GroupTraits& TraitsOf(FunctionGroup group);

FunctionGroup GroupOf(FunctionKind kind, absl::string_view name);

// "ncclDevKernel_AllReduce_...", and kernels of RCCL and oneCCL.
bool IsCollectiveKernel(absl::string_view name);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_FUNCTION_GROUP_H_
