// The reports that the agents of a job would send: one per host and tick, made from what a recording or a simulation
// holds of it.
//
// A record is reported in the first tick in which its agent would have known it, by the clock of its own host. An
// operation without an end stays in flight, unless a later one of the same communicator (or of the same direction
// between the same two ranks) has ended: then its end was lost. Calls without a record (lost_calls.h) are counted. A
// host beyond its silent_from_ns sends nothing. The evidence must outlive this. Memory: the operations in flight and
// the calls without a record. Not thread-safe.

#ifndef LOCKSTEP_SIM_CAPTURE_AGENT_REPORTS_H_
#define LOCKSTEP_SIM_CAPTURE_AGENT_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/lost_calls.h"
#include "sim/capture/operation_batch.h"
#include "sim/capture/playback.h"

namespace lockstep {

class AgentReports {
 public:
  explicit AgentReports(Playback playback);

  // Ticks until everything is reported and, where a job stands at the end, kTicksAfterEnd more.
  int32_t ticks() const { return plan_.ticks; }
  size_t hosts() const { return plan_.hosts.size(); }
  const Playback& playback() const { return plan_; }

  // What the agent of a host says first.
  wire::AgentHello Hello(size_t host, uint64_t incarnation) const;

  // The report of a host at a tick (from 1). Ticks of one host must rise one by one. False = the host is silent.
  bool Make(int32_t tick, size_t host, wire::AgentReport& report);

  // The answer to a wish of the collector, as of the last tick made. Operations of the asked ranks and communicators
  // that finished not longer ago than asked, the newest ones that fit; every other wish is refused.
  void Answer(size_t host, const wire::Command& command, int32_t tick, wire::CommandResult& result) const;

 private:
  using Direction = std::pair<OperationKind, int32_t>;  // of a transfer: Send or Recv, and the peer

  struct Progress {
    int32_t rank = -1;  // in the communicator; -1 = not known
    uint64_t enqueued = 0;
    uint64_t started = 0;
    uint64_t finished = 0;
    std::map<Direction, uint64_t> transfers_finished;
    int64_t changed_ns = kNoTime;                  // host clock
    std::vector<const TraceOperation*> in_flight;  // at the tick being made, by rising enqueue time
    std::vector<const TraceOperation*> finished_now;
  };
  struct RankState {
    size_t next = 0;                          // operation that was not enqueued at the last tick
    std::vector<const TraceOperation*> open;  // enqueued, not reported as finished
    std::map<int32_t, Progress> communicators;
    uint64_t finished = 0;
    uint64_t lost = 0;     // whose end never came, although later operations ended, or that left no record
    size_t next_lost = 0;  // in lost_calls_
  };

  WireNumbers NumbersOf(const PlayedHost& host) const;
  void Advance(size_t rank_index, int64_t now_ns);
  Progress& ProgressIn(int32_t communicator, size_t rank_index);
  void NoteProgress(const TraceOperation& operation, int64_t now_ns, Progress& progress) const;
  bool Stands(const RankState& state, int64_t now_ns) const;
  bool IsLost(const TraceOperation& operation, const Progress& progress) const;
  uint32_t StrideOf(const PlayedHost& host) const;
  void AppendProcess(int32_t tick, const PlayedHost& host, size_t rank_index, uint32_t stride,
                     wire::AgentReport& report) const;
  void AppendCommunicator(int32_t communicator, const Progress& progress, const WireNumbers& numbers, int64_t now_ns,
                          uint32_t stride, wire::CommunicatorReport& to) const;
  void FindPulled(size_t rank_index, const wire::PullOperations& pull, int64_t now_ns,
                  std::vector<std::pair<const TraceOperation*, size_t>>& found) const;
  int32_t RankIn(int32_t communicator, size_t rank_index) const;
  void AppendSamples(size_t host, int64_t to_ns, wire::AgentReport& report);
  void AppendEvents(const PlayedHost& host, int64_t from_ns, int64_t to_ns, wire::AgentReport& report) const;

  const Playback plan_;
  const Trace& trace_;
  const std::vector<std::vector<LostCall>> lost_calls_;  // by rank index
  std::vector<RankState> states_;                        // by rank index
  std::vector<std::vector<size_t>> next_sample_;         // by host, by series of the host
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_AGENT_REPORTS_H_
