// The agents of all hosts of a job: what they report in true time, and how they answer the collector.
//
// A command is answered in the first report that is made after it arrived. A machine that became unreachable reports
// nothing from that moment on; a process that died is reported as gone from its death on. The job must outlive this.
// Not thread-safe.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_AGENTS_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_AGENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "eval/live/live_job.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/agent_reports.h"

namespace lockstep {

struct MadeReport {
  size_t host = 0;
  int64_t made_ns = 0;  // true time
  wire::AgentReport report;
};

class LiveAgents {
 public:
  // Commands of one host that wait for its next report; more are forgotten and counted.
  static constexpr size_t kMaxWaitingCommands = 64;

  explicit LiveAgents(const LiveJob& job);

  // Makes all reports up to `true_ns` that were not made yet, host by host. Times must not decrease.
  void MakeUntil(int64_t true_ns, const std::function<void(MadeReport)>& take);

  // Something that the collector asks of a host, arriving at a moment that is not before the last MakeUntil.
  void Ask(const std::string& host, wire::Command command);

  uint64_t pulled_bytes() const { return pulled_bytes_; }  // of all answers
  uint64_t pulls() const { return pulls_; }                // answered
  uint64_t forgotten_commands() const { return forgotten_commands_; }

 private:
  void Answer(size_t host, MadeReport& made);
  void ForgetUnknownBegins(wire::AgentReport& report) const;

  const LiveJob& job_;
  AgentReports reports_;
  std::vector<int32_t> next_tick_;  // by host
  absl::flat_hash_map<std::string, size_t> host_of_name_;
  absl::flat_hash_map<int32_t, size_t> index_of_rank_;
  std::vector<std::vector<wire::Command>> waiting_;  // by host
  uint64_t pulled_bytes_ = 0;
  uint64_t pulls_ = 0;
  uint64_t forgotten_commands_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_AGENTS_H_
