// Reports from the moment they are made until the collector has acknowledged them.
//
// Numbers reports from 1 without gaps, keeps their serialized bytes, and is bounded by acknowledgements: what is not
// acknowledged counts, sent or not. Memory is a window: beyond the limits, reports that are in the spool as well
// (agent/spool) leave memory and are read back when it is their turn. Of others, counters thin out first and then the
// oldest go (shedding.h, the rule of the spool as well). What went is counted by reason in the next report's `dropped`,
// together with the counts that the lost report itself carried, so that no loss is ever silent.
//
//   acknowledged | on disk only, the first of them read back | in memory, the first of them on disk as well | next

#ifndef LOCKSTEP_AGENT_UPLINK_OUTBOX_H_
#define LOCKSTEP_AGENT_UPLINK_OUTBOX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "agent/spool/shedding.h"
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
    bool on_disk = false;  // as well
  };
  // Reports on disk that are in memory again; no more are read back before some of them are acknowledged.
  static constexpr size_t kMaxLoadedBytes = 2 << 20;

  explicit Outbox(const OutboxLimits& limits) : limits_(limits) {}

  // What another agent has left on disk, from `first` to `last`.
  Outbox(const OutboxLimits& limits, uint64_t first, uint64_t last)
      : limits_(limits), newest_sequence_(last), acknowledged_(first - 1), spilled_until_(last) {}

  // Numbers `report`, adds what was dropped before it, and keeps it; then drops what is over the limits. A report that
  // is too large by itself is dropped at once and takes no number.
  void Add(wire::AgentReport report, int64_t now_ns);

  // The oldest report with a number above `sequence`; nullptr if there is none in memory. Valid until the next change.
  const Entry* After(uint64_t sequence) const;

  // The newest added, if it is still there.
  const Entry* newest() const { return entries_.empty() ? nullptr : &entries_.back(); }

  // The report is on disk as well.
  void MarkOnDisk(uint64_t sequence);

  // The number behind which reports have to be read back before the one after `sequence` can be sent. Nothing = none
  // have to, or there is no room for them yet.
  absl::optional<uint64_t> ToLoad(uint64_t sequence) const;

  // What was read back behind `from`, in order; none = there is nothing more on disk.
  void TakeLoaded(uint64_t from, std::vector<Entry> loaded);

  // Reports behind `from` that are only on disk cannot be read: gives them up.
  void DropUnreadable(uint64_t from);

  // Losses elsewhere, to be told in the next report.
  void TellLosses(const std::map<std::string, uint64_t>& losses);

  // The collector has stored all reports up to `sequence`. A number that was never given is ignored: the next report
  // with that number must not vanish. Returns how many reports went.
  size_t Acknowledge(uint64_t sequence);

  // Drops the one report that the collector refuses to take.
  void DropRejected(uint64_t sequence);

  bool empty() const { return size() == 0; }
  size_t size() const { return entries_.size() + loaded_.size() + OnlyOnDisk(spilled_until_); }
  size_t InMemoryOnly() const;                                   // reports that are on no disk
  size_t bytes() const { return bytes_ + loaded_bytes_; }        // in memory
  uint64_t newest_sequence() const { return newest_sequence_; }  // given so far; 0 = none
  uint64_t acknowledged_sequence() const { return acknowledged_; }

  // Reports dropped since the start, by reason.
  const std::map<std::string, uint64_t>& dropped() const { return dropped_; }

 private:
  // Of the reports up to `sequence`, those that are on disk only.
  uint64_t OnlyOnDisk(uint64_t sequence) const {
    const uint64_t from = std::max(acknowledged_, loaded_until_);
    return sequence > from ? sequence - from : 0;
  }
  void KeepLimits(int64_t now_ns);
  void SpillOldest();
  void ThinOut(uint64_t sequence, uint32_t level);
  void Drop(std::deque<Entry>::iterator entry, const char* reason);
  void CountDropped(const wire::AgentReport& report, const char* reason);

  const OutboxLimits limits_;
  std::deque<Entry> entries_;  // by rising sequence
  size_t bytes_ = 0;           // of entries_
  uint64_t newest_sequence_ = 0;
  uint64_t acknowledged_ = 0;   // newest ever
  uint64_t spilled_until_ = 0;  // reports from acknowledged_ to here are not in entries_, but on disk
  std::deque<Entry> loaded_;    // the first of these
  size_t loaded_bytes_ = 0;
  uint64_t loaded_until_ = 0;  // newest report that was read back
  Shedding shedding_;
  std::map<std::string, uint64_t> untold_;  // counts for the next report, by reason; a handful of reasons
  std::map<std::string, uint64_t> dropped_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_OUTBOX_H_
