// Parts of a recording, as somebody would hold them who looked earlier. Pure functions; O(operations).

#ifndef LOCKSTEP_EVAL_SUITES_TRACE_CUT_H_
#define LOCKSTEP_EVAL_SUITES_TRACE_CUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "detector/model/trace.h"

namespace lockstep {

// The same job with those operations for which `keep` is true, as it leaves them. It is asked in the order of the
// trace, of the operation at index `i`, of the rank at index `rank`.
using KeepOperation = absl::FunctionRef<bool(size_t rank, size_t i, TraceOperation* operation)>;
Trace KeepOperations(const Trace& trace, KeepOperation keep);

// What was recorded until `host_ns` on every host's own clock: later operations are missing, those under way have not
// begun or not ended. Hosts whose clocks are apart are cut as far apart. Like a file, it does not tell when it was
// made.
Trace UntilTime(const Trace& trace, int64_t host_ns);

// The same as an agent delivers it, which says when it looked: at host_ns, at every rank but those of `silent_hosts`.
Trace SeenByAgents(const Trace& trace, int64_t host_ns, const std::vector<std::string>& silent_hosts);

// The first `steps` of `all_steps` steps of every rank, by its number of operations: exact for recordings without
// losses of jobs that do the same in every step.
Trace FirstSteps(const Trace& trace, int64_t steps, int64_t all_steps);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SUITES_TRACE_CUT_H_
