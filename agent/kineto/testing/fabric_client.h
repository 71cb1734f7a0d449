// What PyTorch has of Kineto's fabric, for tests: a socket with a name of its own that registers, polls and waits for
// answers; and what a hostile program would send.

#ifndef LOCKSTEP_AGENT_KINETO_TESTING_FABRIC_CLIENT_H_
#define LOCKSTEP_AGENT_KINETO_TESTING_FABRIC_CLIENT_H_

#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "agent/unique_fd.h"

namespace lockstep {

// Not thread-safe.
class FabricClient {
 public:
  // `name` is its own in the abstract namespace, or a path if it begins with '/'; "" = none. Dies where it is taken.
  FabricClient(std::string daemon, const std::string& name);

  // Whether the message left: the queue of the daemon may be full, or nobody may have its name.
  bool Register(int32_t device, int32_t pid, int64_t job) const;
  // `kinds` of profiles: 1 = events, 2 = activities.
  bool Poll(int32_t pid, int64_t job, int32_t kinds = 2) const;
  // `descriptor` goes with it, unless it is -1.
  bool Send(const std::string& datagram, int descriptor = -1) const;

  // The body of the next answer, whose type must be `type`; waits for it for ten seconds.
  absl::optional<std::string> Receive(const std::string& type) const;

 private:
  std::string daemon_;
  UniqueFd socket_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KINETO_TESTING_FABRIC_CLIENT_H_
