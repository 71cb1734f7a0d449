// Plays a job as discrete events: hosts launch ahead, streams work through their queues in order, operations begin when
// the last member's stream has got there and end when their bytes have moved.
//
// Pure: equal arguments, equal playback, whatever the machine.

#ifndef LOCKSTEP_SIM_SECOND_PLAYER_H_
#define LOCKSTEP_SIM_SECOND_PLAYER_H_

#include <cstdint>
#include <vector>

#include "detector/model/operation_kind.h"
#include "sim/second/fault.h"
#include "sim/second/layout.h"
#include "sim/second/world.h"

namespace lockstep::second {

inline constexpr int64_t kNever = -1;

// One operation of one rank in true time.
struct OperationPlayed {
  OperationKind operation = OperationKind::kUnknown;
  int32_t group = -1;
  int32_t peer = -1;
  int32_t step = 0;
  uint8_t stream = 0;
  uint64_t sequence = 0;
  uint64_t bytes = 0;
  int64_t enqueue_ns = 0;
  int64_t start_ns = kNever;
  int64_t end_ns = kNever;
};

struct Playback {
  std::vector<std::vector<OperationPlayed>> operations;  // by rank, in the order of the calls
  std::vector<int64_t> step_end_ns;                      // when the last GPU had done the step; those that all did
  int64_t last_event_ns = 0;
  std::vector<int64_t> died_ns;  // by rank; kNever = lives
  bool hung = false;
};

Playback Play(const World& world, const Layout& layout, const std::vector<Fault>& faults);

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_PLAYER_H_
