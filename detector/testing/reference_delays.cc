#include "detector/testing/reference_delays.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

namespace lockstep {
namespace {

double At(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto place = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  return values[place];
}

double Deviation(const std::vector<double>& values) {
  const double middle = At(values, 0.5);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::fabs(value - middle));
  return 1.4826 * At(distances, 0.5);
}

class Reference {
 public:
  Reference(const std::vector<TransferFlow>& flows, const std::vector<int32_t>& host_of)
      : flows_(flows), host_of_(host_of) {}

  ReferenceDelays Run() {
    ReferenceDelays result;
    result.slow.assign(flows_.size(), false);
    const auto delay = [&](size_t i, size_t half) { return Delay(i, half); };
    const std::vector<size_t> compared = Comparable(&Reference::Sends);
    if (compared.size() < 4) return result;
    const double limit = Limit(compared, &Reference::Sends, delay, std::log(1.25));
    bool any = false;
    for (const size_t i : compared) {
      result.slow[i] =
          LogRatio(i, 0, &Reference::Sends, delay) >= limit && LogRatio(i, 1, &Reference::Sends, delay) >= limit;
      any = any || result.slow[i];
    }
    if (!any) result.late = Late();
    result.kind = any                   ? DelayJudgement::Kind::kNetwork
                  : result.late.empty() ? DelayJudgement::Kind::kClear
                                        : DelayJudgement::Kind::kOwnGpu;
    return result;
  }

 private:
  using Filter = bool (Reference::*)(size_t) const;

  bool Sends(size_t i) const { return flows_[i].halves[0].chunks >= 8 && flows_[i].halves[1].chunks >= 8; }
  bool Receives(size_t i) const {
    return Sends(i) && flows_[i].halves[0].received_chunks >= 8 && flows_[i].halves[1].received_chunks >= 8;
  }

  bool Crosses(size_t i) const {
    return host_of_[static_cast<size_t>(flows_[i].source)] != host_of_[static_cast<size_t>(flows_[i].destination)];
  }

  std::vector<size_t> Family(size_t of, Filter filter) const {
    std::vector<size_t> family;
    for (size_t i = 0; i < flows_.size(); ++i) {
      const bool same = flows_[i].family == flows_[of].family && Crosses(i) == Crosses(of);
      if (same && (this->*filter)(i)) family.push_back(i);
    }
    return family;
  }

  std::vector<size_t> Comparable(Filter filter) const {
    std::vector<size_t> comparable;
    for (size_t i = 0; i < flows_.size(); ++i) {
      if ((this->*filter)(i) && Family(i, filter).size() >= 3) comparable.push_back(i);
    }
    return comparable;
  }

  double Delay(size_t i, size_t half) const {
    bool bytes_known = true;
    for (const size_t other : Family(i, &Reference::Sends)) {
      bytes_known = bytes_known && flows_[other].halves[0].bytes > 0 && flows_[other].halves[1].bytes > 0;
    }
    const FlowWaits& waits = flows_[i].halves[half];
    double of_receiver = 0;
    if (waits.received_chunks > 0) {
      of_receiver =
          waits.drain_seconds / static_cast<double>(waits.received_chunks) * static_cast<double>(waits.chunks);
    }
    double network = waits.credit_seconds - of_receiver;
    if (network < 0) network = 0;
    network += waits.wire_seconds;
    return network / static_cast<double>(bytes_known ? waits.bytes : waits.chunks);
  }

  double Drain(size_t i, size_t half) const {
    return flows_[i].halves[half].drain_seconds / static_cast<double>(flows_[i].halves[half].received_chunks);
  }

  template <typename Value>
  double LogRatio(size_t i, size_t half, Filter filter, const Value& value) const {
    std::vector<double> values;
    for (const size_t other : Family(i, filter)) values.push_back(value(other, half));
    return std::log(std::max(value(i, half), 1e-12) / std::max(At(values, 0.25), 1e-12));
  }

  template <typename Value>
  double Limit(const std::vector<size_t>& compared, Filter filter, const Value& value, double least) const {
    std::vector<double> differences;
    std::vector<double> means;
    for (const size_t i : compared) {
      const double first = LogRatio(i, 0, filter, value);
      const double second = LogRatio(i, 1, filter, value);
      differences.push_back(first - second);
      means.push_back((first + second) / 2);
    }
    return std::max({least, 6 * Deviation(differences) / std::sqrt(2.0), 3 * Deviation(means)});
  }

  std::vector<int32_t> Late() const {
    const auto drain = [&](size_t i, size_t half) { return Drain(i, half); };
    const std::vector<size_t> compared = Comparable(&Reference::Receives);
    if (compared.size() < 4) return {};
    const double limit = Limit(compared, &Reference::Receives, drain, std::log(2.0));
    std::set<int32_t> ranks;
    std::set<int32_t> late;
    for (const size_t i : compared) {
      ranks.insert(flows_[i].destination);
      if (LogRatio(i, 0, &Reference::Receives, drain) >= limit &&
          LogRatio(i, 1, &Reference::Receives, drain) >= limit) {
        late.insert(flows_[i].destination);
      }
    }
    if (4 * late.size() > ranks.size()) return {};
    return {late.begin(), late.end()};
  }

  const std::vector<TransferFlow>& flows_;
  const std::vector<int32_t>& host_of_;
};

}  // namespace

ReferenceDelays JudgeDelaysSlowly(const std::vector<TransferFlow>& flows, const std::vector<int32_t>& host_of) {
  return Reference(flows, host_of).Run();
}

}  // namespace lockstep
