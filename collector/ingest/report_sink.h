// All that an ingest stream knows of the collector behind it.

#ifndef LOCKSTEP_COLLECTOR_INGEST_REPORT_SINK_H_
#define LOCKSTEP_COLLECTOR_INGEST_REPORT_SINK_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/ingest/agent_ledger.h"
#include "collector/ingest/job_slice.h"
#include "proto/ingest.pb.h"

namespace lockstep {

// Thread-safe. Never blocks.
class ReportSink {
 public:
  using Admitted = std::function<void(absl::StatusOr<std::shared_ptr<AgentLedger>>)>;

  virtual ~ReportSink() = default;

  // Decides about an agent that said hello; calls `admitted` once, now or later, from any thread.
  virtual void Admit(const wire::AgentHello& hello, const std::shared_ptr<AgentStream>& stream, Admitted admitted) = 0;

  // Checks, splits and converts. INVALID_ARGUMENT says what is wrong and where.
  // `is_believed_of_all`: of every job; only then what the agent says of processes without a chosen job counts for
  // others.
  virtual absl::StatusOr<std::vector<JobSlice>> Prepare(const AgentLedger& agent, wire::AgentReport report,
                                                        bool is_believed_of_all) = 0;

  // Moves the slice into the queue of its shard. False when that is full: the slice remains as it is, and the caller
  // must Park before it tries again.
  virtual bool Deliver(JobSlice& slice) = 0;

  // Has `stream` resumed once, when there may be room again.
  virtual void Park(const std::shared_ptr<AgentStream>& stream) = 0;

  // The stream ended because of what the agent sent.
  virtual void OnRejected(const char* reason) = 0;

  // A report was read; `duplicate` ones are skipped.
  virtual void OnReport(size_t bytes, bool duplicate, uint64_t missing_before) = 0;

  // Processes of a report are left out: the agent is not believed of their jobs.
  virtual void OnForeignJob(size_t processes) = 0;

  virtual void OnAckSent() = 0;

  // Receive time, for the ledger.
  virtual int64_t WallNanos() const = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INGEST_REPORT_SINK_H_
