#include "agent/sources/ras/ras_conversation.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

bool IsAgain(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

absl::Status FromErrno(absl::string_view what, int error) {
  if (error == ECONNREFUSED || error == EADDRNOTAVAIL || error == EAFNOSUPPORT) {
    return absl::NotFoundError("no process with NCCL's RAS service listens");
  }
  return absl::ErrnoToStatus(error, absl::StrCat("RAS service: ", what));
}

// A numeric address; nothing for what is none.
absl::optional<sockaddr_storage> Numeric(const std::string& host, uint16_t port) {
  sockaddr_storage storage = {};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    return storage;
  }
  if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    return storage;
  }
  return absl::nullopt;
}

absl::StatusOr<UniqueFd> Connect(const std::string& host, uint16_t port) {
  const absl::optional<sockaddr_storage> address = Numeric(host, port);
  if (!address.has_value()) return absl::InvalidArgumentError(absl::StrCat(host, " is no IP address"));
  UniqueFd fd(socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return FromErrno("socket", errno);
  const socklen_t bytes = address->ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), bytes) != 0 && errno != EINPROGRESS) {
    return FromErrno("connect", errno);
  }
  return fd;
}

std::string Question() {
  return absl::StrCat("CLIENT PROTOCOL 2\nTIMEOUT ", RasConversation::kCollectionSeconds,
                      "\nSET FORMAT json\nSTATUS\n");
}

// Takes a line off the front of `text`; false = there is none.
bool TakeLine(absl::string_view& text, absl::string_view& line) {
  const size_t end = text.find('\n');
  if (end == absl::string_view::npos) return false;
  line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

}  // namespace

absl::StatusOr<RasAddress> ParseRasAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port) || port == 0 || port > 65'535) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not HOST:PORT"));
  }
  absl::string_view host = absl::string_view(text).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[") && !absl::ConsumeSuffix(&host, "]")) host = "";
  RasAddress address = {std::string(host), static_cast<uint16_t>(port)};
  if (address.host != "localhost" && !Numeric(address.host, address.port).has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("'", address.host, "' is neither localhost nor an IP address"));
  }
  return address;
}

absl::StatusOr<RasConversation> RasConversation::Open(const RasAddress& address) {
  if (address.host != "localhost") {
    ASSIGN_OR_RETURN(UniqueFd fd, Connect(address.host, address.port));
    return RasConversation(std::move(fd));
  }
  absl::StatusOr<UniqueFd> fd = Connect("127.0.0.1", address.port);
  if (absl::IsNotFound(fd.status())) fd = Connect("::1", address.port);
  if (!fd.ok()) return fd.status();
  return RasConversation(*std::move(fd));
}

absl::StatusOr<bool> RasConversation::Ask() {
  const std::string question = Question();
  // A few dozen bytes into an empty buffer: all of them or none.
  const ssize_t sent = send(socket_.get(), question.data(), question.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(question.size())) return true;
  if (sent >= 0) return absl::DataLossError("RAS service: takes no question");
  if (IsAgain(errno) || errno == ENOTCONN) return false;
  return FromErrno("send", errno);
}

absl::StatusOr<absl::optional<std::string>> RasConversation::Continue() {
  if (!asked_) {
    ASSIGN_OR_RETURN(asked_, Ask());
    if (!asked_) return absl::optional<std::string>();
  }
  for (;;) {
    const size_t before = received_.size();
    received_.resize(before + kChunkBytes);
    const ssize_t got = recv(socket_.get(), received_.data() + before, kChunkBytes, 0);
    const int error = errno;
    received_.resize(before + static_cast<size_t>(got > 0 ? got : 0));
    if (got == 0) break;
    if (got < 0 && IsAgain(error)) return absl::optional<std::string>();
    if (got < 0) return FromErrno("receive", error);
    if (received_.size() > kMaxAnswerBytes) return absl::OutOfRangeError("RAS service: the answer is too large");
  }
  ASSIGN_OR_RETURN(std::string answer, Answer());
  return absl::optional<std::string>(std::move(answer));
}

absl::StatusOr<std::string> RasConversation::Answer() {
  absl::string_view rest = received_;
  absl::string_view protocol;
  absl::string_view limit;
  absl::string_view format;
  if (!TakeLine(rest, protocol) || !absl::StartsWithIgnoreCase(protocol, "SERVER PROTOCOL ")) {
    return absl::DataLossError("RAS service: whoever listens there does not speak its protocol");
  }
  if (!TakeLine(rest, limit) || !TakeLine(rest, format)) return absl::DataLossError("RAS service: hung up early");
  if (format != "OK") return absl::UnimplementedError("this NCCL's RAS service has no JSON (it needs 2.28.7)");
  return std::string(rest);
}

}  // namespace lockstep
