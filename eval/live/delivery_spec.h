// What happens to records and reports between a GPU and the collector's engine. Zeros = nothing.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_EVAL_LIVE_DELIVERY_SPEC_H_
#define LOCKSTEP_EVAL_LIVE_DELIVERY_SPEC_H_

namespace lockstep {

// How far recorded begins are from the truth. Durations stay as they are: a recorder takes both ends from one clock.
struct RecorderErrors {
  double wander_seconds = 0;      // amplitude of a slow wave that shifts all begins of a rank together
  double jitter_seconds = 0;      // standard deviation from one operation to the next
  double enqueue_only_share = 0;  // of the ranks: their recorder knows when work was enqueued and when it was over
};

// How reports travel. Those of one host arrive in the order in which they were made, as on one stream.
struct DeliverySpec {
  RecorderErrors recorder;
  double latency_seconds = 0;     // mean of the usual way from agent to collector; exponential
  double stall_share = 0;         // of reports: the connection breaks here, and what is made meanwhile is sent later
  double stall_seconds = 0;       // mean length of a break; exponential, at most kMaxStallSeconds
  double lost_share = 0;          // of reports: thrown away by the agent, which says so in its next report
  double late_agent_share = 0;    // of hosts: their agent is started while the job runs already
  double late_agent_seconds = 0;  // after the begin of the job, at most; uniform
};

// Below the time after which a silent machine counts as unreachable (JobEngineOptions::host_silent_ns, 15 s): a longer
// break may rightly be accused, and belongs into a suite of its own.
inline constexpr double kMaxStallSeconds = 10;

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_DELIVERY_SPEC_H_
