#include "daemon/service_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep {

ServiceNotifier::ServiceNotifier(absl::string_view socket_path) {
  sockaddr_un address = {};
  const bool usable = socket_path.size() > 1 && socket_path.size() < sizeof(address.sun_path) &&
                      (socket_path[0] == '/' || socket_path[0] == '@');
  if (!usable) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  address_.assign(reinterpret_cast<const char*>(&address), offsetof(sockaddr_un, sun_path) + socket_path.size());
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

ServiceNotifier ServiceNotifier::FromEnvironment() {
  const char* path = std::getenv("NOTIFY_SOCKET");
  return ServiceNotifier(path == nullptr ? "" : path);
}

ServiceNotifier::~ServiceNotifier() {
  if (socket_ >= 0) close(socket_);
}

ServiceNotifier::ServiceNotifier(ServiceNotifier&& other) noexcept
    : address_(std::move(other.address_)), socket_(std::exchange(other.socket_, -1)) {}

void ServiceNotifier::Status(absl::string_view line) const { Send(absl::StrCat("STATUS=", line)); }

void ServiceNotifier::Send(absl::string_view text) const {
  if (socket_ < 0) return;
  // Nothing useful can be done about a notification that nobody takes.
  [[maybe_unused]] const ssize_t sent =
      sendto(socket_, text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(address_.data()),
             static_cast<socklen_t>(address_.size()));
}

}  // namespace lockstep
