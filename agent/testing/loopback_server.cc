#include "agent/testing/loopback_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"

namespace lockstep {

LoopbackServer::LoopbackServer(Serve serve)
    : serve_(std::move(serve)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  CHECK(bind(listener_.get(), plain, bytes) == 0 && listen(listener_.get(), 16) == 0);
  CHECK(getsockname(listener_.get(), plain, &bytes) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

LoopbackServer::~LoopbackServer() {
  const uint64_t one = 1;
  CHECK(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  thread_.join();
}

bool LoopbackServer::WaitFor(int connection, short events, int stop) {
  pollfd fds[2] = {{connection, events, 0}, {stop, POLLIN, 0}};
  while (poll(fds, 2, -1) < 0) {
  }
  return fds[1].revents == 0;
}

void LoopbackServer::Run() {
  while (WaitFor(listener_.get(), POLLIN, stop_.get())) {
    const UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.valid()) serve_(connection.get(), stop_.get());
  }
}

}  // namespace lockstep
