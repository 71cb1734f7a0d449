#include "agent/sources/net/ethtool_statistics.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/unique_fd.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// The kernel writes as many entries as the driver has at that moment, not as many as we made room for. If the driver
// is reconfigured between asking for the number and asking for the entries, the difference lands in here.
constexpr size_t kSpareEntries = 8192;

// A command structure of ethtool followed by its entries, in zeroed memory aligned for both.
template <typename Header>
class CommandBuffer {
 public:
  CommandBuffer(uint32_t command, size_t entry_bytes, size_t entries)
      : words_((sizeof(Header) + entry_bytes * entries + sizeof(uint64_t) - 1) / sizeof(uint64_t)) {
    header()->cmd = command;
  }
  Header* header() { return reinterpret_cast<Header*>(words_.data()); }

 private:
  std::vector<uint64_t> words_;
};

class EthtoolIoctl final : public EthtoolStatistics {
 public:
  absl::StatusOr<std::vector<std::string>> Names(const std::string& interface_name) override {
    ASSIGN_OR_RETURN(const size_t count, Count(interface_name));
    CommandBuffer<ethtool_gstrings> buffer(ETHTOOL_GSTRINGS, ETH_GSTRING_LEN, count + kSpareEntries);
    buffer.header()->string_set = ETH_SS_STATS;
    buffer.header()->len = static_cast<uint32_t>(count);
    RETURN_IF_ERROR(Call(interface_name, buffer.header()));
    const char* const text = reinterpret_cast<const char*>(buffer.header()->data);
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min<size_t>(buffer.header()->len, count); ++i) {
      const char* const name = text + i * ETH_GSTRING_LEN;
      names.emplace_back(name, strnlen(name, ETH_GSTRING_LEN));
    }
    return names;
  }

  absl::StatusOr<std::vector<uint64_t>> Values(const std::string& interface_name) override {
    ASSIGN_OR_RETURN(const size_t count, Count(interface_name));
    CommandBuffer<ethtool_stats> buffer(ETHTOOL_GSTATS, sizeof(uint64_t), count + kSpareEntries);
    buffer.header()->n_stats = static_cast<uint32_t>(count);
    RETURN_IF_ERROR(Call(interface_name, buffer.header()));
    const size_t got = std::min<size_t>(buffer.header()->n_stats, count + kSpareEntries);
    std::vector<uint64_t> values(got);
    // The entries follow a header whose size is not a multiple of theirs on every architecture.
    std::memcpy(values.data(), buffer.header()->data, got * sizeof(uint64_t));
    return values;
  }

 private:
  absl::StatusOr<size_t> Count(const std::string& interface_name) {
    CommandBuffer<ethtool_sset_info> buffer(ETHTOOL_GSSET_INFO, sizeof(uint32_t), 1);
    buffer.header()->sset_mask = uint64_t{1} << ETH_SS_STATS;
    RETURN_IF_ERROR(Call(interface_name, buffer.header()));
    // The mask says which of the sets asked for exist.
    const size_t count = buffer.header()->sset_mask != 0 ? buffer.header()->data[0] : 0;
    if (count == 0) return absl::UnimplementedError(absl::StrCat("ethtool ", interface_name, ": no statistics"));
    if (count > kMaxStatistics) {
      return absl::OutOfRangeError(absl::StrCat("ethtool ", interface_name, ": ", count, " statistics"));
    }
    return count;
  }

  absl::Status Call(const std::string& interface_name, void* command) {
    if (interface_name.size() >= IFNAMSIZ) return absl::NotFoundError(absl::StrCat("no interface ", interface_name));
    if (!socket_.valid()) socket_.Reset(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket_.valid()) return absl::ErrnoToStatus(errno, "socket for ethtool");
    ifreq request = {};
    std::memcpy(request.ifr_name, interface_name.data(), interface_name.size());
    request.ifr_data = static_cast<char*>(command);
    if (ioctl(socket_.get(), SIOCETHTOOL, &request) == 0) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("ethtool ", interface_name));
  }

  UniqueFd socket_;
};

}  // namespace

std::unique_ptr<EthtoolStatistics> MakeEthtoolStatistics() { return std::make_unique<EthtoolIoctl>(); }

}  // namespace lockstep
