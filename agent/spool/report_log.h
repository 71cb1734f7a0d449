// Reports on disk as the spool's threads see them: the seam between them and files, so that a disk can hang in a test.

#ifndef LOCKSTEP_AGENT_SPOOL_REPORT_LOG_H_
#define LOCKSTEP_AGENT_SPOOL_REPORT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/spool/segment_format.h"

namespace lockstep {

// What an earlier agent of this host has left: reports up to `last_sequence`, none of which is known to be stored.
struct FormerAgent {
  uint64_t incarnation = 0;
  uint64_t first_sequence = 0;
  uint64_t last_sequence = 0;
};

// A report with the time that has passed since it was made.
struct AgedReport {
  uint64_t sequence = 0;
  int64_t age_ns = 0;
  std::string bytes;  // wire::AgentReport
};

// Numbers of now, but for the losses, which are since the start.
struct ReportLogState {
  size_t segments = 0;
  size_t bytes = 0;
  uint64_t reports = 0;       // that are not acknowledged
  int64_t oldest_age_ns = 0;  // of these
  uint64_t corrupt_places = 0;
  std::map<std::string, uint64_t> dropped;  // reports given up, by reason
};

// Not thread-safe. Every call may block as long as the disk likes.
class ReportLog {
 public:
  virtual ~ReportLog() = default;

  // Looks at what there is. May be called again after an error.
  virtual absl::Status Open() = 0;

  // Oldest first; as Open has found them.
  virtual std::vector<FormerAgent> formers() const = 0;
  // Of the newest report of all, if that was made in this boot; "" = none.
  virtual std::string resume() const = 0;

  // Writes it so that it survives this process; see BeginSync.
  virtual absl::Status Append(const SpooledReport& report) = 0;

  // Reports of `incarnation` up to `sequence` are not needed any more.
  virtual absl::Status Acknowledge(uint64_t incarnation, uint64_t sequence) = 0;

  // Reports of `incarnation` behind `sequence`, in order, until about `max_bytes`; none = there are no more. Those that
  // are too old are left out and counted.
  virtual absl::StatusOr<std::vector<AgedReport>> Read(uint64_t incarnation, uint64_t sequence, size_t max_bytes) = 0;

  // Keeps the limits: thins out, gives up.
  virtual absl::Status KeepLimits() = 0;

  // What brings to the disk all that was appended so far; to be called by any thread. Null = nothing is there to do.
  virtual std::function<absl::Status()> BeginSync() = 0;

  virtual ReportLogState state() const = 0;
  // Losses since the last call, to be told to the collector: by reason, those that the lost reports told included.
  virtual std::map<std::string, uint64_t> TakeLosses() = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SPOOL_REPORT_LOG_H_
