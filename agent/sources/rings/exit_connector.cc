#include "agent/sources/rings/exit_connector.h"

#include <arpa/inet.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "absl/status/status.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// A message is a netlink header, a connector header, and an event.
constexpr size_t kConnectorAt = NLMSG_HDRLEN;
constexpr size_t kEventAt = kConnectorAt + sizeof(cn_msg);
constexpr size_t kPidAt = kEventAt + offsetof(proc_event, event_data.exit.process_pid);
constexpr size_t kTgidAt = kEventAt + offsetof(proc_event, event_data.exit.process_tgid);
constexpr size_t kMaxMessageBytes = 1024;

template <typename T>
T At(absl::string_view message, size_t offset) {
  T value;
  std::memcpy(&value, message.data() + offset, sizeof(value));
  return value;
}

absl::Status FromErrno(absl::string_view what) { return absl::ErrnoToStatus(errno, what); }

// Without it every fork, exec and end of a thread on this host would wake the agent.
absl::Status OnlyEndsOfProcesses(int socket) {
  // Loads are big-endian.
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(kEventAt)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(static_cast<uint32_t>(proc_event::PROC_EVENT_EXIT)), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(kPidAt)),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(kTgidAt)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
  if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0) return absl::OkStatus();
  return FromErrno("process connector: filter");
}

absl::Status Ask(int socket, proc_cn_mcast_op operation) {
  char message[kEventAt + sizeof(operation)] = {};
  nlmsghdr header = {};
  header.nlmsg_len = sizeof(message);
  header.nlmsg_type = NLMSG_DONE;
  cn_msg connector = {};
  connector.id = {CN_IDX_PROC, CN_VAL_PROC};
  connector.len = sizeof(operation);
  std::memcpy(message, &header, sizeof(header));
  std::memcpy(message + kConnectorAt, &connector, sizeof(connector));
  std::memcpy(message + kEventAt, &operation, sizeof(operation));
  if (send(socket, message, sizeof(message), 0) == static_cast<ssize_t>(sizeof(message))) return absl::OkStatus();
  return FromErrno("process connector: send");
}

}  // namespace

absl::StatusOr<ExitConnector> ExitConnector::Open() {
  UniqueFd opened(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR));
  if (!opened.valid()) return FromErrno("process connector: socket");
  sockaddr_nl address = {};
  address.nl_family = AF_NETLINK;
  address.nl_groups = CN_IDX_PROC;
  if (bind(opened.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return FromErrno("process connector: bind");
  }
  RETURN_IF_ERROR(OnlyEndsOfProcesses(opened.get()));
  RETURN_IF_ERROR(Ask(opened.get(), PROC_CN_MCAST_LISTEN));
  return ExitConnector(std::move(opened));
}

ExitConnector::~ExitConnector() {
  // Kernels before 6.5 go on making messages for nobody otherwise.
  if (socket_.valid()) (void)Ask(socket_.get(), PROC_CN_MCAST_IGNORE);
}

absl::optional<ExitConnector::Exit> ExitConnector::Parse(absl::string_view message) {
  if (message.size() < kEventAt + sizeof(proc_event)) return absl::nullopt;
  const auto connector = At<cn_msg>(message, kConnectorAt);
  if (connector.id.idx != CN_IDX_PROC || connector.id.val != CN_VAL_PROC) return absl::nullopt;
  const auto event = At<proc_event>(message, kEventAt);
  const auto& exit = event.event_data.exit;
  if (event.what != proc_event::PROC_EVENT_EXIT || exit.process_pid != exit.process_tgid) return absl::nullopt;
  return Exit{exit.process_pid, static_cast<int>(exit.exit_code), static_cast<int64_t>(event.timestamp_ns)};
}

void ExitConnector::Read(absl::FunctionRef<void(const Exit&)> take) {
  for (int i = 0; i < kMaxMessagesPerRead; ++i) {
    char bytes[kMaxMessageBytes];
    sockaddr_nl from = {};
    socklen_t length = sizeof(from);
    const ssize_t size =
        recvfrom(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &length);
    if (size < 0 && errno == ENOBUFS) continue;  // some were dropped; what follows was not
    if (size < 0) return;
    // Another process may send to our address; the kernel's is 0.
    if (from.nl_pid != 0) continue;
    if (const absl::optional<Exit> exit = Parse({bytes, static_cast<size_t>(size)})) take(*exit);
  }
}

}  // namespace lockstep
