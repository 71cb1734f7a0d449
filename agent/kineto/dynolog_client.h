// Asks the dynolog of this machine for what the endpoint (fabric_endpoint.h) cannot do while dynolog has its name.
//
// Whoever listens at the port may be anybody: he learns where a process is to write its trace, and his answer, of
// bounded size, is that of a stranger. Only the machine itself is asked.

#ifndef LOCKSTEP_AGENT_KINETO_DYNOLOG_CLIENT_H_
#define LOCKSTEP_AGENT_KINETO_DYNOLOG_CLIENT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "agent/kineto/dynolog_message.h"
#include "base/clock.h"
#include "base/stop_signal.h"

namespace lockstep {

// Thread-safe.
class DynologClient {
 public:
  static constexpr int kPort = 1778;                              // dynolog's own default
  static constexpr int64_t kPatienceNanos = 5 * kNanosPerSecond;  // for the whole conversation

  // `port` of 127.0.0.1. Borrows `clock`.
  DynologClient(int port, const Clock& clock) : port_(port), clock_(clock) {}

  // Has `order` given to the process when it next asks. Errors as ReadDynologAnswer; UNAVAILABLE where nobody listens;
  // DEADLINE_EXCEEDED for no whole answer in time; CANCELLED once told to stop. Blocks for kPatienceNanos at most.
  absl::Status Order(const DynologProcess& process, const std::string& order, const StopSignal& stop) const;

 private:
  const int port_;
  const Clock& clock_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KINETO_DYNOLOG_CLIENT_H_
