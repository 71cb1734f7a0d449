// The processes that have registered by Kineto's fabric, as the kernel knows them. Limits are per user and in all, so
// that a user who fills his share leaves room for the others.

#ifndef LOCKSTEP_AGENT_KINETO_REGISTERED_PROCESSES_H_
#define LOCKSTEP_AGENT_KINETO_REGISTERED_PROCESSES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "agent/kineto/fabric_message.h"
#include "agent/kineto/fabric_refusal.h"
#include "base/clock.h"

namespace lockstep {

// Who has sent a datagram. Plain value; thread-compatible.
struct FabricSender {
  int32_t pid = 0;           // as the agent sees it
  uint64_t start_ticks = 0;  // since boot, in clock ticks; with the pid, unique on the host
  uint32_t uid = 0;
};

// Not thread-safe.
class RegisteredProcesses {
 public:
  static constexpr size_t kMaxProcesses = 512;  // as rings
  static constexpr size_t kMaxProcessesPerUser = 128;
  static constexpr int64_t kForgetNanos = 60 * kNanosPerSecond;  // clients poll every few seconds

  // A registration, or a sign of life. A poll of somebody unknown registers him: a client registers once in its life,
  // and has to be known to an agent that started after it.
  FabricRefusal Hear(const FabricMessage& message, const FabricSender& sender, int64_t now_ns);

  bool Knows(int32_t pid, uint64_t start_ticks) const { return processes_.count({pid, start_ticks}) > 0; }

  // Of a job, with this device.
  int32_t CountOf(int64_t job, int32_t device) const;

  // Forgets who has not been heard for kForgetNanos.
  void Forget(int64_t now_ns);

  size_t size() const { return processes_.size(); }

 private:
  using ProcessId = std::pair<int32_t, uint64_t>;  // pid and start time

  struct Process {
    uint32_t uid;
    int64_t job;
    int32_t device;  // -1 = not said
    int64_t heard_ns;
  };

  std::map<ProcessId, Process> processes_;
  std::map<uint32_t, size_t> of_user_;  // by uid; none is 0
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KINETO_REGISTERED_PROCESSES_H_
