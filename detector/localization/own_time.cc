#include "detector/localization/own_time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/types/span.h"
#include "detector/localization/order_statistics.h"

namespace lockstep {
namespace {

constexpr size_t kSampledRanks = 3;  // per class, to learn dependencies from
constexpr size_t kMaxSampledClasses = 32;
constexpr int32_t kSampledSteps = 64;
constexpr int64_t kEndTolerance = 20;  // an operation that ends within 1/20 of its length after another's start has
                                       // ended before it: recorders read the two times one after the other
constexpr double kMinGain = 0.05;      // of regularity, that makes a dependency
constexpr double kMaxLost = 0.2;       // gaps in the sequence numbers over records
constexpr size_t kMinSamples = 4;      // steps

// The operations of one rank in order of their starts, swept once.
class Sweep {
 public:
  struct Counts {
    uint64_t ended = 0;
    uint64_t beside = 0;
  };

  Sweep(const Trace& trace, const JobRoles& roles, const std::vector<char>& awaited)
      : trace_(trace), roles_(roles), awaited_(awaited), counts_(awaited.size()) {}

  // By KindOf: how many operations ended, and how many of them ran beside the work.
  const std::vector<Counts>& counts() const { return counts_; }

  // Fills before[0 ...] for operations [begin, end).
  void Run(size_t begin, size_t end, OwnInterval* before) {
    begin_ = begin;
    before_ = before;
    latest_ns_ = kNoTime;
    latest_ = kNoOperation;
    latest_is_end_ = false;
    in_flight_.clear();
    order_.clear();
    bool sorted = true;
    for (size_t i = begin; i < end; ++i) {
      const TraceOperation& operation = trace_.operations[i];
      if (!operation.started()) continue;
      sorted &= order_.empty() || trace_.operations[order_.back()].start_ns <= operation.start_ns;
      order_.push_back(static_cast<uint32_t>(i));
    }
    if (!sorted) {
      std::stable_sort(order_.begin(), order_.end(), [this](uint32_t a, uint32_t b) {
        return trace_.operations[a].start_ns < trace_.operations[b].start_ns;
      });
    }
    for (const uint32_t i : order_) Start(i);
  }

 private:
  struct InFlight {
    uint32_t operation;
    bool beside;  // others began while it ran
  };

  void GoOn(int64_t at_ns, uint32_t operation, bool is_end) {
    if (latest_ != kNoOperation && at_ns < latest_ns_) return;
    latest_ns_ = at_ns;
    latest_ = operation;
    latest_is_end_ = is_end;
  }

  void Start(uint32_t i) {
    const TraceOperation& operation = trace_.operations[i];
    EndUntil(operation);
    OwnInterval& interval = before_[i - begin_];
    if (latest_ != kNoOperation) {
      interval.after = latest_;
      interval.after_end = latest_is_end_;
      interval.seconds = static_cast<float>(ToSeconds(std::max<int64_t>(0, operation.start_ns - latest_ns_)));
    }
    for (InFlight& other : in_flight_) other.beside |= !StartedTogether(trace_.operations[other.operation], operation);
    GoOn(operation.start_ns, i, false);
    in_flight_.push_back({i, false});
  }

  // Send/Recv that are issued as one group, and what two streams begin when one piece of work is done: nothing was done
  // between the two starts.
  static bool StartedTogether(const TraceOperation& a, const TraceOperation& b) {
    return a.finished() && (b.start_ns - a.start_ns) * kEndTolerance <= a.duration_ns();
  }

  void EndUntil(const TraceOperation& next) {
    for (size_t k = 0; k < in_flight_.size();) {
      const TraceOperation& operation = trace_.operations[in_flight_[k].operation];
      const bool ended =
          operation.finished() && (operation.end_ns - next.start_ns) * kEndTolerance <= operation.duration_ns();
      if (!ended) {
        ++k;
        continue;
      }
      Counts& counts = counts_[KindOf(roles_, operation)];
      ++counts.ended;
      counts.beside += in_flight_[k].beside;
      if (!in_flight_[k].beside || awaited_[KindOf(roles_, operation)] != 0) {
        GoOn(std::min(operation.end_ns, next.start_ns), in_flight_[k].operation, true);
      }
      in_flight_[k] = in_flight_.back();
      in_flight_.pop_back();
    }
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const std::vector<char>& awaited_;
  size_t begin_ = 0;
  OwnInterval* before_ = nullptr;
  int64_t latest_ns_ = kNoTime;
  uint32_t latest_ = kNoOperation;
  bool latest_is_end_ = false;
  std::vector<InFlight> in_flight_;
  std::vector<uint32_t> order_;
  std::vector<Counts> counts_;
};

// Decides which kinds of operations that run beside the work are awaited by it.
class DependencyLearner {
 public:
  DependencyLearner(const Trace& trace, const JobRoles& roles, const StepTable& steps)
      : trace_(trace), roles_(roles), steps_(steps) {}

  std::vector<char> Run() {
    std::vector<char> awaited(static_cast<size_t>(roles_.families) * kOperationKinds, 0);
    ChooseSamples();
    Deviations(awaited);
    const std::vector<Sweep::Counts> counts = counts_;
    for (size_t kind = 0; kind < awaited.size(); ++kind) awaited[kind] = counts[kind].beside * 2 < counts[kind].ended;
    std::vector<double> best = Deviations(awaited);
    for (size_t kind = 0; kind < awaited.size(); ++kind) {
      if (counts[kind].beside == 0) continue;
      awaited[kind] ^= 1;
      std::vector<double> changed = Deviations(awaited);
      if (MoreRegular(changed, best)) {
        best = std::move(changed);
      } else {
        awaited[kind] ^= 1;
      }
    }
    return awaited;
  }

 private:
  void ChooseSamples() {
    const size_t stride = std::max<size_t>(1, roles_.classes.size() / kMaxSampledClasses);
    for (size_t number = 0; number < roles_.classes.size(); number += stride) {
      const std::vector<int32_t>& peers = roles_.classes[number];
      const size_t count = std::min(peers.size(), kSampledRanks);
      for (size_t i = 0; i < count; ++i) samples_.push_back(static_cast<size_t>(peers[i * peers.size() / count]));
    }
  }

  // Where it makes a difference at all.
  static bool MoreRegular(const std::vector<double>& changed, const std::vector<double>& best) {
    double with = 0, without = 0;
    for (size_t place = 0; place < best.size(); ++place) {
      if (changed[place] == best[place]) continue;
      with += changed[place];
      without += best[place];
    }
    return with < (1 - kMinGain) * without;
  }

  // Mean deviation of own times from their median at the same place of the step, place by place: the mean, so that the
  // few steps in which something is late count.
  std::vector<double> Deviations(const std::vector<char>& awaited) {
    std::vector<double> deviations;
    Sweep sweep(trace_, roles_, awaited);
    for (const size_t rank : samples_) {
      std::map<uint32_t, std::vector<std::vector<double>>> places;  // calls per step -> place -> own times
      const int32_t last = std::min(steps_.steps, kSampledSteps);
      for (int32_t step = 0; step < last; ++step) {
        const StepRange& range = steps_.Of(rank, step);
        if (!range.complete || range.empty() || steps_.usual[static_cast<size_t>(step)] == 0) continue;
        const uint32_t calls = range.end - range.begin;
        before_.assign(calls, {});
        sweep.Run(range.begin, range.end, before_.data());
        std::vector<std::vector<double>>& known = places[calls];
        known.resize(calls);
        for (uint32_t i = 0; i < calls; ++i) {
          if (before_[i].seconds >= 0) known[i].push_back(static_cast<double>(before_[i].seconds));
        }
      }
      for (auto& [calls, known] : places) {
        for (std::vector<double>& values : known) deviations.push_back(Deviation(&values));
      }
    }
    counts_ = sweep.counts();
    return deviations;
  }

  static double Deviation(std::vector<double>* values) {
    if (values->size() < kMinSamples) return 0;
    const double center = MedianInPlace(values);
    double sum = 0;
    for (const double value : *values) sum += std::abs(value - center);
    return sum / static_cast<double>(values->size());
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const StepTable& steps_;
  std::vector<size_t> samples_;
  std::vector<OwnInterval> before_;
  std::vector<Sweep::Counts> counts_;  // of the latest sweep
};

// Where a record is missing, the time inside the lost operation looks like own time. It lies between two neighbours in
// its channel; the longest interval in between is the one that most likely holds it, and becomes unknown.
class LostRecords {
 public:
  LostRecords(const Trace& trace, const OperationInstances& matched)
      : trace_(trace), matched_(matched), latest_(matched.channels.size(), kNoOperation) {}

  void Forget(size_t rank, std::vector<OwnInterval>* before) {
    const size_t begin = trace_.first_operation[rank], end = trace_.first_operation[rank + 1];
    gaps_.clear();
    for (size_t i = begin; i < end; ++i) {
      if (matched_.instance_of[i] == kNoInstance) continue;
      uint32_t& latest = latest_[static_cast<size_t>(matched_.instances[matched_.instance_of[i]].channel)];
      // Only a predecessor of the same rank counts.
      const bool known = latest != kNoOperation && latest >= begin;
      if (known && trace_.operations[i].sequence > trace_.operations[latest].sequence + 1) {
        gaps_.emplace_back(latest, static_cast<uint32_t>(i));
      }
      latest = static_cast<uint32_t>(i);
    }
    // A recorder that keeps every n-th operation loses nothing by accident.
    if (static_cast<double>(gaps_.size()) > kMaxLost * static_cast<double>(end - begin)) return;
    for (const auto& [first, last] : gaps_) ForgetLongest(first, last, before);
  }

 private:
  static void ForgetLongest(uint32_t first, uint32_t last, std::vector<OwnInterval>* before) {
    uint32_t longest = last;
    for (uint32_t i = first + 1; i <= last; ++i) {
      if ((*before)[i].seconds > (*before)[longest].seconds) longest = i;
    }
    (*before)[longest].seconds = -1;
  }

  const Trace& trace_;
  const OperationInstances& matched_;
  std::vector<uint32_t> latest_;  // by channel: the latest operation in it
  std::vector<std::pair<uint32_t, uint32_t>> gaps_;
};

}  // namespace

OwnTimes MeasureOwnTimes(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                         const StepTable& steps) {
  OwnTimes times;
  times.awaited = DependencyLearner(trace, roles, steps).Run();
  times.before.assign(trace.operations.size(), {});
  Sweep sweep(trace, roles, times.awaited);
  LostRecords lost(trace, matched);
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    sweep.Run(trace.first_operation[rank], trace.first_operation[rank + 1],
              times.before.data() + trace.first_operation[rank]);
    lost.Forget(rank, &times.before);
  }
  return times;
}

}  // namespace lockstep
