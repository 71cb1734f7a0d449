// The streams of all agents that play a job, and the pace at which they do.
//
// Blocking. Not thread-safe.

#ifndef LOCKSTEP_SIM_FEED_FLEET_STREAMS_H_
#define LOCKSTEP_SIM_FEED_FLEET_STREAMS_H_

#include <grpcpp/channel.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "proto/ingest.grpc.pb.h"
#include "proto/ingest.pb.h"
#include "sim/feed/feed_result.h"
#include "sim/feed/host_stream.h"

namespace lockstep {

// Moments of a job on a clock that runs `speed` times as fast, from its construction on.
class Pace {
 public:
  Pace(const Clock& clock, double speed) : clock_(clock), speed_(speed), begin_ns_(clock.MonotonicNanos()) {}

  // Returns when the job is `since_ns` old; false = it was older already, by more than `slack_ns`.
  bool WaitFor(int64_t since_ns, int64_t slack_ns = 0) const;

 private:
  int64_t DueNanos(int64_t since_ns) const {
    return begin_ns_ + static_cast<int64_t>(static_cast<double>(since_ns) / speed_);
  }

  const Clock& clock_;
  const double speed_;
  const int64_t begin_ns_;
};

class FleetStreams {
 public:
  FleetStreams(const FeedOptions& options, const Clock& clock) : options_(options), clock_(clock) {}

  // At most `agents` will be opened. INVALID_ARGUMENT for a speed that is none, UNAVAILABLE when nobody answers.
  absl::Status Connect(size_t agents);

  // The number of a new stream, on which its agent has said hello.
  size_t Open(const wire::AgentHello& hello);

  // What the collector wishes of an agent.
  std::vector<wire::Command> TakeCommands(size_t stream) { return streams_[stream]->TakeCommands(); }

  // Numbers the report, stamps it with the time of day and sends it.
  void Send(size_t stream, wire::AgentReport report);

  // An agent that sends no more, while others do.
  void Close(size_t stream);

  // Waits a little for the collector to store everything, ends all streams and adds what became of them.
  void Finish(FeedResult& result);

 private:
  const FeedOptions& options_;
  const Clock& clock_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<wire::Ingest::Stub>> stubs_;
  std::vector<std::unique_ptr<HostStream>> streams_;
  std::vector<uint64_t> sent_;  // newest sequence, by stream
  std::vector<char> closed_;    // by stream
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_FEED_FLEET_STREAMS_H_
