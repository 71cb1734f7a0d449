#include "agent/sources/ras/testing/fake_ras_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lockstep {

FakeRasServer::FakeRasServer(std::string answer, Manner manner)
    : manner_(manner),
      answer_(std::move(answer)),
      server_([this](int connection, int stop) { Serve(connection, stop); }) {}

void FakeRasServer::Answer(std::string answer) {
  MutexLock lock(mutex_);
  answer_ = std::move(answer);
}

std::string FakeRasServer::TakeReceived() {
  MutexLock lock(mutex_);
  return std::exchange(received_, "");
}

void FakeRasServer::Serve(int connection, int stop) {
  std::string pending;
  bool is_over = false;
  while (!is_over && LoopbackServer::WaitFor(connection, POLLIN, stop)) {
    char chunk[4096];
    const ssize_t got = recv(connection, chunk, sizeof(chunk), 0);
    if (got <= 0) return;
    pending.append(chunk, static_cast<size_t>(got));
    std::string reply;
    for (size_t end = pending.find('\n'); end != std::string::npos && !is_over; end = pending.find('\n')) {
      is_over = Reply(pending.substr(0, end), reply);
      pending.erase(0, end + 1);
    }
    for (size_t sent = 0; sent < reply.size() && LoopbackServer::WaitFor(connection, POLLOUT, stop);) {
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
