// The agents of a recorded job, as far as asking them for operations goes: what they hold, what they answer, and how
// many bytes that is on the wire.
//
// An agent holds what its ranks finished, in batches of a second per rank and communicator, and answers with the newest
// ones that fit, like the real one (agent/sources/rings/operation_archive.h). Its clock is that of its host. The trace
// must outlive this. Thread-compatible.

#ifndef LOCKSTEP_SIM_CAPTURE_TRACE_AGENTS_H_
#define LOCKSTEP_SIM_CAPTURE_TRACE_AGENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/model/trace.h"

namespace lockstep {

class TraceAgents {
 public:
  explicit TraceAgents(const Trace& trace);

  // Who takes part, as the agents' reports up to the end of the recording would have told. `received_ns` is when.
  Roster MakeRoster(int64_t received_ns) const;

  // The answer of a host when `share` (0 to 1) of the operations of its ranks have finished. Adds its size to `bytes`.
  PullAnswer Answer(const PullRequest& request, double share, uint64_t* bytes) const;

  CommunicatorId IdOf(int32_t communicator) const { return static_cast<CommunicatorId>(communicator) + 1; }

 private:
  struct Held {
    int64_t end_ns;
    int32_t rank;  // index in the trace
    const TraceOperation* operation;
  };

  const Trace& trace_;
  absl::flat_hash_map<std::string, size_t> host_of_name_;
  std::vector<std::vector<size_t>> host_ranks_;  // rank indices by host
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_TRACE_AGENTS_H_
