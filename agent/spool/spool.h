// Reports on disk while no collector has acknowledged them, for the agent after this one, or for a collector that comes
// back late. The disk is the second home of a report; nothing here ever waits for a disk.
//
// Written before sent: the uplink waits for a report to be written, but for kWriteWaitNanos at most, and not at all
// while the disk is behind. So what a collector has is also in the spool, together with how far the sources were read
// (resume point), and the agent after a killed one neither repeats nor misses operations. "Written" means that the
// kernel has it: it survives any end of this process.
//
// Sync policy: what a power failure may take is what was written since the last sync. A thread of its own syncs once
// per sync_interval, and only while there are reports that no collector has acknowledged: with a collector that
// answers, nothing has to reach the disk at all.
//
// Threads: one that writes, reads and removes, and one that syncs. A disk that hangs keeps these two and nobody else;
// they are left behind when the spool goes. Beyond kMaxQueuedReports or kMaxQueuedBytes reports stay in memory only, as
// they do after an error, and are counted as skipped. Thread-safe.

#ifndef LOCKSTEP_AGENT_SPOOL_SPOOL_H_
#define LOCKSTEP_AGENT_SPOOL_SPOOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/spool/report_log.h"
#include "agent/spool/segment_format.h"
#include "base/clock.h"

namespace lockstep {

// All since the start, except where said.
struct SpoolStatistics {
  bool failing = false;  // now: the last try to open or to write came to nothing, or the disk is behind
  ReportLogState log;    // as of the last write
  std::map<std::string, uint64_t> skipped;  // reports that are in memory only, by reason
  std::map<std::string, uint64_t> errors;   // by operation
  uint64_t syncs = 0;
  int64_t sync_ns = 0;
};

class Spool {
 public:
  static constexpr size_t kMaxQueuedReports = 1'024;
  static constexpr size_t kMaxQueuedBytes = 8 << 20;
  static constexpr int64_t kWriteWaitNanos = 100 * kNanosPerMilli;
  // After an error, until the next try.
  static constexpr int64_t kRetryNanos = 5 * kNanosPerSecond;
  static constexpr int64_t kHousekeepingNanos = kNanosPerSecond;
  static constexpr int64_t kAbandonNanos = 2 * kNanosPerSecond;

  // Owns `log`. Borrows `clock`, for ever. Starts its threads, which open the log.
  Spool(std::unique_ptr<ReportLog> log, int64_t sync_interval_ns, const Clock& clock);
  // Writes what is queued, waiting for at most kAbandonNanos.
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Waits for the log to be open. False = it is not, after that time or after an error; it is tried again until it is.
  bool WaitOpen(int64_t nanos);
  // What former agents have left: once, as soon as the log is open. Never blocks.
  std::vector<FormerAgent> TakeFormers();
  // Of the newest report of all; "" = none, or the log is not open yet.
  std::string resume() const;

  // Queues a report. Never blocks.
  void Add(SpooledReport report);

  // Waits until the report is written; false = it was not in time, or not at all.
  bool WaitWritten(uint64_t sequence, int64_t nanos);
  // Numbers written since the last call, rising.
  std::vector<uint64_t> TakeWritten();

  // Reports of that agent up to `sequence` are stored. Never blocks.
  void Acknowledge(uint64_t incarnation, uint64_t sequence);

  // ReportLog::Read; DEADLINE_EXCEEDED when the disk does not answer in time. By one thread at a time.
  absl::StatusOr<std::vector<AgedReport>> Load(uint64_t incarnation, uint64_t sequence, size_t max_bytes,
                                               int64_t nanos);

  // Losses to be told to the collector, since the last call.
  std::map<std::string, uint64_t> TakeLosses();

  SpoolStatistics statistics() const;

 private:
  struct Core;

  const std::shared_ptr<Core> core_;
  std::thread writer_;
  std::thread syncer_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SPOOL_SPOOL_H_
