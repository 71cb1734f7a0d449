// What one agent of a capture has reported of its operations, to answer a collector that asks for them.
//
// Holds the newest batches up to kMaxArchiveBytes, as the agent's own archive does; older ones are forgotten. An
// operation that the agent both reported and handed over on request may be in an answer twice; whoever takes it keeps
// one. Not thread-safe.

#ifndef LOCKSTEP_SIM_FEED_CAPTURE_ARCHIVE_H_
#define LOCKSTEP_SIM_FEED_CAPTURE_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

class CaptureArchive {
 public:
  static constexpr size_t kMaxAnswerBytes = 2 << 20;   // as an agent's
  static constexpr size_t kMaxArchiveBytes = 4 << 20;  // two answers: nobody asks for more at once

  // Takes the operations of a report that was played, and of the answers in it.
  void Take(const wire::AgentReport& report);

  // The answer to a wish concerning `job`: batches whose newest operation ended not longer before the newest report
  // than asked, the newest that fit. Every wish but that for operations of `job` is refused.
  void Answer(const std::string& job, const wire::Command& command, wire::CommandResult& result) const;

 private:
  struct Held {
    int64_t newest_ns = 0;  // end of its newest operation, agent's monotonic clock
    int32_t rank = -1;
    uint64_t communicator = 0;
    uint64_t operations = 0;
    std::string encoded;  // wire::PulledOperations
  };

  void AddAll(const google::protobuf::RepeatedPtrField<wire::PulledOperations>& batches);
  void Add(int32_t rank, uint64_t process_start_ticks, uint64_t communicator, const wire::OperationBatch& batch);

  std::deque<Held> held_;  // in the order of the reports
  size_t bytes_ = 0;
  int64_t now_ns_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_FEED_CAPTURE_ARCHIVE_H_
