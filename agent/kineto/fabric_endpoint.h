// The daemon's end of Kineto's IPC fabric (fabric_message.h): a datagram socket in the abstract namespace of the
// machine's network, by the name that PyTorch looks for. It lets processes register, and answers their polls:
// with an order where one was left for the process, else with nothing. Nothing is loaded into them for it.
//
// Anybody on the machine may send anything. Who a sender is comes from the kernel (SO_PASSCRED) and never from the
// datagram: its pid has to be that of the sender, as the host or as its own PID namespace counts. What is malformed,
// foreign or too much is dropped and counted by reason. A flood costs the agent kDatagramsPerTurn looks per turn at
// most; while it lasts, others may have to try again, as clients do.
//
// A container with a network of its own does not reach the socket, nor does a process whose PID namespace the agent
// does not see. Where another daemon (dynolog) has the name already, it keeps it, and the agent tries again every
// kRetryNanos; a dynolog can be asked instead (dynolog_client.h).

#ifndef LOCKSTEP_AGENT_KINETO_FABRIC_ENDPOINT_H_
#define LOCKSTEP_AGENT_KINETO_FABRIC_ENDPOINT_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/kineto/fabric_message.h"
#include "agent/kineto/fabric_refusal.h"
#include "agent/kineto/registered_processes.h"
#include "agent/kineto/user_pace.h"
#include "agent/rooted_fs.h"
#include "agent/unique_fd.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace lockstep {

// Since the start, but for `listening` and `processes`. Plain value; thread-compatible.
struct FabricStatistics {
  bool listening = false;   // the name is ours
  bool name_taken = false;  // another daemon has it
  size_t processes = 0;     // registered now
  uint64_t registrations = 0;
  uint64_t polls = 0;
  uint64_t orders = 0;                              // that were given out
  uint64_t answers_dropped = 0;                     // their receiver was gone, or did not read
  std::array<uint64_t, kFabricRefusals> refused{};  // by FabricRefusal
};

// The address of a socket in the abstract namespace, as the fabric names them: with a zero behind the name. Pure.
struct FabricAddress {
  explicit FabricAddress(absl::string_view name);
  sockaddr_un address = {};
  socklen_t bytes = 0;
};

// One that may have registered. Plain value; thread-compatible.
struct FabricProcess {
  int32_t pid = 0;           // as the agent sees it
  uint64_t start_ticks = 0;  // since boot, in clock ticks; with the pid, unique on the host
};

// Owns its socket and a thread. Thread-safe.
class FabricEndpoint {
 public:
  static constexpr char kName[] = "dynolog";
  static constexpr size_t kDatagramsPerTurn = 400;
  static constexpr int64_t kTurnNanos = kNanosPerSecond / 10;
  static constexpr int64_t kRetryNanos = 60 * kNanosPerSecond;
  static constexpr size_t kMaxOrders = 32;

  // Begins to listen, or to try to. `root` is where proc/ is. Borrows `clock`.
  FabricEndpoint(std::string name, RootedFs root, const Clock& clock);
  ~FabricEndpoint();
  FabricEndpoint(const FabricEndpoint&) = delete;
  FabricEndpoint& operator=(const FabricEndpoint&) = delete;

  FabricStatistics statistics() const;

  // Leaves an order for a process: the text is what its next poll for activities is answered with, once. Whoever leaves
  // it withdraws it. UNAVAILABLE while another daemon has the name; FAILED_PRECONDITION for a process that has not
  // registered, and where the name cannot be taken at all; ALREADY_EXISTS while it has an order; RESOURCE_EXHAUSTED
  // beyond kMaxOrders.
  absl::Status Leave(const FabricProcess& process, std::string text);

  // Whether the process has been told.
  bool IsTaken(const FabricProcess& process) const;

  void Withdraw(const FabricProcess& process);

 private:
  using ProcessId = std::pair<int32_t, uint64_t>;  // pid and start time
  struct Datagram;
  struct Order {
    std::string text;
    bool is_taken = false;
  };

  void Run();
  absl::Status Listen();
  // Looks at what is there. True = there may be more.
  bool Turn();
  // False = nothing is there.
  bool Receive(Datagram& datagram) const;
  FabricRefusal Handle(const Datagram& datagram);
  // Who has sent it. `pid` is what the sender calls himself.
  FabricRefusal Identify(const ucred& credentials, int32_t pid, FabricSender& sender) const;
  // Of a process of a job; thread-safe.
  absl::Status WhyUnregistered(int32_t pid) const;
  void Answer(const Datagram& datagram, const FabricMessage& message, const FabricSender& sender);

  const std::string name_;
  const RootedFs root_;
  const Clock& clock_;
  UniqueFd stop_;  // an eventfd: readable = stop
  UniqueFd socket_;
  UserPace pace_;

  mutable Mutex mutex_;
  RegisteredProcesses processes_ ABSL_GUARDED_BY(mutex_);
  std::map<ProcessId, Order> orders_ ABSL_GUARDED_BY(mutex_);
  FabricStatistics statistics_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: everything is ready when it starts
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KINETO_FABRIC_ENDPOINT_H_
