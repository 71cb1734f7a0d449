// Keeps the recorder's own cost below a budget: how much NCCL is asked to tell.
//
//   level 0: everything    1: no proxy events    2: no kernel events either
//
// Enqueueing is always recorded: leaving operations out would put the members' sequence numbers out of step. So the
// cost at level 2, some 50 ns for each operation, is not governed. Narrowing happens one level for each second above
// the budget; widening to 0 when everything would cost less than half of it, and not within kHoldNanos of the last
// narrowing, so that it does not swing. Pure. Thread-compatible.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_GOVERNOR_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_GOVERNOR_H_

#include <cstdint>

namespace lockstep::ring {

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
