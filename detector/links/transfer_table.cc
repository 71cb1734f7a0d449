#include "detector/links/transfer_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/clock.h"
#include "detector/structure/robust.h"

namespace lockstep {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr double kHealthyQuantile = 0.25;
// Below it, latency and not bandwidth sets the time, and a slow path looks like any other.
constexpr uint64_t kMinBytes = 1 << 20;
constexpr size_t kOverlapReach = 8;  // operations after one that are looked at for overlap
constexpr size_t kMostNoiseSamples = 1 << 16;

// Transfers of one duty: family, point to point, across hosts, kind, bytes.
using Duty = std::tuple<int32_t, bool, bool, OperationKind, uint64_t>;

bool Measured(const TraceOperation& operation) {
  return operation.started() && operation.finished() && operation.quality != TimingQuality::kHostCall &&
         operation.quality != TimingQuality::kHostEnqueue;
}

class Measurement {
 public:
  Measurement(const Trace& trace, const OperationInstances& matched, const JobRoles& roles, const StepTable& steps)
      : trace_(trace), matched_(matched), roles_(roles), steps_(steps) {}

  TransferTable Run() {
    table_.steps = static_cast<size_t>(steps_.steps);
    NumberSteps();
    duty_of_.assign(matched_.instances.size(), -1);
    seconds_.assign(matched_.instances.size(), kUnknown);
    quickest_.assign(matched_.instances.size(), 0);
    path_of_channel_.assign(matched_.channels.size(), -1);
    for (size_t channel = 0; channel < matched_.channels.size(); ++channel) AddPath(channel);
    FindUsual();
    table_.ratio.assign(table_.paths.size() * table_.steps, kUnknown);
    table_.excess_seconds.assign(table_.paths.size() * table_.steps, kUnknown);
    table_.longest_seconds.assign(table_.paths.size() * table_.steps, kUnknown);
    for (size_t channel = 0; channel < matched_.channels.size(); ++channel) SumSteps(channel);
    MeasureNoise();
    return std::move(table_);
  }

 private:
  void NumberSteps() {
    step_of_.assign(trace_.operations.size(), -1);
    for (size_t rank = 0; rank < steps_.ranks; ++rank) {
      for (int32_t step = 0; step < steps_.steps; ++step) {
        const StepRange& range = steps_.Of(rank, step);
        std::fill(step_of_.begin() + range.begin, step_of_.begin() + range.end, step);
      }
    }
  }

  int32_t HostOf(int32_t rank) const { return trace_.ranks[static_cast<size_t>(rank)].host; }

  // The path of a channel whose members are all known, with the transfer time of each complete instance.
  void AddPath(size_t channel_index) {
    const OperationChannel& channel = matched_.channels[channel_index];
    const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(channel.communicator)].members;
    TransferPath path{.channel = static_cast<int32_t>(channel_index), .point_to_point = !channel.collective()};
    if (path.point_to_point) {
      const auto known = [&](int32_t m) { return m >= 0 && static_cast<size_t>(m) < members.size(); };
      if (!known(channel.source) || !known(channel.destination)) return;
      path.ranks = {members[static_cast<size_t>(channel.source)], members[static_cast<size_t>(channel.destination)]};
    } else {
      path.ranks = members;
    }
    if (path.ranks.size() < 2 || std::find(path.ranks.begin(), path.ranks.end(), -1) != path.ranks.end()) return;
    path.crosses_hosts = std::any_of(path.ranks.begin(), path.ranks.end(),
                                     [&](int32_t rank) { return HostOf(rank) != HostOf(path.ranks[0]); });
    const int32_t family = roles_.communicators[static_cast<size_t>(channel.communicator)].family;
    bool any = false;
    for (uint32_t i = 0; i < channel.instances; ++i) {
      any = MeasureInstance(channel.first_instance + i, family, &path) || any;
    }
    if (!any) return;
    path_of_channel_[channel_index] = static_cast<int32_t>(table_.paths.size());
    table_.paths.push_back(std::move(path));
  }

  bool MeasureInstance(size_t index, int32_t family, TransferPath* path) {
    const OperationInstance& instance = matched_.instances[index];
    if (instance.member_count != path->ranks.size()) return false;
    const absl::Span<const uint32_t> members = matched_.MembersOf(instance);
    const TraceOperation* quickest = nullptr;
    for (const uint32_t member : members) {
      const TraceOperation& operation = trace_.operations[member];
      if (!Measured(operation)) return false;
      if (quickest == nullptr || operation.duration_ns() < quickest->duration_ns()) {
        quickest = &operation;
        quickest_[index] = member;
      }
    }
    if (quickest->bytes > 0 && quickest->bytes < kMinBytes) return false;
    path->exchange = path->exchange || quickest->kind == OperationKind::kAllToAll;
    const OperationKind kind = path->point_to_point ? OperationKind::kSend : quickest->kind;
    const Duty duty{family, path->point_to_point, path->crosses_hosts, kind, quickest->bytes};
    duty_of_[index] = duties_.try_emplace(duty, static_cast<int32_t>(duties_.size())).first->second;
    seconds_[index] = static_cast<float>(static_cast<double>(quickest->duration_ns()) / kNanosPerSecond);
    return seconds_[index] > 0;
  }

  // The usual transfer time of each duty.
  void FindUsual() {
    std::vector<std::vector<double>> of_paths(duties_.size());
    std::vector<double> own_quickest(duties_.size(), 0);
    for (size_t channel_index = 0; channel_index < matched_.channels.size(); ++channel_index) {
      if (path_of_channel_[channel_index] < 0) continue;
      const OperationChannel& channel = matched_.channels[channel_index];
      std::map<int32_t, std::vector<double>> by_duty;
      for (uint32_t i = 0; i < channel.instances; ++i) {
        const size_t index = channel.first_instance + i;
        if (duty_of_[index] >= 0) by_duty[duty_of_[index]].push_back(static_cast<double>(seconds_[index]));
      }
      for (auto& [duty, values] : by_duty) {
        own_quickest[static_cast<size_t>(duty)] = Quantile(values, kHealthyQuantile);
        of_paths[static_cast<size_t>(duty)].push_back(Median(std::move(values)));
      }
    }
    usual_.assign(duties_.size(), 0);
    alone_.assign(duties_.size(), 0);
    for (size_t duty = 0; duty < usual_.size(); ++duty) {
      alone_[duty] = of_paths[duty].size() < 2 ? 1 : 0;
      usual_[duty] = alone_[duty] != 0 ? own_quickest[duty] : Quantile(std::move(of_paths[duty]), kHealthyQuantile);
    }
  }

  // Whether the rank enters anything else while it is inside: then the time inside costs it nothing by itself.
  bool Overlapped(uint32_t index) const {
    const TraceOperation& operation = trace_.operations[index];
    const size_t end = trace_.first_operation[static_cast<size_t>(matched_.rank_of[index]) + 1];
    for (size_t i = index + 1; i < std::min<size_t>(end, index + 1 + kOverlapReach); ++i) {
      const TraceOperation& other = trace_.operations[i];
      if (other.started() && other.start_ns > operation.start_ns && other.start_ns < operation.end_ns &&
          (other.communicator != operation.communicator || IsSendOrRecv(other.kind))) {
        return true;
      }
    }
    return false;
  }

  void SumSteps(size_t channel_index) {
    const int32_t path = path_of_channel_[channel_index];
    if (path < 0) return;
    const OperationChannel& channel = matched_.channels[channel_index];
    std::vector<double> took(table_.steps, 0);
    std::vector<double> usual(table_.steps, 0);
    std::vector<double> excess(table_.steps, 0);
    bool alone = true;
    for (uint32_t i = 0; i < channel.instances; ++i) {
      const size_t index = channel.first_instance + i;
      if (duty_of_[index] < 0) continue;
      const auto duty = static_cast<size_t>(duty_of_[index]);
      const int32_t step = step_of_[quickest_[index]];
      alone = alone && alone_[duty] != 0;
      if (step < 0) continue;
      const auto seconds = static_cast<double>(seconds_[index]);
      float& longest = table_.longest_seconds[static_cast<size_t>(path) * table_.steps + static_cast<size_t>(step)];
      longest = std::fmax(longest, static_cast<float>(seconds - usual_[duty]));
      if (!table_.paths[static_cast<size_t>(path)].point_to_point) {
        took[static_cast<size_t>(step)] += seconds;
        usual[static_cast<size_t>(step)] += usual_[duty];
      } else if (usual[static_cast<size_t>(step)] <= 0 || seconds < took[static_cast<size_t>(step)] * usual_[duty]) {
        // Sends and receives that are issued together end together: the one that went alone tells its direction.
        took[static_cast<size_t>(step)] = seconds / usual_[duty];
        usual[static_cast<size_t>(step)] = 1;
      }
      if (!Overlapped(quickest_[index])) excess[static_cast<size_t>(step)] += seconds - usual_[duty];
    }
    table_.paths[static_cast<size_t>(path)].alone = alone;
    for (size_t step = 0; step < table_.steps; ++step) {
      if (usual[step] <= 0) continue;
      table_.ratio[static_cast<size_t>(path) * table_.steps + step] = static_cast<float>(took[step] / usual[step]);
      table_.excess_seconds[static_cast<size_t>(path) * table_.steps + step] = static_cast<float>(excess[step]);
    }
  }

  void MeasureNoise() {
    std::vector<double> logs;
    const size_t stride = 1 + table_.ratio.size() / kMostNoiseSamples;
    for (size_t i = 0; i < table_.ratio.size(); i += stride) {
      if (!std::isnan(table_.ratio[i]) && table_.ratio[i] > 0) {
        logs.push_back(std::log(static_cast<double>(table_.ratio[i])));
      }
    }
    table_.noise = RobustDeviation(logs);
  }

  const Trace& trace_;
  const OperationInstances& matched_;
  const JobRoles& roles_;
  const StepTable& steps_;
  TransferTable table_;
  std::vector<int32_t> step_of_;    // by operation
  std::vector<int32_t> duty_of_;    // by instance; -1 = not measured
  std::vector<float> seconds_;      // by instance
  std::vector<uint32_t> quickest_;  // by instance: the operation of the last member to arrive
  std::vector<int32_t> path_of_channel_;
  absl::flat_hash_map<Duty, int32_t> duties_;
  std::vector<double> usual_;  // by duty
  std::vector<char> alone_;
};

}  // namespace

TransferTable MeasureTransfers(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                               const StepTable& steps) {
  return Measurement(trace, matched, roles, steps).Run();
}

}  // namespace lockstep
