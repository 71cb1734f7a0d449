#include "agent/kineto/fabric_endpoint.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "agent/sources/rings/process_finder.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/sources/rings/process_status.h"
#include "base/check.h"
#include "base/log.h"

namespace lockstep {
namespace {

constexpr int64_t kForgetEveryNanos = 5 * kNanosPerSecond;

// Waits for a descriptor, if it is valid, or until told to stop: true = stop.
bool StopOr(int fd, const UniqueFd& stop, int64_t patience_ns) {
  pollfd fds[2] = {{stop.get(), POLLIN, 0}, {fd, POLLIN, 0}};
  poll(fds, 2, static_cast<int>(patience_ns / 1'000'000));
  return fds[0].revents != 0;
}

// From a message that has been received.
absl::optional<ucred> CredentialsOf(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    ucred credentials;
    std::memcpy(&credentials, CMSG_DATA(part), sizeof(credentials));
    return credentials;
  }
  return absl::nullopt;
}

}  // namespace

struct FabricEndpoint::Datagram {
  std::array<char, kMaxFabricDatagramBytes + 1> bytes;
  size_t size = 0;
  bool has_more_parts = false;  // descriptors, which the kernel has closed for want of room
  sockaddr_un from = {};
  socklen_t from_bytes = 0;
  absl::optional<ucred> credentials;
};

FabricAddress::FabricAddress(absl::string_view name) {
  CHECK(name.size() + 2 <= sizeof(address.sun_path));
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 2);
}

FabricEndpoint::FabricEndpoint(std::string name, RootedFs root, const Clock& clock)
    : name_(std::move(name)), root_(std::move(root)), clock_(clock), stop_(eventfd(0, EFD_CLOEXEC)) {
  CHECK(stop_.valid());
  thread_ = std::thread([this] { Run(); });
}

FabricEndpoint::~FabricEndpoint() {
  const uint64_t one = 1;
  CHECK(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  thread_.join();
}

FabricStatistics FabricEndpoint::statistics() const {
  MutexLock lock(mutex_);
  return statistics_;
}

void FabricEndpoint::Run() {
  for (absl::Status listening = Listen(); !listening.ok(); listening = Listen()) {
    Log(LogLevel::kWarning, "processes cannot register for profiles",
        {{"socket", name_}, {"status", listening.ToString()}});
    if (StopOr(-1, stop_, kRetryNanos)) return;
  }
  Log(LogLevel::kInfo, "processes may register for profiles", {{"socket", name_}});
  while (!StopOr(socket_.get(), stop_, kForgetEveryNanos)) {
    const int64_t begin_ns = clock_.MonotonicNanos();
    const bool is_flooded = Turn();
    const int64_t left_ns = begin_ns + kTurnNanos - clock_.MonotonicNanos();
    if (is_flooded && left_ns > 0 && StopOr(-1, stop_, left_ns)) return;
  }
}

absl::Status FabricEndpoint::Listen() {
  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "no socket");
  const int on = 1;
  // Before there is a name: no datagram comes without credentials.
  if (setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
    return absl::ErrnoToStatus(errno, "the kernel does not tell who sends");
  }
  const FabricAddress address(name_);
  const bool bound = bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.address), address.bytes) == 0;
  const int error = bound ? 0 : errno;
  if (bound) socket_ = std::move(fd);
  MutexLock lock(mutex_);
  statistics_.listening = bound;
  statistics_.name_taken = error == EADDRINUSE;
  if (bound) return absl::OkStatus();
  return absl::ErrnoToStatus(error, statistics_.name_taken ? "another daemon has the name" : "cannot take the name");
}

bool FabricEndpoint::Turn() {
  size_t received = 0;
  for (Datagram datagram; received < kDatagramsPerTurn && Receive(datagram); ++received) {
    const FabricRefusal refusal = Handle(datagram);
    MutexLock lock(mutex_);
    if (refusal != FabricRefusal::kNone) ++statistics_.refused[static_cast<size_t>(refusal)];
  }
  MutexLock lock(mutex_);
  processes_.Forget(clock_.MonotonicNanos());
  statistics_.processes = processes_.size();
  return received == kDatagramsPerTurn;
}

bool FabricEndpoint::Receive(Datagram& datagram) const {
  iovec part = {datagram.bytes.data(), datagram.bytes.size()};
  // Room for credentials alone: descriptors that somebody sends along are closed by the kernel.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr message = {};
  message.msg_name = &datagram.from;
  message.msg_namelen = sizeof(datagram.from);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t size = recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return false;
  datagram.size = static_cast<size_t>(size);
  datagram.has_more_parts = (message.msg_flags & MSG_CTRUNC) != 0;
  datagram.from_bytes = message.msg_namelen;
  datagram.credentials = CredentialsOf(message);
  return true;
}

FabricRefusal FabricEndpoint::Handle(const Datagram& datagram) {
  if (!datagram.credentials.has_value() || datagram.credentials->pid <= 0) return FabricRefusal::kUnknownSender;
  const int64_t now_ns = clock_.MonotonicNanos();
  if (!pace_.Allow(datagram.credentials->uid, now_ns)) return FabricRefusal::kFlood;
  if (datagram.has_more_parts) return FabricRefusal::kDescriptors;
  constexpr socklen_t kPathOffset = offsetof(sockaddr_un, sun_path);
  if (datagram.from_bytes <= kPathOffset + 1) return FabricRefusal::kNoAddress;
  if (datagram.from.sun_path[0] != '\0') return FabricRefusal::kPathAddress;
  FabricMessage message;
  FabricRefusal refusal = ParseFabricMessage({datagram.bytes.data(), datagram.size}, message);
  if (refusal != FabricRefusal::kNone) return refusal;
  FabricSender sender;
  refusal = Identify(*datagram.credentials, message.pid, sender);
  if (refusal != FabricRefusal::kNone) return refusal;
  {
    MutexLock lock(mutex_);
    refusal = processes_.Hear(message, sender, now_ns);
  }
  if (refusal == FabricRefusal::kNone) Answer(datagram, message, sender);
  return refusal;
}

FabricRefusal FabricEndpoint::Identify(const ucred& credentials, int32_t pid, FabricSender& sender) const {
  const auto stat = ReadProcessStat(root_, credentials.pid);
  if (!stat.ok()) return FabricRefusal::kUnknownSender;
  sender = {.pid = credentials.pid, .start_ticks = stat->start_ticks, .uid = credentials.uid};
  if (pid == credentials.pid) return FabricRefusal::kNone;
  // In a container a process calls itself by another number than the host does.
  const auto status = root_.ReadFile(absl::StrCat("proc/", credentials.pid, "/status"), kMaxStatusBytes);
  if (!status.ok()) return FabricRefusal::kUnknownSender;
  return InnermostPid(*status) == pid ? FabricRefusal::kNone : FabricRefusal::kForeignPid;
}

// Under the lock, so that an order that is withdrawn is not given out afterwards; nothing here blocks.
void FabricEndpoint::Answer(const Datagram& datagram, const FabricMessage& message, const FabricSender& sender) {
  MutexLock lock(mutex_);
  const bool is_registration = message.kind == FabricMessage::Kind::kRegistration;
  const auto order = message.wants_profiles ? orders_.find({sender.pid, sender.start_ticks}) : orders_.end();
  const bool has_order = order != orders_.end() && !order->second.is_taken;
  const std::string body = is_registration ? FabricCount(processes_.CountOf(message.job, message.device))
                           : has_order     ? order->second.text
                                           : "";
  const std::string answer = FabricAnswer(message.kind, body);
  const ssize_t sent = sendto(socket_.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&datagram.from), datagram.from_bytes);
  ++(is_registration ? statistics_.registrations : statistics_.polls);
  const bool is_sent = sent == static_cast<ssize_t>(answer.size());
  if (!is_sent) ++statistics_.answers_dropped;
  if (has_order && is_sent) {
    order->second.is_taken = true;
    ++statistics_.orders;
  }
}

// Names of sockets without a file hold for a network namespace.
absl::Status FabricEndpoint::WhyUnregistered(int32_t pid) const {
  const auto own = root_.ReadLink("proc/self/ns/net");
  const auto its = root_.ReadLink(absl::StrCat("proc/", pid, "/ns/net"));
  if (own.ok() && its.ok() && *own != *its) {
    return absl::FailedPreconditionError(
        "the process has not registered for profiles and cannot: it has another network namespace than the agent, "
        "where "
        "the agent's socket is not to be seen (a pod needs hostNetwork: true)");
  }
  return absl::FailedPreconditionError(
      "the process has not registered for profiles: start it with KINETO_USE_DAEMON=1 (PyTorch with Kineto)");
}

absl::Status FabricEndpoint::Leave(const FabricProcess& process, std::string text) {
  MutexLock lock(mutex_);
  if (statistics_.name_taken) {
    return absl::UnavailableError("another daemon has the socket at which processes of PyTorch register");
  }
  if (!statistics_.listening) {
    return absl::FailedPreconditionError("the agent cannot take the socket at which processes of PyTorch register");
  }
  if (!processes_.Knows(process.pid, process.start_ticks)) return WhyUnregistered(process.pid);
  if (orders_.size() >= kMaxOrders) return absl::ResourceExhaustedError("too many processes have orders");
  const bool is_new = orders_.try_emplace({process.pid, process.start_ticks}, Order{std::move(text)}).second;
  return is_new ? absl::OkStatus() : absl::AlreadyExistsError("the process has an order already");
}

bool FabricEndpoint::IsTaken(const FabricProcess& process) const {
  MutexLock lock(mutex_);
  const auto order = orders_.find({process.pid, process.start_ticks});
  return order != orders_.end() && order->second.is_taken;
}

void FabricEndpoint::Withdraw(const FabricProcess& process) {
  MutexLock lock(mutex_);
  orders_.erase({process.pid, process.start_ticks});
}

}  // namespace lockstep
