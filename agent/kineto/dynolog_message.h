// How a dynolog is asked to have a process of PyTorch take a profile: its RPC over TCP, which `dyno gputrace` speaks.
//
// A message, either way, is its length (4 bytes, signed, in the byte order of the machine) and so many bytes of JSON.
// One question and one answer per connection. To what it cannot read, dynolog answers by hanging up.
//
//   question  {"fn": "setKinetOnDemandRequest", "config": ORDER, "job_id": 0, "pids": [4711], "process_limit": 1}
//   answer    {"processesMatched": [4711], "activityProfilersTriggered": [4711], "activityProfilersBusy": 0, ...}
//             or {"status": WHY NOT}
//
// job_id is what the process has registered with: its SLURM_JOB_ID, or 0. A pid matches a process that calls itself or
// one of its ancestors so; the answer names processes as they call themselves. There is no way to take an order back.
// Pure.

#ifndef LOCKSTEP_AGENT_KINETO_DYNOLOG_MESSAGE_H_
#define LOCKSTEP_AGENT_KINETO_DYNOLOG_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lockstep {

inline constexpr size_t kDynologLengthBytes = 4;
inline constexpr size_t kMaxDynologAnswerBytes = size_t{64} << 10;  // the answer to one pid has some hundred

// The process as dynolog knows it. Plain value; thread-compatible.
struct DynologProcess {
  int32_t pid = 0;  // as it calls itself
  int64_t job = 0;  // 0 = none
};

// A whole message.
std::string DynologQuestion(const DynologProcess& process, const std::string& order);

// What the JSON of an answer says: OK, if this process and no other has the order now. FAILED_PRECONDITION for one that
// has not registered, and for a refusal; ALREADY_EXISTS while it has another order; DATA_LOSS for no answer at all.
absl::Status ReadDynologAnswer(const DynologProcess& process, absl::string_view json);

// SLURM_JOB_ID of an environment as /proc/PID/environ has it; 0 = there is none, or it is no number.
int64_t SlurmJobOf(absl::string_view environment);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KINETO_DYNOLOG_MESSAGE_H_
