#include "agent/sources/ras/testing/fake_ras_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace lockstep {
namespace {

// False = told to stop.
bool WaitFor(int fd, short events, int stop) {
  pollfd fds[2] = {{fd, events, 0}, {stop, POLLIN, 0}};
  while (poll(fds, 2, -1) < 0) {
  }
  return fds[1].revents == 0;
}

}  // namespace

FakeRasServer::FakeRasServer(std::string answer, Manner manner)
    : manner_(manner),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      answer_(std::move(answer)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  CHECK(bind(listener_.get(), plain, bytes) == 0 && listen(listener_.get(), 16) == 0);
  CHECK(getsockname(listener_.get(), plain, &bytes) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

FakeRasServer::~FakeRasServer() {
  const uint64_t one = 1;
  CHECK(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  thread_.join();
}

void FakeRasServer::Answer(std::string answer) {
  MutexLock lock(mutex_);
  answer_ = std::move(answer);
}

std::string FakeRasServer::TakeReceived() {
  MutexLock lock(mutex_);
  return std::exchange(received_, "");
}

void FakeRasServer::Serve() {
  while (WaitFor(listener_.get(), POLLIN, stop_.get())) {
    const UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() >= 0) ServeOne(connection.get());
  }
}

void FakeRasServer::ServeOne(int connection) {
  std::string pending;
  bool is_over = false;
  while (!is_over && WaitFor(connection, POLLIN, stop_.get())) {
    char chunk[4096];
    const ssize_t got = recv(connection, chunk, sizeof(chunk), 0);
    if (got <= 0) return;
    pending.append(chunk, static_cast<size_t>(got));
    std::string reply;
    for (size_t end = pending.find('\n'); end != std::string::npos && !is_over; end = pending.find('\n')) {
      is_over = Reply(pending.substr(0, end), reply);
      pending.erase(0, end + 1);
    }
    for (size_t sent = 0; sent < reply.size() && WaitFor(connection, POLLOUT, stop_.get());) {
      const ssize_t now = send(connection, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (now > 0) sent += static_cast<size_t>(now);
      if (now == 0) return;
    }
  }
}

bool FakeRasServer::Reply(const std::string& command, std::string& reply) {
  MutexLock lock(mutex_);
  absl::StrAppend(&received_, command, "\n");
  if (manner_ == Manner::kSilent) return false;
  if (manner_ == Manner::kStranger) {
    absl::StrAppend(&reply, "HTTP/1.1 400 Bad Request\r\n\r\n");
    return true;
  }
  if (absl::StartsWithIgnoreCase(command, "CLIENT PROTOCOL ")) {
    absl::StrAppend(&reply, "SERVER PROTOCOL 2\n");
    return manner_ == Manner::kHangsUp;
  }
  if (absl::EqualsIgnoreCase(command, "STATUS")) {
    absl::StrAppend(&reply, answer_);
    return true;
  }
  const bool is_known = absl::StartsWithIgnoreCase(command, "TIMEOUT ") ||
                        (absl::StartsWithIgnoreCase(command, "SET FORMAT ") && manner_ != Manner::kNoJson);
  absl::StrAppend(&reply, is_known ? "OK\n" : absl::StrCat("ERROR: Unknown command ", command, "\n"));
  return false;
}

}  // namespace lockstep
