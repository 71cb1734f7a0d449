// Stacks of one process on demand: what its threads wait for in the kernel, and which functions of Python, C and C++
// they are in.
//
// Nothing is attached and nothing is stopped: /proc and process_vm_readv(2) are read, some times over a few seconds,
// and what differs is added up. Functions of C are those of threads that wait in the kernel (native_reader.h): of a
// thread that runs nobody knows the registers without stopping it, and one whose observer is killed may stay stopped.
//
// The process may have written anything into its memory. The work of a sample is bounded (PythonReader::kMaxReads,
// NativeReader::kMaxWork); sampling ends kAnswerNanos before the deadline, in the middle of a sample as well, and at
// once when the agent ends. Memory is bounded per process (NativeReader::kMaxBytes, StackTally::kMaxKeptBytes), and so
// is the number of processes at once (StackTurns). What this leaves out is told in the answer.

#ifndef LOCKSTEP_AGENT_STACKS_STACK_DUMP_H_
#define LOCKSTEP_AGENT_STACKS_STACK_DUMP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "agent/demands/demand_kind.h"
#include "agent/rooted_fs.h"
#include "agent/stacks/stack_turns.h"
#include "base/clock.h"

namespace lockstep {

inline constexpr uint32_t kDefaultStackSamples = 10;
inline constexpr uint32_t kMaxStackSamples = 100;
inline constexpr int64_t kDefaultStackSpanNanos = 2 * kNanosPerSecond;
inline constexpr int64_t kMaxStackSpanNanos = 10 * kNanosPerSecond;
inline constexpr int64_t kAnswerNanos = kNanosPerSecond;        // the way of an answer
inline constexpr int64_t kShortestLookNanos = kNanosPerSecond;  // whose turn comes later sees the kernel's side alone

// A wire::StackDump, for a call whose parameters are a wire::StackParameters. `root` is where proc/ is. NOT_FOUND when
// the process has ended, even in the middle, or its pid is of another one by now; CANCELLED when the agent ends. Waits
// for one of the `turns`.
absl::StatusOr<std::string> DumpStacks(const RootedFs& root, const DemandCall& call, StackTurns& turns,
                                       const Clock& clock);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_STACK_DUMP_H_
