// Keeps the recorder's own cost below a budget: how much NCCL is asked to tell.
//
//   level 0: everything    1: no proxy events    2: no kernel events either
//
// Enqueueing is always recorded: leaving operations out would put the members' sequence numbers out of step. So the
// cost at level 2, some 50 ns for each operation, is not governed. Narrowing happens one level for each second above
// the budget; widening to 0 when everything would cost less than half of it, and not within kHoldNanos of the last
// narrowing, so that it does not swing.
//
// What has been spent is a sum over calls, each charged once, at the median cost of such calls when it was counted: a
// call that was preempted, or met cold caches, is one sample, whatever it took. Pure. Thread-compatible, but for
// MedianCost, which is thread-safe.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_GOVERNOR_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_GOVERNOR_H_

#include <atomic>
#include <cstdint>

namespace lockstep::ring {

// Follows the median of samples by steps of an eighth, up or down whatever the sample (stochastic approximation of a
// quantile; Robbins and Monro, 1951). Relaxed: an estimate may lose an update.
class MedianCost {
 public:
  explicit constexpr MedianCost(uint32_t first_ns) : sixteenths_(first_ns * 16) {}

  void Learn(int64_t sample_ns) {
    const uint32_t before = sixteenths_.load(std::memory_order_relaxed);
    const uint32_t step = before / 8 + 1;
    const bool is_above = sample_ns > 0 && static_cast<uint64_t>(sample_ns) * 16 > before;
    const bool may_rise = before < kMaxNs * 16;
    if (is_above ? may_rise : before > step) {
      sixteenths_.store(is_above ? before + step : before - step, std::memory_order_relaxed);
    }
  }
  uint64_t ns() const { return sixteenths_.load(std::memory_order_relaxed) / 16; }

 private:
  static constexpr uint32_t kMaxNs = 1'000'000;

  std::atomic<uint32_t> sixteenths_;  // of a nanosecond
};

// What the recorder's callbacks have cost so far.
class SpentTime {
 public:
  struct Calls {
    uint64_t operations = 0;      // begun
    uint64_t channels_asked = 0;  // of operations with kernel events
    uint64_t channels = 0;        // of all operations
    uint64_t steps = 0;           // of transfers
  };

  constexpr SpentTime() = default;

  // `calls` were made so far; none of them is fewer than before.
  void Charge(const Calls& calls) {
    const uint64_t operation_ns = (calls.operations - charged_.operations) * operation.ns();
    const uint64_t step_ns = (calls.steps - charged_.steps) * step.ns();
    cost_ns_ += operation_ns + step_ns + (calls.channels_asked - charged_.channels_asked) * channel.ns();
    full_cost_ns_ += operation_ns + step_ns + (calls.channels - charged_.channels) * channel.ns();
    charged_ = calls;
  }

  uint64_t cost_ns() const { return cost_ns_; }
  uint64_t full_cost_ns() const { return full_cost_ns_; }  // as if every operation had kernel events

  MedianCost operation{60};  // begin and end of one operation on the launching thread
  MedianCost channel{60};    // all events of one channel
  MedianCost step{60};       // of a transfer

 private:
  Calls charged_;
  uint64_t cost_ns_ = 0;
  uint64_t full_cost_ns_ = 0;
};

class OverheadGovernor {
 public:
  static constexpr int64_t kWindowNanos = 1'000'000'000;
  static constexpr int64_t kHoldNanos = 10'000'000'000;
  static constexpr uint32_t kLevels = 3;
  static constexpr double kDefaultBudget = 0.02;  // of one core

  constexpr OverheadGovernor() = default;

  void set_budget(double cores) { budget_ = cores; }
  double budget() const { return budget_; }

  // `cost_ns` has been spent so far, and `full_cost_ns` would have been at level 0; both only grow.
  uint32_t Update(int64_t now_ns, uint64_t cost_ns, uint64_t full_cost_ns) {
    const int64_t elapsed_ns = now_ns - since_ns_;
    if (since_ns_ != 0 && elapsed_ns < kWindowNanos) return level_;
    const double allowed_ns = budget_ * static_cast<double>(elapsed_ns);
    if (since_ns_ != 0 && static_cast<double>(cost_ns - cost_ns_) > allowed_ns && level_ + 1 < kLevels) {
      SetLevel(level_ + 1);
      narrowed_at_ns_ = now_ns;
    } else if (level_ > 0 && now_ns - narrowed_at_ns_ >= kHoldNanos &&
               static_cast<double>(full_cost_ns - full_cost_ns_) < allowed_ns / 2) {
      SetLevel(0);
    }
    since_ns_ = now_ns;
    cost_ns_ = cost_ns;
    full_cost_ns_ = full_cost_ns;
    return level_;
  }

  uint32_t level() const { return level_; }
  uint32_t changes() const { return changes_; }

 private:
  void SetLevel(uint32_t level) {
    level_ = level;
    ++changes_;
  }

  double budget_ = kDefaultBudget;
  uint32_t level_ = 0;
  uint32_t changes_ = 0;
  int64_t since_ns_ = 0;  // begin of the window; 0 = none yet
  int64_t narrowed_at_ns_ = 0;
  uint64_t cost_ns_ = 0;  // at the begin of the window, as the next
  uint64_t full_cost_ns_ = 0;
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_GOVERNOR_H_
