// One question to the RAS service inside NCCL, over TCP, without ever waiting: each call does what can be done at once.
//
// All commands go out in one piece (handshake, time limit, JSON, STATUS); the service answers each with a line, the
// last one with the status, and closes the connection. It asks every process of the job first, which takes up to
// kCollectionSeconds when one does not answer.
//
// Errors: NOT_FOUND nobody listens; UNIMPLEMENTED a RAS service without JSON (NCCL 2.24 to 2.28.3); OUT_OF_RANGE an
// answer beyond kMaxAnswerBytes; DATA_LOSS an answer that breaks the protocol; otherwise what the errno says.
// Not thread-safe.

#ifndef LOCKSTEP_AGENT_SOURCES_RAS_RAS_CONVERSATION_H_
#define LOCKSTEP_AGENT_SOURCES_RAS_RAS_CONVERSATION_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "agent/unique_fd.h"

namespace lockstep {

// Where a RAS service listens: "localhost" (IPv4, then IPv6) or an IP address.
struct RasAddress {
  std::string host;
  uint16_t port = 0;
};

// INVALID_ARGUMENT for what is no HOST:PORT. IPv6 addresses stand in brackets. Pure.
absl::StatusOr<RasAddress> ParseRasAddress(const std::string& text);

class RasConversation {
 public:
  static constexpr size_t kMaxAnswerBytes = 8 << 20;  // some 20,000 members of communicators
  static constexpr int kCollectionSeconds = 5;

  // Connects.
  static absl::StatusOr<RasConversation> Open(const RasAddress& address);

  RasConversation(RasConversation&&) = default;
  RasConversation& operator=(RasConversation&&) = default;

  // Asks, or takes what has come. Nothing = the answer is not complete; the JSON text when it is.
  absl::StatusOr<absl::optional<std::string>> Continue();

 private:
  explicit RasConversation(UniqueFd socket) : socket_(std::move(socket)) {}

  // True when the question is out.
  absl::StatusOr<bool> Ask();
  absl::StatusOr<std::string> Answer();

  UniqueFd socket_;
  bool asked_ = false;
  std::string received_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RAS_RAS_CONVERSATION_H_
