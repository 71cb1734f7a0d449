#include "agent/sources/ras/ras_source.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "absl/status/statusor.h"
#include "agent/metric_block.h"
#include "agent/sources/ras/ras_answer.h"
#include "base/metric_catalog.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// What looking for a service or asking it came to, as the three answers of a source.
absl::Status AsOutcome(const absl::Status& status) {
  return absl::IsUnimplemented(status) ? NoData(status.message()) : status;
}

void AddMetrics(const RasAnswer& answer, int64_t now_ns, wire::AgentReport& report) {
  MetricBlockBuilder block(report, "", now_ns);
  block.Add(Metric::kNcclRasCommunicators, answer.report.communicators());
  block.Add(Metric::kNcclRasMissingRanks, static_cast<double>(answer.missing_ranks));
  block.Add(Metric::kNcclRasDeadRanks, static_cast<double>(answer.dead_ranks));
  block.Add(Metric::kNcclRasUnequalCommunicators, static_cast<double>(answer.unequal_communicators));
  block.Add(Metric::kNcclRasTimeouts, answer.report.timeouts());
}

}  // namespace

std::vector<std::string> InterfaceAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return addresses;
  for (const ifaddrs* at = interfaces; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    char text[INET6_ADDRSTRLEN] = {};
    const int family = at->ifa_addr->sa_family;
    const void* bytes = nullptr;
    if (family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr;
    if (family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
    if (bytes != nullptr && inet_ntop(family, bytes, text, sizeof(text)) != nullptr) addresses.emplace_back(text);
  }
  freeifaddrs(interfaces);
  return addresses;
}

absl::Status RasSource::Collect(const Tick& tick, wire::AgentReport& report) {
  if (conversation_.has_value()) {
    Listen(tick.monotonic_ns, report);
  } else if (tick.monotonic_ns >= next_ns_) {
    Look(tick.monotonic_ns);
    if (conversation_.has_value()) Listen(tick.monotonic_ns, report);
  }
  return outcome_;
}

void RasSource::Look(int64_t now_ns) {
  absl::StatusOr<RasConversation> opened = RasConversation::Open(address_);
  if (!opened.ok()) {
    found_ = false;
    return Conclude(opened.status(), now_ns + kLookNs);
  }
  if (!found_) {
    found_ = true;
    return Conclude(NoData("found; to be asked soon"),
                    now_ns + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(kSpreadNs))));
  }
  conversation_ = *std::move(opened);
  asked_ns_ = now_ns;
  ++questions_;
}

void RasSource::Listen(int64_t now_ns, wire::AgentReport& report) {
  const absl::StatusOr<absl::optional<std::string>> text = conversation_->Continue();
  if (!text.ok()) {
    const bool is_old = absl::IsUnimplemented(text.status());
    return Conclude(text.status(), now_ns + (is_old ? kOthersNs : kAfterErrorNs));
  }
  if (text->has_value()) {
    const absl::Status taken = Take(**text, now_ns, report);
    const int64_t pause_ns = leads_ ? kLeaderNs : kOthersNs;
    return Conclude(taken, now_ns + (taken.ok() ? pause_ns : kAfterErrorNs));
  }
  if (now_ns - asked_ns_ >= kPatienceNs) {
    Conclude(absl::DeadlineExceededError("RAS service: no answer in time"), now_ns + kAfterErrorNs);
  }
}

void RasSource::Conclude(absl::Status outcome, int64_t next_ns) {
  conversation_.reset();
  outcome_ = AsOutcome(outcome);
  next_ns_ = next_ns;
}

absl::Status RasSource::Take(const std::string& text, int64_t now_ns, wire::AgentReport& report) {
  ASSIGN_OR_RETURN(RasAnswer answer, ParseRasAnswer(text));
  const std::vector<std::string> own = own_addresses_();
  leads_ = std::find(own.begin(), own.end(), answer.leader_host) != own.end();
  AddMetrics(answer, now_ns, report);
  answer.report.set_asked_monotonic_ns(asked_ns_);
  *report.mutable_nccl_ras() = std::move(answer.report);
  return absl::OkStatus();
}

}  // namespace lockstep
