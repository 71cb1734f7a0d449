#include "detector/network/transfer_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/clock.h"
#include "base/median.h"
#include "base/shares.h"
#include "detector/model/operation_kind.h"
#include "detector/stats/robust.h"

namespace lockstep {
namespace {

// Of a normal distribution: from its quarter to its eighth, in standard deviations.
constexpr double kQuarterToEighth = 0.476;
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
// Holds while fewer than three quarters are slow.
constexpr double kHealthyQuantile = kMinorPart;
// Budget: operations after one that are looked at for overlap.
constexpr size_t kOverlapReach = 8;
// Budget of memory; a deviation of so many is known to 0.3 %.
constexpr size_t kMostNoiseSamples = 1 << 16;
constexpr size_t kMostParts = 4;  // of the ranks: each has an entry for every instance

// Faster than any link: NVLink 5 moves 0.9 TB/s in one direction.
constexpr double kMostBytesPerNs = 2'000;
// Of the Recv: what no link can do is a buffer, or in fewer than that a wrong time.
constexpr double kMoreThanErrors = 0.01;

// Sizes that are about equal: what takes as long per byte, be it latency for the most part.
constexpr double kAlikePerOctave = 4;

// Transfers of one duty: family, point to point, across hosts, kind, bytes.
using Duty = std::tuple<int32_t, bool, bool, OperationKind, uint64_t>;

// The same of about equal sizes.
Duty Rounded(Duty duty) {
  auto& bytes = std::get<uint64_t>(duty);
  bytes = static_cast<uint64_t>(kAlikePerOctave * std::log2(static_cast<double>(bytes)));
  return duty;
}

bool Measured(const TraceOperation& operation) {
  return operation.started() && operation.finished() && operation.quality != TimingQuality::kHostCall &&
         operation.quality != TimingQuality::kHostEnqueue;
}

// What it receives had come before it, into a buffer.
bool HadCome(const TraceOperation& operation) {
  return static_cast<double>(operation.bytes) > kMostBytesPerNs * static_cast<double>(operation.duration_ns());
}

// Where some Recv find what had come before, a Send waits for none, and any Recv may have come in the middle of it.
bool SendsThroughBuffers(const Trace& trace) {
  size_t receives = 0, had_come = 0;
  for (const TraceOperation& operation : trace.operations) {
    if (operation.kind != OperationKind::kRecv || operation.bytes < kMuchBytes || !Measured(operation)) continue;
    ++receives;
    had_come += HadCome(operation) ? 1 : 0;
  }
  return static_cast<double>(had_come) >= std::max(1.0, kMoreThanErrors * static_cast<double>(receives));
}

class Measurement {
 public:
  Measurement(const Trace& trace, const OperationInstances& matched, const JobRoles& roles, const StepTable& steps,
              const std::vector<char>& without_begins, Executor* executor)
      : trace_(trace),
        matched_(matched),
        roles_(roles),
        steps_(steps),
        executor_(executor),
        without_begins_(without_begins),
        through_buffers_(SendsThroughBuffers(trace)) {}

  TransferTable Run() {
    table_.steps = static_cast<size_t>(steps_.steps);
    FindQuickest();
    duty_of_.assign(matched_.instances.size(), -1);
    path_of_channel_.assign(matched_.channels.size(), -1);
    for (size_t channel = 0; channel < matched_.channels.size(); ++channel) AddPath(channel);
    FindUsual();
    table_.ratio.assign(table_.paths.size() * table_.steps, kUnknown);
    table_.excess_seconds.assign(table_.paths.size() * table_.steps, kUnknown);
    table_.longer_seconds.assign(table_.paths.size() * table_.steps, kUnknown);
    for (size_t channel = 0; channel < matched_.channels.size(); ++channel) SumSteps(channel);
    MeasureNoise();
    return std::move(table_);
  }

 private:
  // Of an instance, the record of the last member to arrive.
  struct Quickest {
    static constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();
    int64_t duration_ns = kNobody;  // negative: some member's is not measured
    uint64_t bytes = 0;
    int32_t step = -1;
    OperationKind kind = OperationKind::kAllReduce;
    bool overlapped = false;

    bool is_known() const { return duration_ns >= 0 && duration_ns != kNobody; }
    double seconds() const { return static_cast<double>(duration_ns) / kNanosPerSecond; }
  };

  // One pass over the records in their order: members of an instance are far apart.
  void FindQuickest() {
    std::vector<std::vector<Quickest>> of_part(std::min(kMostParts, PartsOf(executor_, steps_.ranks)));
    RunParts(executor_, steps_.ranks, of_part.size(), [&](size_t part, size_t first_rank, size_t last_rank) {
      of_part[part].resize(matched_.instances.size());
      FindQuickestAmong(first_rank, last_rank, &of_part[part]);
    });
    if (of_part.empty()) return;
    quickest_ = std::move(of_part.front());
    for (size_t part = 1; part < of_part.size(); ++part) {
      for (size_t i = 0; i < quickest_.size(); ++i) {
        // Of equally quick ones the first, as one pass would have it.
        if (of_part[part][i].duration_ns < quickest_[i].duration_ns) quickest_[i] = of_part[part][i];
      }
    }
  }

  void FindQuickestAmong(size_t first_rank, size_t last_rank, std::vector<Quickest>* quickest) const {
    std::vector<int32_t> step_of;
    for (size_t rank = first_rank; rank < last_rank; ++rank) {
      if (without_begins_[rank] != 0) continue;  // what it was inside holds its work
      const size_t begin = trace_.first_operation[rank], end = trace_.first_operation[rank + 1];
      step_of.assign(end - begin, -1);
      for (int32_t step = 0; step < steps_.steps; ++step) {
        const StepRange& range = steps_.Of(rank, step);
        if (range.empty()) continue;
        std::fill(step_of.begin() + static_cast<std::ptrdiff_t>(range.begin - begin),
                  step_of.begin() + static_cast<std::ptrdiff_t>(range.end - begin), step);
      }
      for (size_t i = begin; i < end; ++i) {
        const uint32_t instance = matched_.instance_of[i];
        if (instance != kNoInstance) Note(i, end, step_of[i - begin], &(*quickest)[instance]);
      }
    }
  }

  void Note(size_t index, size_t end, int32_t step, Quickest* quickest) const {
    const TraceOperation& operation = trace_.operations[index];
    if (!Measured(operation)) {
      quickest->duration_ns = -1;
    } else if (operation.duration_ns() < quickest->duration_ns && !TellsNothing(operation)) {
      *quickest = {.duration_ns = operation.duration_ns(),
                   .bytes = operation.bytes,
                   .step = step,
                   .kind = operation.kind,
                   .overlapped = Overlapped(index, end)};
    }
  }

  bool TellsNothing(const TraceOperation& operation) const {
    return through_buffers_ && operation.kind == OperationKind::kRecv;
  }

  // Members whose times tell nothing: each may be the last to arrive.
  int64_t CountBlind(const TransferPath& path) const {
    return std::count_if(path.ranks.begin(), path.ranks.end(),
                         [this](int32_t rank) { return without_begins_[static_cast<size_t>(rank)] != 0; });
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
    const int64_t blind = CountBlind(path);
    const double most_blind = path.point_to_point ? 0 : kMinorPart * static_cast<double>(path.ranks.size());
    if (static_cast<double>(blind) > most_blind) return;
    path.sees_all = blind == 0;
    path.crosses_hosts = std::any_of(path.ranks.begin(), path.ranks.end(),
                                     [&](int32_t rank) { return HostOf(rank) != HostOf(path.ranks[0]); });
    const int32_t family = roles_.communicators[static_cast<size_t>(channel.communicator)].family;
    bool any = false;
    const uint64_t calls = path.point_to_point ? 1 : CallsPerStep(channel, path.ranks.size());
    for (uint32_t i = 0; i < channel.instances; ++i) {
      any = MeasureInstance(channel.first_instance + i, family, calls, &path) || any;
    }
    if (!any) return;
    path_of_channel_[channel_index] = static_cast<int32_t>(table_.paths.size());
    table_.paths.push_back(std::move(path));
  }

  // In the middle step; at least 1.
  uint64_t CallsPerStep(const OperationChannel& channel, size_t members) const {
    std::map<int32_t, uint64_t> calls;  // by step
    for (uint32_t i = 0; i < channel.instances; ++i) {
      const size_t index = channel.first_instance + i;
      const Quickest& quickest = quickest_[index];
      const bool is_whole = matched_.instances[index].member_count == members && quickest.is_known();
      if (is_whole && quickest.step >= 0) ++calls[quickest.step];
    }
    std::vector<uint64_t> counts;
    for (const auto& [step, count] : calls) counts.push_back(count);
    return counts.empty() ? 1 : UpperMedian(&counts);
  }

  // Where no sizes are recorded, the place among the calls of a step tells large ones from small ones.
  bool MeasureInstance(size_t index, int32_t family, uint64_t calls, TransferPath* path) {
    const OperationInstance& instance = matched_.instances[index];
    const Quickest& quickest = quickest_[index];
    if (instance.member_count != path->ranks.size() || !quickest.is_known()) return false;
    if (quickest.kind == OperationKind::kBarrier || (quickest.bytes > 0 && quickest.bytes < kMuchBytes)) return false;
    path->exchange = path->exchange || quickest.kind == OperationKind::kAllToAll;
    const OperationKind kind = path->point_to_point ? OperationKind::kSend : quickest.kind;
    const uint64_t bytes = quickest.bytes > 0 ? quickest.bytes : instance.sequence % calls;
    duty_of_[index] = NumberOf({family, path->point_to_point, path->crosses_hosts, kind, bytes}, quickest.bytes > 0);
    return quickest.duration_ns > 0;
  }

  // `has_size`: its last part is a size.
  int32_t NumberOf(const Duty& duty, bool has_size) {
    if (latest_number_ >= 0 && duty == latest_duty_) return latest_number_;
    latest_duty_ = duty;
    const auto [found, added] = duties_.try_emplace(duty, static_cast<int32_t>(duties_.size()));
    latest_number_ = found->second;
    if (!added) return latest_number_;
    bytes_of_.push_back(has_size ? static_cast<double>(std::get<uint64_t>(duty)) : 0);
    alike_of_.push_back(
        !has_size ? -1 : alike_.try_emplace(Rounded(duty), static_cast<int32_t>(alike_.size())).first->second);
    return latest_number_;
  }

  // What the paths that make such transfers take, in the middle.
  struct OfPaths {
    std::vector<double> medians;
    double own_quickest = 0;  // of the first; asked for only when there is no other
  };

  // By group of duties. `group_of`: of a duty, -1 = none; `value_of`: of seconds of a duty.
  template <typename GroupOf, typename ValueOf>
  std::vector<OfPaths> Compare(size_t groups, const GroupOf& group_of, const ValueOf& value_of) const {
    std::vector<OfPaths> compared(groups);
    for (size_t channel_index = 0; channel_index < matched_.channels.size(); ++channel_index) {
      if (path_of_channel_[channel_index] < 0) continue;
      const OperationChannel& channel = matched_.channels[channel_index];
      std::map<int32_t, std::vector<double>> by_group;
      for (uint32_t i = 0; i < channel.instances; ++i) {
        const size_t index = channel.first_instance + i;
        if (duty_of_[index] < 0) continue;
        const auto duty = static_cast<size_t>(duty_of_[index]);
        const int32_t group = group_of(duty);
        if (group >= 0) by_group[group].push_back(value_of(duty, quickest_[index].seconds()));
      }
      for (auto& [group, values] : by_group) {
        OfPaths& of = compared[static_cast<size_t>(group)];
        if (of.medians.empty()) of.own_quickest = Quantile(values, kHealthyQuantile);
        of.medians.push_back(LowerMedianOrNan(std::move(values)));
      }
    }
    return compared;
  }

  // The usual transfer time of each duty.
  void FindUsual() {
    const std::vector<OfPaths> of_duty = Compare(
        duties_.size(), [](size_t duty) { return static_cast<int32_t>(duty); },
        [](size_t /*duty*/, double seconds) { return seconds; });
    for (const OfPaths& of : of_duty) {
      alone_.push_back(of.medians.size() < 2 ? 1 : 0);
      usual_.push_back(alone_.back() != 0 ? of.own_quickest : Quantile(of.medians, kHealthyQuantile));
    }
    CompareSizesAlike();
  }

  // Where batches decide about sizes, no two paths send as much: then sizes that are about equal are compared per byte.
  void CompareSizesAlike() {
    const std::vector<OfPaths> of_size = Compare(
        alike_.size(), [this](size_t duty) { return alone_[duty] != 0 ? alike_of_[duty] : -1; },
        [this](size_t duty, double seconds) { return seconds / bytes_of_[duty]; });
    for (size_t duty = 0; duty < usual_.size(); ++duty) {
      if (alone_[duty] == 0 || alike_of_[duty] < 0) continue;
      const std::vector<double>& medians = of_size[static_cast<size_t>(alike_of_[duty])].medians;
      if (medians.size() < 2) continue;
      usual_[duty] = bytes_of_[duty] * Quantile(medians, kHealthyQuantile);
      alone_[duty] = 0;
    }
  }

  // Whether the rank, whose records end at `end`, enters anything else while it is inside: then the time inside costs
  // it nothing by itself.
  bool Overlapped(size_t index, size_t end) const {
    const TraceOperation& operation = trace_.operations[index];
    for (size_t i = index + 1; i < std::min(end, index + 1 + kOverlapReach); ++i) {
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
    std::vector<double> longer(table_.steps, 0);
    bool alone = true;
    for (uint32_t i = 0; i < channel.instances; ++i) {
      const size_t index = channel.first_instance + i;
      if (duty_of_[index] < 0) continue;
      const auto duty = static_cast<size_t>(duty_of_[index]);
      const Quickest& quickest = quickest_[index];
      const int32_t step = quickest.step;
      alone = alone && alone_[duty] != 0;
      if (step < 0) continue;
      const double seconds = quickest.seconds();
      longer[static_cast<size_t>(step)] += seconds - usual_[duty];
      if (!table_.paths[static_cast<size_t>(path)].point_to_point) {
        took[static_cast<size_t>(step)] += seconds;
        usual[static_cast<size_t>(step)] += usual_[duty];
      } else if (usual[static_cast<size_t>(step)] <= 0 || seconds < took[static_cast<size_t>(step)] * usual_[duty]) {
        // Sends and receives that are issued together end together: the one that went alone tells its direction.
        took[static_cast<size_t>(step)] = seconds / usual_[duty];
        usual[static_cast<size_t>(step)] = 1;
      }
      if (!quickest.overlapped) excess[static_cast<size_t>(step)] += seconds - usual_[duty];
    }
    table_.paths[static_cast<size_t>(path)].alone = alone;
    for (size_t step = 0; step < table_.steps; ++step) {
      if (usual[step] <= 0) continue;
      table_.ratio[static_cast<size_t>(path) * table_.steps + step] = static_cast<float>(took[step] / usual[step]);
      table_.excess_seconds[static_cast<size_t>(path) * table_.steps + step] = static_cast<float>(excess[step]);
      table_.longer_seconds[static_cast<size_t>(path) * table_.steps + step] = static_cast<float>(longer[step]);
    }
  }

  // Logs of the ratio of one path in the steps in which it was measured.
  std::vector<double> LogsOf(size_t path) const {
    std::vector<double> logs;
    for (size_t step = 0; step < table_.steps; ++step) {
      const auto ratio = static_cast<double>(table_.ratio[path * table_.steps + step]);
      if (ratio > 0) logs.push_back(std::log(ratio));  // NaN is not
    }
    return logs;
  }

  // What passes within a host takes as long as its members' order says, what leaves it as long as the data.
  void MeasureNoise() {
    std::map<bool, std::vector<size_t>> alike;  // by whether they leave a host
    for (size_t path = 0; path < table_.paths.size(); ++path) {
      alike[table_.paths[path].crosses_hosts].push_back(path);
    }
    for (const auto& [crosses, paths] : alike) {
      const Noise noise = NoiseOf(paths);
      for (const size_t path : paths) {
        table_.paths[path].noise = noise.of_all;
        table_.paths[path].step_noise = noise.of_steps;
      }
    }
  }

  struct Noise {
    double of_all = 0;
    double of_steps = 0;
  };

  Noise NoiseOf(const std::vector<size_t>& paths) const {
    std::vector<double> all, changes, middles;
    const size_t stride = 1 + paths.size() * table_.steps / kMostNoiseSamples;
    for (size_t i = 0; i < paths.size(); i += stride) {
      std::vector<double> logs = LogsOf(paths[i]);
      all.insert(all.end(), logs.begin(), logs.end());
      for (size_t at = 1; at < logs.size(); ++at) changes.push_back(logs[at] - logs[at - 1]);
      if (!logs.empty()) middles.push_back(LowerMedianOrNan(std::move(logs)));
    }
    const double of_steps = RobustDeviation(changes) / std::numbers::sqrt2;
    const double of_all = std::min(RobustDeviation(all), std::hypot(of_steps, DeviationOfQuickest(std::move(middles))));
    return {of_all, of_steps};
  }

  // Of paths, by what the quickest quarter lies below its upper end. 0 where there are too few.
  static double DeviationOfQuickest(std::vector<double> middles) {
    if (middles.empty()) return 0;
    const double quarter = Quantile(middles, kHealthyQuantile);
    const double eighth = Quantile(std::move(middles), kHealthyQuantile / 2);
    return (quarter - eighth) / kQuarterToEighth;
  }

  const Trace& trace_;
  const OperationInstances& matched_;
  const JobRoles& roles_;
  const StepTable& steps_;
  Executor* const executor_;
  const std::vector<char>& without_begins_;  // by rank
  const bool through_buffers_;
  TransferTable table_;
  std::vector<Quickest> quickest_;  // by instance
  std::vector<int32_t> duty_of_;    // by instance; -1 = not measured
  std::vector<int32_t> path_of_channel_;
  absl::flat_hash_map<Duty, int32_t> duties_;
  Duty latest_duty_;  // mostly asked for again
  int32_t latest_number_ = -1;
  std::vector<double> bytes_of_;   // by duty; 0 = not recorded
  std::vector<int32_t> alike_of_;  // by duty: number of those of about equal sizes; -1 = sizes are not recorded
  absl::flat_hash_map<Duty, int32_t> alike_;
  std::vector<double> usual_;  // by duty
  std::vector<char> alone_;
};

}  // namespace

TransferTable MeasureTransfers(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                               const StepTable& steps, const std::vector<char>& without_begins, Executor* executor) {
  return Measurement(trace, matched, roles, steps, without_begins, executor).Run();
}

}  // namespace lockstep
