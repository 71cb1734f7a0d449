#include "detector/patterns/expected_ranges.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/check.h"

namespace lockstep {
namespace {

using Group = FunctionGroup;
constexpr KernelFramework kAnyFramework = KernelFramework::kAny;
constexpr WindowPhase kAnyPhase = WindowPhase::kAny;

constexpr char kWork[] = "they are the work";
constexpr char kSimulated[] = "empirical: simulated jobs that are tuned on, and public traces";
constexpr char kPython[] = "EROICA: functions of Python take 0 to 1 %";

constexpr ExpectedRange kRanges[] = {
    {Group::kMatrixProduct, kAnyFramework, kAnyPhase, 1, kWork},
    {Group::kConvolution, kAnyFramework, kAnyPhase, 1, kWork},
    {Group::kAttention, kAnyFramework, kAnyPhase, 0.6, kSimulated},
    {Group::kNormalisation, kAnyFramework, kAnyPhase, 0.2, kSimulated},
    {Group::kElementwise, kAnyFramework, kAnyPhase, 0.45, "6 to 30 % in public traces"},
    {Group::kEmbedding, kAnyFramework, kAnyPhase, 0.4, kSimulated},
    {Group::kOptimizerKernel, kAnyFramework, kAnyPhase, 0.2, kSimulated},
    {Group::kOtherKernel, kAnyFramework, kAnyPhase, 0.5, kSimulated},
    {Group::kOtherKernel, KernelFramework::kInductor, kAnyPhase, 0.65,
     "its kernels are fused of elementwise ones and normalisation, which may take 45 and 20 % apart"},
    {Group::kCopyOverBus, kAnyFramework, kAnyPhase, 0.05, "prefetched copies hide behind compute"},
    {Group::kCopyOnDevice, kAnyFramework, kAnyPhase, 0.1, kSimulated},
    {Group::kCollective, kAnyFramework, kAnyPhase, 0.5, "half of the step is exposed"},
    {Group::kBarrier, kAnyFramework, kAnyPhase, 0.05, "they move nothing"},
    {Group::kLaunch, kAnyFramework, kAnyPhase, 0.1, "the host runs ahead of the GPU"},
    {Group::kSynchronisation, kAnyFramework, kAnyPhase, 0.05, "the host runs ahead of the GPU"},
    {Group::kAllocation, kAnyFramework, kAnyPhase, 0.02, "caching allocators allocate at the start"},
    {Group::kDataLoading, kAnyFramework, kAnyPhase, 0.02, "EROICA: as Python's, of which a group may have two"},
    {Group::kGarbageCollection, kAnyFramework, kAnyPhase, 0.01, kPython},
    {Group::kCompilation, kAnyFramework, kAnyPhase, 0.01, kPython},
    {Group::kCheckpoint, kAnyFramework, kAnyPhase, 0.05, "a profile may hit one"},
    {Group::kCheckpoint, kAnyFramework, WindowPhase::kUnmarked, 1, "a window of no whole step may lie inside one"},
    {Group::kOtherHost, kAnyFramework, kAnyPhase, 0.4, kSimulated},
};

// How well a row fits; below zero: not at all.
int Fit(const ExpectedRange& range, KernelFramework framework, WindowPhase phase) {
  const bool of_framework = range.framework == framework;
  const bool of_phase = range.phase == phase;
  if (!of_framework && range.framework != kAnyFramework) return -1;
  if (!of_phase && range.phase != kAnyPhase) return -1;
  return (range.framework != kAnyFramework ? 2 : 0) + (range.phase != kAnyPhase ? 1 : 0);
}

}  // namespace

absl::Span<const ExpectedRange> AllExpectedRanges() { return kRanges; }

const ExpectedRange& ExpectedRangeOf(FunctionGroup group, KernelFramework framework, WindowPhase phase) {
  const ExpectedRange* best = nullptr;
  for (const ExpectedRange& range : kRanges) {
    if (range.group != group || Fit(range, framework, phase) < 0) continue;
    if (best == nullptr || Fit(range, framework, phase) > Fit(*best, framework, phase)) best = &range;
  }
  CHECK(best != nullptr);
  return *best;
}

KernelFramework FrameworkOf(const PatternFleet& fleet) {
  constexpr absl::string_view kFused[] = {"triton_red_fused", "triton_per_fused"};
  for (const FleetFunction& function : fleet.functions()) {
    const bool is_fused = std::any_of(std::begin(kFused), std::end(kFused),
                                      [&](absl::string_view word) { return absl::StartsWith(function.name, word); });
    if (function.kind == FunctionKind::kGpuCompute && is_fused) return KernelFramework::kInductor;
  }
  return kAnyFramework;
}

WindowPhase PhaseOf(const PatternFleet& fleet) {
  const auto& workers = fleet.workers();
  const auto marked = static_cast<size_t>(
      std::count_if(workers.begin(), workers.end(), [](const FleetWorker& worker) { return worker.steps > 0; }));
  return 2 * marked > workers.size() ? kAnyPhase : WindowPhase::kUnmarked;
}

}  // namespace lockstep
