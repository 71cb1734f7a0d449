// Samples of the stacks of a process, added up: what each thread was in, and how often.

#ifndef LOCKSTEP_AGENT_STACKS_STACK_TALLY_H_
#define LOCKSTEP_AGENT_STACKS_STACK_TALLY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/stacks/native_sampler.h"
#include "agent/stacks/python_reader.h"
#include "agent/stacks/thread_list.h"
#include "proto/stacks.pb.h"

namespace lockstep {

// Not thread-safe.
class StackTally {
 public:
  static constexpr size_t kMaxThreads = 128;         // in an answer
  static constexpr size_t kMaxStacksOfThread = 8;    // different ones of each kind
  static constexpr size_t kMaxBytes = 192 << 10;     // of an answer
  static constexpr size_t kMaxKeptBytes = 12 << 20;  // of all stacks, in memory

  // One moment. A thread that is in `python` alone is of no interest: it has ended meanwhile, or is a lie.
  void Add(const ThreadList& kernel, const PythonSample& python, const NativeSample& native);

  // Fills in threads, names and what was left out. Threads with functions of Python come right behind the main thread
  // `pid`; what does not fit goes from the end, of the last thread the stacks that are too large.
  void Fill(int32_t pid, wire::StackDump& dump) const;

  size_t kept_bytes() const { return kept_bytes_; }

 private:
  using Frames = std::pair<std::vector<std::string>, bool>;  // outermost first, and whether it is cut
  struct Thread {
    std::string name;
    char state = '?';
    std::map<Frames, uint32_t> python;
    std::map<Frames, uint32_t> native;
    std::map<Frames, uint32_t> kernel;
  };

  // Counts it, unless the thread has too many different ones, or all threads together.
  void Count(Frames frames, std::map<Frames, uint32_t>& stacks);

  std::map<int32_t, Thread> threads_;  // by tid; at most kMaxListedThreads
  size_t kept_bytes_ = 0;
  uint64_t torn_ = 0;
  uint64_t lost_ = 0;
  size_t left_out_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_STACK_TALLY_H_
