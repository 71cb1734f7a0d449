#include "sim/second/flows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace lockstep::second {
namespace {

constexpr double kSameRate = 1e-9;
constexpr double kLeastRate = 1e-12;
constexpr double kFarAway = 1e18;  // nobody waits for the end of a flow that stands still
// The first lets a newcomer take its share, the second takes it from those who had it.
constexpr int kSweeps = 2;

}  // namespace

double Flows::RateOf(int number) const {
  double rate = std::numeric_limits<double>::infinity();
  for (const Load& load : *flows_[static_cast<size_t>(number)].loads) {
    const std::vector<Share>& sharing = flows_on_[static_cast<size_t>(load.resource)];
    const double capacity = fabric_.rate(load.resource);
    double taken = 0;
    for (const Share& other : sharing) {
      if (other.flow != number) taken += flows_[static_cast<size_t>(other.flow)].rate * other.weight;
    }
    const double share = std::max(capacity / static_cast<double>(sharing.size()), capacity - taken);
    rate = std::min(rate, share / load.bytes_per_byte);
  }
  return rate;
}

void Flows::Collect(int resource, std::vector<int>& numbers) {
  for (const Share& share : flows_on_[static_cast<size_t>(resource)]) {
    Flow& flow = flows_[static_cast<size_t>(share.flow)];
    if (flow.mark == mark_) continue;
    flow.mark = mark_;
    numbers.push_back(share.flow);
  }
}

std::vector<Flows::NewEnd> Flows::Settle(const std::vector<int>& resources, int64_t now_ns) {
  ++mark_;
  std::vector<int> numbers;
  for (const int resource : resources) Collect(resource, numbers);
  std::vector<double> old_rates;
  for (const int number : numbers) {
    Flow& flow = flows_[static_cast<size_t>(number)];
    flow.bytes_left = std::max(0.0, flow.bytes_left - flow.rate * static_cast<double>(now_ns - flow.since_ns));
    flow.since_ns = now_ns;
    old_rates.push_back(flow.rate);
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (const int number : numbers) flows_[static_cast<size_t>(number)].rate = RateOf(number);
  }
  std::vector<NewEnd> ends;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Flow& flow = flows_[static_cast<size_t>(numbers[i])];
    if (old_rates[i] > 0 && std::abs(flow.rate - old_rates[i]) <= kSameRate * old_rates[i]) continue;
    const double left_ns = std::ceil(flow.bytes_left / std::max(flow.rate, kLeastRate));
    ends.push_back({numbers[i], now_ns + static_cast<int64_t>(std::min(left_ns, kFarAway))});
  }
  return ends;
}

std::vector<Flows::NewEnd> Flows::SettleAround(const std::vector<Load>& loads, int64_t now_ns) {
  std::vector<int> resources;
  resources.reserve(loads.size());
  for (const Load& load : loads) resources.push_back(load.resource);
  return Settle(resources, now_ns);
}

std::vector<Flows::NewEnd> Flows::Begin(int number, const std::vector<Load>* loads, double bytes, int64_t now_ns) {
  if (flows_.size() <= static_cast<size_t>(number)) flows_.resize(static_cast<size_t>(number) + 1);
  flows_[static_cast<size_t>(number)] = {loads, bytes, 0, now_ns, 0};
  for (const Load& load : *loads)
    flows_on_[static_cast<size_t>(load.resource)].push_back({number, load.bytes_per_byte});
  return SettleAround(*loads, now_ns);
}

std::vector<Flows::NewEnd> Flows::End(int number, int64_t now_ns) {
  Flow& flow = flows_[static_cast<size_t>(number)];
  const std::vector<Load>& loads = *flow.loads;
  for (const Load& load : loads) {
    std::erase_if(flows_on_[static_cast<size_t>(load.resource)],
                  [&](const Share& share) { return share.flow == number; });
  }
  flow = {};
  return SettleAround(loads, now_ns);
}

}  // namespace lockstep::second
