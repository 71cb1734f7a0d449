#include "collector/listen_check.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

absl::Status TryListen(const addrinfo& candidate, const std::string& address) {
  const int descriptor = socket(candidate.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return absl::InternalError(absl::StrCat("socket: ", std::strerror(errno)));
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool listens = bind(descriptor, candidate.ai_addr, candidate.ai_addrlen) == 0 && listen(descriptor, 1) == 0;
  const int error = errno;
  close(descriptor);
  if (listens) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("cannot listen on ", address, ": ", std::strerror(error)));
}

}  // namespace

absl::Status CheckListenable(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) {
    return absl::InvalidArgumentError(absl::StrCat("not host:port: \"", address, "\""));
  }
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("not an address to listen on: \"", address, "\": ", gai_strerror(error)));
  }
  const absl::Status status = TryListen(*found, address);
  freeaddrinfo(found);
  return status;
}

}  // namespace lockstep
