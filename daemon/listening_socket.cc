#include "daemon/listening_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace lockstep {
namespace {

constexpr int kMaxPort = 65535;

struct HostAndPort {
  std::string host;
  std::string port;
};

absl::optional<HostAndPort> Split(absl::string_view address) {
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port)) return absl::nullopt;
  if (port < 0 || port > kMaxPort) return absl::nullopt;
  absl::string_view host = address.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  // IPv6 without brackets would leave open where the host ends.
  if (bracketed != absl::StrContains(host, ':')) return absl::nullopt;
  return HostAndPort{std::string(host), absl::StrCat(port)};
}

int PortOf(int descriptor) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return 0;
  return bound.ss_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6&>(bound).sin6_port)
                                     : ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

// A listening descriptor, or -1 with errno.
int TryListen(const addrinfo& candidate, int backlog) {
  const int descriptor = socket(candidate.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  const int on = 1;
  const int off = 0;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // The wildcard of IPv6 takes IPv4 too, whatever the machine's default is.
  if (candidate.ai_family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(descriptor, candidate.ai_addr, candidate.ai_addrlen) == 0 && listen(descriptor, backlog) == 0) {
    return descriptor;
  }
  const int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

// Listens on the numeric `host`. -1 with errno if that fails, errno 0 if `host` is none.
int ListenOn(const std::string& host, const std::string& port, int backlog) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  errno = 0;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    errno = 0;
    return -1;
  }
  const int descriptor = TryListen(*found, backlog);
  const int error = errno;
  freeaddrinfo(found);
  errno = error;
  return descriptor;
}

// Machines without IPv6 have no such family, or no such address.
bool LacksIpv6(int error) { return error == EAFNOSUPPORT || error == EADDRNOTAVAIL; }

}  // namespace

absl::StatusOr<ListeningSocket> OpenListeningSocket(absl::string_view address, int backlog) {
  const absl::optional<HostAndPort> parts = Split(address);
  int descriptor = -1;
  errno = 0;
  if (parts.has_value()) {
    descriptor = ListenOn(parts->host.empty() ? "::" : parts->host, parts->port, backlog);
    if (descriptor < 0 && parts->host.empty() && LacksIpv6(errno)) {
      descriptor = ListenOn("0.0.0.0", parts->port, backlog);
    }
  }
  if (descriptor >= 0) return ListeningSocket{descriptor, PortOf(descriptor)};
  if (errno == 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", address, "' is no address such as 127.0.0.1:9464"));
  }
  return absl::AlreadyExistsError(absl::StrCat("cannot listen on ", address, ": ", std::strerror(errno)));
}

}  // namespace lockstep
