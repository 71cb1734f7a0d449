#include "eval/live/report_delivery.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"

namespace lockstep {
namespace {

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * static_cast<double>(kNanosPerSecond)); }

double Exponential(double mean, Random& random) { return -mean * std::log1p(-random.Unit()); }

uint64_t RecordsIn(const wire::AgentReport& report) {
  uint64_t records = 0;
  for (const wire::ProcessReport& process : report.processes()) {
    for (const wire::CommunicatorReport& communicator : process.communicators()) {
      records += static_cast<uint64_t>(communicator.operations().kinds_size());
    }
  }
  return records;
}

}  // namespace

ReportDelivery::ReportDelivery(const DeliverySpec& spec, size_t hosts, uint64_t seed) : spec_(spec) {
  Random seeds(seed);
  for (size_t h = 0; h < hosts; ++h) {
    HostState host{.random = Random(seeds.Next())};
    const bool late = host.random.Unit() < spec.late_agent_share;
    const double seconds = host.random.Unit() * spec.late_agent_seconds;
    if (late) host.agent_from_ns = Nanos(seconds);
    hosts_.push_back(host);
  }
}

void ReportDelivery::Send(MadeReport made) {
  HostState& host = hosts_[made.host];
  // Always as many draws: what happens to one report must not change what happens to the next.
  const bool lost = host.random.Unit() < spec_.lost_share;
  const bool breaks = host.random.Unit() < spec_.stall_share;
  const double stall_seconds = std::min(kMaxStallSeconds, Exponential(spec_.stall_seconds, host.random));
  const double latency_seconds = Exponential(spec_.latency_seconds, host.random);
  const bool before_agent = made.made_ns < host.agent_from_ns;
  if (before_agent || lost) {
    ++(before_agent ? counts_.before_agent : counts_.lost);
    host.unreported_losses += RecordsIn(made.report);
    return;
  }
  if (breaks && made.made_ns >= host.broken_until_ns) host.broken_until_ns = made.made_ns + Nanos(stall_seconds);
  if (made.made_ns < host.broken_until_ns) ++counts_.delayed;
  if (host.unreported_losses > 0) {
    wire::Dropped& dropped = *made.report.add_dropped();
    dropped.set_reason("outbox_full");
    dropped.set_count(std::exchange(host.unreported_losses, 0));
  }
  const int64_t sent_ns = std::max(made.made_ns, host.broken_until_ns);
  host.last_arrival_ns = std::max(host.last_arrival_ns, sent_ns + Nanos(latency_seconds));
  on_the_way_.emplace(host.last_arrival_ns, Arrival{host.last_arrival_ns, made.host, std::move(made.report)});
}

std::vector<ReportDelivery::Arrival> ReportDelivery::TakeUntil(int64_t true_ns) {
  std::vector<Arrival> arrived;
  const auto end = on_the_way_.upper_bound(true_ns);
  for (auto report = on_the_way_.begin(); report != end; ++report) arrived.push_back(std::move(report->second));
  on_the_way_.erase(on_the_way_.begin(), end);
  counts_.delivered += arrived.size();
  return arrived;
}

}  // namespace lockstep
