#include "agent/kineto/testing/fabric_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "agent/kineto/fabric_endpoint.h"
#include "base/check.h"

namespace lockstep {
namespace {

constexpr size_t kHeaderBytes = 40;
constexpr int kPatienceMillis = 10'000;

template <typename Number>
void Append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::string Message(const std::string& type, const std::string& body) {
  std::string message;
  Append(message, static_cast<uint64_t>(body.size()));
  message += type;
  message.resize(kHeaderBytes, '\0');
  return message + body;
}

}  // namespace

FabricClient::FabricClient(std::string daemon, const std::string& name)
    : daemon_(std::move(daemon)), socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (name.empty()) return;
  FabricAddress own(name);
  if (name[0] == '/') {
    own.address = {};
    own.address.sun_family = AF_UNIX;
    std::memcpy(own.address.sun_path, name.data(), name.size());
  }
  CHECK(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own.address), own.bytes) == 0);
}

bool FabricClient::Register(int32_t device, int32_t pid, int64_t job) const {
  std::string body;
  Append(body, device);
  Append(body, pid);
  Append(body, job);
  return Send(Message("ctxt", body));
}

bool FabricClient::Poll(int32_t pid, int64_t job, int32_t kinds) const {
  std::string body;
  Append(body, kinds);
  Append(body, int32_t{2});
  Append(body, job);
  Append(body, pid);
  Append(body, int32_t{1});
  return Send(Message("req", body));
}

bool FabricClient::Send(const std::string& datagram, int descriptor) const {
  FabricAddress to(daemon_);
  iovec part = {const_cast<char*>(datagram.data()), datagram.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(descriptor))] = {};
  msghdr message = {};
  message.msg_name = &to.address;
  message.msg_namelen = to.bytes;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(descriptor));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(descriptor));
  }
  return sendmsg(socket_.get(), &message, MSG_DONTWAIT) == static_cast<ssize_t>(datagram.size());
}

absl::optional<std::string> FabricClient::Receive(const std::string& type) const {
  pollfd fd = {socket_.get(), POLLIN, 0};
  char bytes[4096];
  if (poll(&fd, 1, kPatienceMillis) != 1) return absl::nullopt;
  const ssize_t size = recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
  if (size < static_cast<ssize_t>(kHeaderBytes)) return absl::nullopt;
  const std::string answer(bytes, static_cast<size_t>(size));
  const std::string body = answer.substr(kHeaderBytes);
  if (answer.substr(0, kHeaderBytes) != Message(type, body).substr(0, kHeaderBytes)) return absl::nullopt;
  return body;
}

}  // namespace lockstep
