// How much work one look into a process may cost, in units of some 50 ns: that may hold anything, endless work as well.
//
// Whoever works takes units before each piece of it, and stops when there are none. They are gone as well when the
// time is over or the agent ends, which is asked for in between.

#ifndef LOCKSTEP_AGENT_STACKS_WORK_BUDGET_H_
#define LOCKSTEP_AGENT_STACKS_WORK_BUDGET_H_

#include <cstdint>
#include <functional>
#include <utility>

namespace lockstep {

// Not thread-safe.
class WorkBudget {
 public:
  static constexpr uint64_t kUnitsBetweenQuestions = 16'384;  // some 1 ms

  // `is_over`: whether to stop, whatever is left; empty = never.
  WorkBudget(uint64_t units, std::function<bool()> is_over) : units_(units), is_over_(std::move(is_over)) { Refill(); }

  void Refill() {
    left_ = units_;
    ask_below_ = units_;
  }

  // False = nothing is left, now and until it is refilled.
  bool Take(uint64_t units) {
    left_ = left_ > units ? left_ - units : 0;
    if (left_ > 0 && left_ < ask_below_) Ask();
    return left_ > 0;
  }

  // Asks at once whether it is over.
  void Ask() {
    ask_below_ = left_ > kUnitsBetweenQuestions ? left_ - kUnitsBetweenQuestions : 0;
    if (is_over_ && is_over_()) left_ = 0;
  }

  bool spent() const { return left_ == 0; }

 private:
  const uint64_t units_;
  const std::function<bool()> is_over_;
  uint64_t left_ = 0;
  uint64_t ask_below_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_WORK_BUDGET_H_
