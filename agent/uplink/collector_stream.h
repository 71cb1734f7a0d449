// A connection to a collector as the uplink sees it: the seam between its logic and gRPC.

#ifndef LOCKSTEP_AGENT_UPLINK_COLLECTOR_STREAM_H_
#define LOCKSTEP_AGENT_UPLINK_COLLECTOR_STREAM_H_

#include <memory>

#include "absl/status/status.h"
#include "proto/ingest.pb.h"

namespace lockstep {

// One stream. Write and Read may be called at the same time, each by one thread; Cancel by any thread at any time.
// Thread-safe to that extent.
class CollectorStream {
 public:
  virtual ~CollectorStream() = default;

  // Blocks while the collector takes nothing. False = the stream is over.
  virtual bool Write(const wire::AgentMessage& message) = 0;

  // Blocks until a message comes. False = the stream is over.
  virtual bool Read(wire::CollectorMessage& message) = 0;

  // Makes Write and Read return false soon.
  virtual void Cancel() = 0;

  // Why it is over. Once, after Read has returned false and when nobody writes.
  virtual absl::Status Finish() = 0;
};

// Opens streams. Used by one thread.
class CollectorConnector {
 public:
  virtual ~CollectorConnector() = default;

  // Never fails: a collector that cannot be reached is a stream that is over at once.
  virtual std::unique_ptr<CollectorStream> Connect() = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_COLLECTOR_STREAM_H_
