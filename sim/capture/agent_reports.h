// The reports that the agents of a simulated job would send: one per host and tick, made from an episode.
//
// A host whose machine became unreachable sends nothing from then on; a process that died is reported as gone. Host
// clocks are those of the trace, moved into the positive by kBootNanos. The episode must outlive this. Memory: the
// operations in flight. Not thread-safe.

#ifndef LOCKSTEP_SIM_CAPTURE_AGENT_REPORTS_H_
#define LOCKSTEP_SIM_CAPTURE_AGENT_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "detector/trace/trace.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/operation_batch.h"
#include "sim/episode.h"

namespace lockstep {

inline constexpr int64_t kReportIntervalNanos = 1'000'000'000;

class AgentReports {
 public:
  explicit AgentReports(const Episode& episode);

  // Ticks until everything of the episode is reported and, after a hang, kTicksAfterHang more.
  int32_t ticks() const { return ticks_; }
  size_t hosts() const { return host_ranks_.size(); }

  // The report of a host at a tick (from 1). Ticks of one host must rise one by one. False = the host is silent.
  bool Make(int32_t tick, size_t host, wire::AgentReport& report);

  // The answer to a wish of the collector, as of the last tick made. Operations of the asked ranks and communicators
  // that finished not longer ago than asked; every other wish is refused.
  void Answer(size_t host, const wire::Command& command, int32_t tick, wire::CommandResult& result) const;

  static constexpr int32_t kTicksAfterHang = 30;

 private:
  struct Progress {
    int32_t rank = -1;  // in the communicator
    uint64_t enqueued = 0;
    uint64_t started = 0;
    uint64_t finished = 0;
    int64_t changed_ns = 0;
    const TraceOperation* oldest = nullptr;  // in flight at the tick being made
    std::vector<const TraceOperation*> finished_now;
  };
  struct RankState {
    size_t next = 0;                          // operation that was not enqueued at the last tick
    std::vector<const TraceOperation*> open;  // enqueued, not reported as finished
    std::map<int32_t, Progress> communicators;
    uint64_t finished = 0;
  };

  void Advance(size_t rank_index, int64_t now_ns);
  void AppendProcess(size_t rank_index, int64_t now_ns, wire::AgentReport& report) const;
  void AppendCommunicator(int32_t communicator, const Progress& progress, int64_t now_ns,
                          wire::ProcessReport& process) const;
  void PullRank(size_t rank_index, const wire::PullOperations& pull, int64_t now_ns, size_t& bytes_left,
                wire::CommandResult& result) const;
  int32_t RankIn(int32_t communicator, size_t rank_index) const;
  void AppendSamples(size_t host, int64_t from_ns, int64_t to_ns, wire::AgentReport& report);
  void AppendEvents(size_t host, int64_t from_ns, int64_t to_ns, wire::AgentReport& report) const;

  const Episode& episode_;
  const Trace& trace_;
  int32_t ticks_ = 0;
  std::vector<std::vector<size_t>> host_ranks_;  // by host: rank indices
  std::vector<RankState> states_;                // by rank index
  std::vector<int64_t> silent_from_ns_;          // by host
  std::vector<uint64_t> communicator_ids_;
  std::vector<std::vector<std::pair<size_t, size_t>>> host_series_;  // by host: series, next sample
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_AGENT_REPORTS_H_
