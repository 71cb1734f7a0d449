// Reports from the moment they are made until the collector has acknowledged them.
//
// Numbers reports from 1 without gaps, keeps their serialized bytes, and is bounded by acknowledgements: what is not
// acknowledged counts, sent or not. Beyond the limits the oldest go first (the newest say more about the present), and
// what went is counted by reason in the next report's `dropped`, together with the counts that the lost report itself
// carried, so that no loss is ever silent.

#ifndef LOCKSTEP_AGENT_UPLINK_OUTBOX_H_
#define LOCKSTEP_AGENT_UPLINK_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "proto/telemetry.pb.h"

namespace lockstep {

struct OutboxLimits {
  size_t max_bytes = 8 << 20;                         // of serialized reports
  int64_t max_age_ns = int64_t{600} * 1'000'000'000;  // 10 minutes: older than that history is not worth the memory
  size_t max_report_bytes = 3 << 20;                  // a collector takes messages of up to 4 MiB
};

// Not thread-safe. Pure: knows neither clock nor network.
class Outbox {
 public:
  // A report on its way.
  struct Entry {
    uint64_t sequence = 0;
    int64_t added_ns = 0;  // CLOCK_MONOTONIC
    std::string bytes;     // serialized AgentReport, without `waited_ns`: that is known when it is sent
  };

  explicit Outbox(const OutboxLimits& limits) : limits_(limits) {}

  // Numbers `report`, adds what was dropped before it, and keeps it; then drops what is over the limits. A report that
  // is too large by itself is dropped at once and takes no number.
  void Add(wire::AgentReport report, int64_t now_ns);

  // The oldest report with a number above `sequence`; nullptr if there is none. Valid until the next change.
  const Entry* After(uint64_t sequence) const;

  // The collector has stored all reports up to `sequence`. A number that was never given is ignored: the next report
  // with that number must not vanish. Returns how many reports went.
  size_t Acknowledge(uint64_t sequence);

  // Drops the one report that the collector refuses to take.
  void DropRejected(uint64_t sequence);

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  size_t bytes() const { return bytes_; }
  uint64_t newest_sequence() const { return newest_sequence_; }  // given so far; 0 = none

  // Reports dropped since the start, by reason.
  const std::map<std::string, uint64_t>& dropped() const { return dropped_; }

 private:
  void Drop(std::deque<Entry>::iterator entry, const char* reason);
  void CountDropped(const wire::AgentReport& report, const char* reason);

  const OutboxLimits limits_;
  std::deque<Entry> entries_;  // by rising sequence
  size_t bytes_ = 0;
  uint64_t newest_sequence_ = 0;
  std::map<std::string, uint64_t> untold_;  // counts for the next report, by reason; a handful of reasons
  std::map<std::string, uint64_t> dropped_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_OUTBOX_H_
