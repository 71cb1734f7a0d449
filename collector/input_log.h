// Where a shard writes down everything that it feeds to detectors, in that order.

#ifndef LOCKSTEP_COLLECTOR_INPUT_LOG_H_
#define LOCKSTEP_COLLECTOR_INPUT_LOG_H_

#include <cstddef>
#include <cstdint>

#include "collector/ingest/agent_ledger.h"
#include "proto/capture.pb.h"

namespace lockstep {

// One entry, and whose report it completes. An entry that is not set: what completes the report is in the log already.
struct LogItem {
  wire::CaptureEntry entry;
  AgentLedger::Ticket ticket;  // of an input; its ledger is nullptr otherwise
  size_t bytes = 0;            // of the entry, about; for limits
};

// Thread-safe.
class InputLog {
 public:
  virtual ~InputLog() = default;

  // Takes the item. False when the log is full because the store refuses: the item is lost, its report will never be
  // acknowledged, and the caller must begin the job's log anew when the store is healthy again. May wait for a store
  // that is slow, not for one that fails.
  virtual bool Append(LogItem item) = 0;

  // Whether the store accepted the last write.
  virtual bool healthy() const = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INPUT_LOG_H_
