// How much of a window a group of functions takes in jobs where nothing is wrong, by framework and phase: above it
// something is, whatever the peers do. Each range says where it comes from; docs/detection.md tells them to people.
//
// The row that fits best counts: one of the framework before one of the phase before the row of all. Pure; thread-safe.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_EXPECTED_RANGES_H_
#define LOCKSTEP_DETECTOR_PATTERNS_EXPECTED_RANGES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/pattern_fleet.h"

namespace lockstep {

// What makes the kernels of the GPU.
enum class KernelFramework : uint8_t {
  kAny,
  kInductor,  // torch.compile: one kernel for what runs apart without it
};

// Which part of a job's life a window shows, as far as it says so.
enum class WindowPhase : uint8_t {
  kAny,
  kUnmarked,  // no steps are marked: it may lie inside a single long call
};

struct ExpectedRange {
  FunctionGroup group;
  KernelFramework framework;
  WindowPhase phase;
  double most_beta;    // of all functions of the group together; 1 = any
  const char* source;  // who says so, or what it was measured in
};

// Each group has a row of any framework and phase.
absl::Span<const ExpectedRange> AllExpectedRanges();

const ExpectedRange& ExpectedRangeOf(FunctionGroup group, KernelFramework framework, WindowPhase phase);

// By the names of kernels: O(functions).
KernelFramework FrameworkOf(const PatternFleet& fleet);

// Unmarked: most of the workers have no steps. O(workers).
WindowPhase PhaseOf(const PatternFleet& fleet);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_EXPECTED_RANGES_H_
