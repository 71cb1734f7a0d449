// What a driver process did, for the test that started it: one line of text per operation, and sums.

#ifndef LOCKSTEP_TESTS_NCCL_TRUTH_H_
#define LOCKSTEP_TESTS_NCCL_TRUTH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/nccl/played_proxy.h"
#include "tests/nccl/rank_script.h"

namespace lockstep::nccl {

// Times are nanoseconds of CLOCK_MONOTONIC; see PlayedOperation. Plain values, thread-compatible.
struct TrueOperation {
  uint64_t communicator = 0;
  int32_t rank = 0;
  std::string function;
  uint64_t bytes = 0;  // of the argument `count`
  int32_t ranks = 0;   // of the communicator
  uint32_t datatype_bytes = 0;
  int32_t peer = -1;
  int32_t root = 0;
  int32_t channels = 0;
  bool is_copy_engine = false;
  bool is_symmetric = false;
  bool was_delivered = false;
  bool has_kernel_events = false;
  bool has_gpu_times = false;
  int64_t launch_begin_ns = 0;
  int64_t launched_ns = 0;
  int64_t began_ns = 0;
  int64_t began_seen_ns = 0;
  int64_t ended_ns = 0;
  int64_t ended_seen_ns = 0;
  int32_t channels_begun = 0;
  int32_t channels_ended = 0;
};

struct TrueWaits {
  uint64_t communicator = 0;
  int32_t rank = 0;
  int32_t peer = 0;
  bool is_send = false;
  PlayedWaits waits;
};

struct Truth {
  int version = 0;                        // of the interface in use
  uint32_t release = 0;                   // what ncclGetVersion says
  int accepted_ranks = 0;                 // that the plugin did not decline
  uint32_t mask = 0;                      // after the first init
  uint64_t violations = 0;                // see EventCaller
  std::vector<uint32_t> masks;            // after each phase
  std::vector<TrueOperation> operations;  // by phase and rank, in order of launch
  std::vector<TrueWaits> waits;           // by phase
};

// Appends what one rank did. REQUIRES: its threads have ended.
void AddRank(PlayedRank& rank, const RankScript& script, Truth& truth);

// The file appears complete or not at all. False = it could not be written or read.
bool WriteTruth(const Truth& truth, const std::string& path);
bool ReadTruth(const std::string& path, Truth* truth);

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_TRUTH_H_
