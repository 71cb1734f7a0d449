// A small job whose every call is written down, run to where it can go no further.
//
// Each rank has a program: a list of calls, executed by its GPU in order, each after some compute; its host issues them
// ahead. A call ends when all members stand in it (both sides, for Send/Recv). What stops the job is injected and
// therefore known, so that whoever reads the trace can be tested against the truth instead of against an opinion.
// RandomJob writes programs that cannot get stuck by themselves: every rank meets its operations in one common order.
// Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_TESTING_SCRIPTED_JOB_H_
#define LOCKSTEP_DETECTOR_TESTING_SCRIPTED_JOB_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"

namespace lockstep {

struct ScriptedCall {
  int32_t communicator = -1;
  OperationKind kind = OperationKind::kAllReduce;
  int32_t peer = -1;  // communicator rank, for Send/Recv
  uint64_t bytes = 1024;
  int64_t compute_ns = 1'000'000;  // before it, on the GPU
  bool never_ends = false;         // set on one member: the transfer is stuck
};

struct ScriptedJob {
  int32_t gpus_per_host = 1;
  std::vector<std::vector<int32_t>> communicators;  // ranks by communicator rank
  std::vector<std::vector<ScriptedCall>> programs;  // by rank
  size_t host_lead = 8;                             // calls that a host may be ahead of its GPU
  std::vector<size_t> host_stops_at;                // by rank: the call that its host never issues; kNever
  std::vector<size_t> gpu_stops_at;                 // by rank: the call before which its GPU hangs in compute

  static constexpr size_t kNever = SIZE_MAX;
};

enum class ScriptedRecords : uint8_t {
  kFull,        // enqueue, begin and end apart
  kOneTime,     // begin = enqueue
  kActiveOnly,  // nothing but what is open, enqueue times only
};

struct ScriptedRun {
  Trace trace;
  bool finished = false;  // every program ran to its end
  size_t blocked = 0;     // ranks that did not, beyond those told to stop
  int64_t end_ns = 0;     // when the last thing happened, true time
};

// A job of tensor x data x pipeline ranks (tensor fastest): tensor collectives, Send/Recv between stages, a collective
// of each data group per step and one of the world.
ScriptedJob RandomJob(int32_t tensor, int32_t data, int32_t pipeline, int32_t steps, Random& random);

// `cut_ns` >= 0: records end at this true time, whatever the job goes on to do. Clocks of hosts are offset at random.
ScriptedRun RunScript(const ScriptedJob& job, ScriptedRecords records, Random& random, int64_t cut_ns = -1);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_SCRIPTED_JOB_H_
