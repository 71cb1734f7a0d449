// Functions of C and C++ of all threads of a process that wait in the kernel, at one moment after the other.

#ifndef LOCKSTEP_AGENT_STACKS_NATIVE_SAMPLER_H_
#define LOCKSTEP_AGENT_STACKS_NATIVE_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/rooted_fs.h"
#include "agent/stacks/native_reader.h"
#include "agent/stacks/remote_memory.h"
#include "agent/stacks/thread_list.h"

namespace lockstep {

struct NativeSample {
  std::vector<std::pair<int32_t, NativeStack>> stacks;  // by tid
  uint32_t lost = 0;                                    // threads that went on while they were read
};

// Borrows root and memory. Not thread-safe.
class NativeSampler {
 public:
  // `maps`: the text of /proc/PID/maps; code that is mapped later has no names.
  // `is_over`: whether to stop in the middle of a sample; empty = never.
  NativeSampler(const RootedFs& root, int32_t pid, RemoteMemory& memory, absl::string_view maps,
                std::function<bool()> is_over = nullptr)
      : root_(root), pid_(pid), reader_(memory, maps, std::move(is_over)) {}

  // Of threads that were listed a moment ago. What a thread was in counts only if it waits for the very same still.
  // Costs at most NativeReader::kMaxWork. Threads that this did not suffice for are counted, and the next sample begins
  // with them; one that is too much for a whole sample is not read again.
  NativeSample Sample(const ThreadList& threads);

  // What is not in the samples so far, and why: one sentence each.
  std::vector<std::string> LeftOut() const;

 private:
  const RootedFs& root_;
  const int32_t pid_;
  NativeReader reader_;
  size_t next_ = 0;             // index of the thread that a sample begins with
  std::set<int32_t> too_much_;  // tids; one for each sample at most
  uint64_t stacks_ = 0, running_ = 0, unread_ = 0, cut_ = 0, searched_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_NATIVE_SAMPLER_H_
