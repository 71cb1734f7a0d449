// Which threads of the host a rank waits for. The others are in the background: they delay nobody, whatever runs there.
//
// A thread leads if it carries steps, or gives the GPU a good part of its work: in PyTorch the main thread, and the
// one of the backward pass, which often launches more than the main thread does. Where nothing is launched, operators
// and driver calls show the same. On a thread that leads everything counts.
//
// On others only operators and driver calls count: these are work, while functions of Python and ranges also cover the
// waiting between two pieces of it. Where such a thread loads data (the one of DataLoader's pin_memory does), nothing
// counts: it works ahead, and a rank that lacks its data waits in its own call of the loader.
//
// 24 bytes per lane. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_HOST_LANES_H_
#define LOCKSTEP_DETECTOR_PATTERNS_HOST_LANES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/function_kind.h"

namespace lockstep {

inline constexpr size_t kMostLanes = size_t{1} << 12;  // threads and streams; further ones share the last

class HostLanes {
 public:
  // The number of a thread or stream, given at its first mention; below kMostLanes.
  uint64_t NumberOf(uint64_t lane);

  // `lane` is such a number from here on.
  void AddStep(uint64_t lane) { lanes_[lane].has_steps = true; }
  void AddCall(uint64_t lane, FunctionKind kind, FunctionGroup group);

  // Decides who leads. Call once, after all calls and steps.
  void Settle();

  // Whether a function of the host counts on `lane`. Where no lane leads, all count.
  bool Counts(uint64_t lane, FunctionKind kind) const;

 private:
  struct Lane {
    uint64_t calls = 0;     // operators and driver calls
    uint64_t launches = 0;  // driver calls that give the GPU work
    bool has_steps = false;
    bool loads_data = false;
    bool leads = false;
  };

  absl::flat_hash_map<uint64_t, uint64_t> numbers_;
  std::vector<Lane> lanes_;
  bool one_leads_ = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_HOST_LANES_H_
