// What goes first where reports do not find room: the one rule, for reports in memory (outbox.h) as on disk
// (segment_log.h).
//
// Counters thin out before anything else is lost: from the oldest report on, every second one keeps its samples; once
// that holds of all, every fourth, and so on, at last none. Only then whole reports go, the oldest first, with the
// events, the progress and the operations in them. Which reports keep their samples follows from their numbers, so that
// what remains is evenly spaced, and thinning the same report twice changes nothing.

#ifndef LOCKSTEP_AGENT_SPOOL_SHEDDING_H_
#define LOCKSTEP_AGENT_SPOOL_SHEDDING_H_

#include <algorithm>
#include <cstdint>

#include "proto/telemetry.pb.h"

namespace lockstep {

// Reasons under which losses are told to the collector.
inline constexpr char kCountersThinned[] = "counters_thinned";  // counted in metric blocks

// Not thread-safe. Pure.
class Shedding {
 public:
  static constexpr uint32_t kLastLevel = 6;  // at which no report keeps its samples

  enum class Action { kThin, kDrop };
  struct Step {
    Action action;
    uint64_t place;      // of what has to go or to be thinned out: between the oldest and the newest
    uint32_t level = 0;  // to thin out to
  };

  // What to do next. Places rise with time: numbers of reports, or of segments. REQUIRES: oldest <= newest.
  Step Next(uint64_t oldest, uint64_t newest) {
    cursor_ = std::max(cursor_, oldest);
    if (cursor_ > newest && level_ < kLastLevel) {
      ++level_;
      cursor_ = oldest;
    }
    if (cursor_ > newest) return {Action::kDrop, oldest};
    return {Action::kThin, cursor_++, level_};
  }

  // There is room again: the next shortage begins with every second report.
  void Calm() { *this = Shedding(); }

  // Whether the report with this number keeps its samples at `level`.
  static bool KeepsCounters(uint64_t sequence, uint32_t level) {
    return level < kLastLevel && sequence % (uint64_t{1} << level) == 0;
  }

  // Takes the samples out of `report` if they have to go at `level`, and notes in it how many went. True = it has
  // changed.
  static bool ThinOut(uint32_t level, wire::AgentReport& report) {
    if (KeepsCounters(report.sequence(), level) || report.metrics_size() == 0) return false;
    wire::Dropped* const dropped = report.add_dropped();
    dropped->set_reason(kCountersThinned);
    dropped->set_count(static_cast<uint64_t>(report.metrics_size()));
    report.clear_metrics();
    return true;
  }

 private:
  uint32_t level_ = 1;
  uint64_t cursor_ = 0;  // all before it are thinned out to level_
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SPOOL_SHEDDING_H_
