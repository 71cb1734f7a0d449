// Transfers under way and how they share what they load.
//
// Every resource is divided evenly among the flows that load it; what a flow cannot use because it is held up
// elsewhere, the others may take. A flow moves at the rate of its tightest resource, as a ring does. Rates are settled
// around the flow that begins or ends, not over the whole network: what changes two flows away is neglected. Not
// thread-safe.

#ifndef LOCKSTEP_SIM_SECOND_FLOWS_H_
#define LOCKSTEP_SIM_SECOND_FLOWS_H_

#include <cstdint>
#include <vector>

#include "sim/second/fabric.h"

namespace lockstep::second {

class Flows {
 public:
  // A flow whose end has moved. Older ends of the same flow are void.
  struct NewEnd {
    int flow = -1;
    int64_t end_ns = 0;
  };

  // Borrows `fabric`.
  explicit Flows(const Fabric& fabric) : fabric_(fabric), flows_on_(static_cast<size_t>(fabric.resources())) {}

  // `loads` must outlive the flow. `number` is the caller's; not in use.
  std::vector<NewEnd> Begin(int number, const std::vector<Load>* loads, double bytes, int64_t now_ns);
  std::vector<NewEnd> End(int number, int64_t now_ns);
  // Rates of resources were changed.
  std::vector<NewEnd> Settle(const std::vector<int>& resources, int64_t now_ns);

 private:
  struct Flow {
    const std::vector<Load>* loads = nullptr;  // null = not under way
    double bytes_left = 0;
    double rate = 0;  // bytes of the operation per nanosecond
    int64_t since_ns = 0;
    uint64_t mark = 0;
  };

  // A flow on a resource, and its bytes there for each of its own.
  struct Share {
    int flow;
    double weight;
  };

  double RateOf(int number) const;
  std::vector<NewEnd> SettleAround(const std::vector<Load>& loads, int64_t now_ns);
  void Collect(int resource, std::vector<int>& numbers);

  const Fabric& fabric_;
  std::vector<Flow> flows_;
  std::vector<std::vector<Share>> flows_on_;  // by resource
  uint64_t mark_ = 0;
};

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_FLOWS_H_
