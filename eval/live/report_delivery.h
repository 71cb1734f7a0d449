// The way of reports from the agents to the collector: they take their time, wait while a connection is broken, get
// lost, or are never made because the agent is not there yet.
//
// Reports of one host arrive in the order in which they were made. Records in reports that do not arrive are counted in
// the next report of the host that does, as an agent counts what it throws away. Memory: the reports that are on their
// way, at most kMaxStallSeconds of all hosts and what latency adds. Same arguments, same bytes. Not thread-safe.

#ifndef LOCKSTEP_EVAL_LIVE_REPORT_DELIVERY_H_
#define LOCKSTEP_EVAL_LIVE_REPORT_DELIVERY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/random.h"
#include "eval/live/delivery_spec.h"
#include "eval/live/live_agents.h"

namespace lockstep {

struct DeliveryCounts {
  uint64_t delivered = 0;
  uint64_t delayed = 0;  // by a broken connection
  uint64_t lost = 0;
  uint64_t before_agent = 0;
};

class ReportDelivery {
 public:
  ReportDelivery(const DeliverySpec& spec, size_t hosts, uint64_t seed);

  // Reports of one host by rising made_ns.
  void Send(MadeReport report);

  struct Arrival {
    int64_t arrived_ns = 0;  // true time
    size_t host = 0;
    wire::AgentReport report;
  };
  // What has arrived up to `true_ns`, by time of arrival.
  std::vector<Arrival> TakeUntil(int64_t true_ns);

  const DeliveryCounts& counts() const { return counts_; }

 private:
  struct HostState {
    Random random;
    int64_t agent_from_ns = 0;
    int64_t broken_until_ns = 0;
    int64_t last_arrival_ns = 0;
    uint64_t unreported_losses = 0;  // records
  };

  const DeliverySpec spec_;
  std::vector<HostState> hosts_;
  std::multimap<int64_t, Arrival> on_the_way_;
  DeliveryCounts counts_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_REPORT_DELIVERY_H_
