// What a rank is about while a job is played: its host's program and its GPU's streams. Plain values;
// thread-compatible.

#ifndef LOCKSTEP_SIM_SECOND_RANK_STATE_H_
#define LOCKSTEP_SIM_SECOND_RANK_STATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "sim/second/script.h"

namespace lockstep::second {

// What a stream has to do, in order.
struct Item {
  Instruction instruction;
  int step = 0;
  int64_t launched_ns = 0;  // when the host is done with launching it
  int64_t record = -1;      // number of the rank's operation
  uint64_t sequence = 0;
};

struct StreamState {
  std::deque<Item> queue;
  bool busy = false;
  int64_t free_ns = 0;
};

// The kernel that computes on a GPU.
struct Kernel {
  bool running = false;
  double left_ns = 0;
  double speed = 1;
  int64_t since_ns = 0;
  uint64_t version = 0;
  int64_t least_end_ns = 0;
};

enum class Wait : uint8_t { kNothing, kRoom, kDrain, kEvent, kMeeting, kForever };

struct RankState {
  std::vector<Instruction> script;
  size_t next = 0;
  int step = -1;
  int32_t next_event = 0;
  Wait wait = Wait::kNothing;
  int32_t wait_event = -1;
  int outstanding = 0;
  int operations_running = 0;
  bool dead = false;
  bool frozen_kernel = false;
  int64_t last_begin_ns = 0;
  std::array<StreamState, kStreams> streams;
  Kernel kernel;
  std::vector<char> fired;
  absl::flat_hash_map<uint64_t, uint64_t> sequences;
  size_t stop_at = SIZE_MAX;  // instruction at which the program stands still
  size_t freeze_at = SIZE_MAX;
};

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_RANK_STATE_H_
