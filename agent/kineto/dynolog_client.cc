#include "agent/kineto/dynolog_client.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/status/statusor.h"
#include "agent/unique_fd.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int64_t kLookNanos = kNanosPerSecond / 10;  // between two looks at the signal to stop

// One connection. Not thread-safe.
class Conversation {
 public:
  Conversation(const Clock& clock, const StopSignal& stop)
      : clock_(clock), stop_(stop), deadline_ns_(clock.MonotonicNanos() + DynologClient::kPatienceNanos) {}

  absl::Status Connect(int port) {
    fd_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd_.valid()) return absl::ErrnoToStatus(errno, "no socket");
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return absl::OkStatus();
    if (errno != EINPROGRESS) return Absent();
    RETURN_IF_ERROR(Await(POLLOUT));
    int error = 0;
    socklen_t bytes = sizeof(error);
    const bool connected = getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0;
    return connected ? absl::OkStatus() : Absent();
  }

  absl::Status Write(const std::string& message) {
    for (size_t sent = 0; sent < message.size();) {
      RETURN_IF_ERROR(Await(POLLOUT));
      const ssize_t more = send(fd_.get(), message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
      if (more < 0 && errno != EAGAIN && errno != EINTR) return absl::ErrnoToStatus(errno, "dynolog does not listen");
      sent += static_cast<size_t>(std::max<ssize_t>(more, 0));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Read(size_t size) {
    std::string bytes(size, '\0');
    for (size_t got = 0; got < size;) {
      RETURN_IF_ERROR(Await(POLLIN));
      const ssize_t more = recv(fd_.get(), bytes.data() + got, size - got, 0);
      if (more == 0) return absl::DataLossError("dynolog has hung up without an answer: of another version, perhaps");
      if (more < 0 && errno != EAGAIN && errno != EINTR) return absl::ErrnoToStatus(errno, "dynolog does not answer");
      got += static_cast<size_t>(std::max<ssize_t>(more, 0));
    }
    return bytes;
  }

 private:
  static absl::Status Absent() {
    return absl::UnavailableError(
        "another daemon has the socket at which processes of PyTorch register, and nobody listens at dynolog's port");
  }

  absl::Status Await(short events) const {
    while (true) {
      const int64_t left_ns = deadline_ns_ - clock_.MonotonicNanos();
      if (stop_.stopped()) return absl::CancelledError("the agent ends");
      if (left_ns <= 0) return absl::DeadlineExceededError("dynolog has not answered in time");
      pollfd fd = {fd_.get(), events, 0};
      if (poll(&fd, 1, static_cast<int>(std::min(left_ns, kLookNanos) / kNanosPerMilli) + 1) > 0)
        return absl::OkStatus();
    }
  }

  const Clock& clock_;
  const StopSignal& stop_;
  const int64_t deadline_ns_;
  UniqueFd fd_;
};

}  // namespace

absl::Status DynologClient::Order(const DynologProcess& process, const std::string& order,
                                  const StopSignal& stop) const {
  Conversation dynolog(clock_, stop);
  RETURN_IF_ERROR(dynolog.Connect(port_));
  RETURN_IF_ERROR(dynolog.Write(DynologQuestion(process, order)));
  ASSIGN_OR_RETURN(const std::string head, dynolog.Read(kDynologLengthBytes));
  int32_t length = 0;
  std::memcpy(&length, head.data(), sizeof(length));
  if (length <= 0 || static_cast<size_t>(length) > kMaxDynologAnswerBytes) {
    return absl::DataLossError("what listens at dynolog's port does not answer as dynolog does");
  }
  ASSIGN_OR_RETURN(const std::string answer, dynolog.Read(static_cast<size_t>(length)));
  return ReadDynologAnswer(process, answer);
}

}  // namespace lockstep
