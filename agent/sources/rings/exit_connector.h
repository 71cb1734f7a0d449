// Hears from the kernel's process connector (cn_proc) how processes of this host end, and exactly when.
//
// It works in the first network, PID and user namespace: before Linux 6.6 with CAP_NET_ADMIN only, since then without
// any right. The kernel filters: of all that processes do, only the end of whole processes comes in. Nobody who is
// watched notices.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_EXIT_CONNECTOR_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_EXIT_CONNECTOR_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/unique_fd.h"

namespace lockstep {

// Not thread-safe. Movable.
class ExitConnector {
 public:
  // One process, as a whole.
  struct Exit {
    int32_t pid = 0;
    int status = 0;     // as of wait(2)
    int64_t at_ns = 0;  // CLOCK_MONOTONIC
  };
  // Messages taken by one Read. A host that ends more processes than that between two reads fills the socket, and the
  // kernel drops what does not fit: those ends are then learnt in another way, or not.
  static constexpr int kMaxMessagesPerRead = 4'096;

  // PERMISSION_DENIED, UNAVAILABLE or what the errno says where the kernel does not tell us.
  static absl::StatusOr<ExitConnector> Open();

  ExitConnector(ExitConnector&&) = default;
  ExitConnector& operator=(ExitConnector&&) = default;
  ~ExitConnector();

  // All that has come since the last call. Never blocks.
  void Read(absl::FunctionRef<void(const Exit&)> take);

  // The end of a process that one message tells of, or nothing. Pure.
  static absl::optional<Exit> Parse(absl::string_view message);

 private:
  explicit ExitConnector(UniqueFd socket) : socket_(std::move(socket)) {}

  UniqueFd socket_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_EXIT_CONNECTOR_H_
