// Carries out what a collector demands (proto/demand.proto), beside the ticks of the agent: what looks at a process for
// seconds must not hold up a report.
//
// A demand is refused at once when its kind is unknown, its process is not followed, another one of that process is
// under way, or too many wait. Answers leave in parts, so many bytes per report. Thread-safe.

#ifndef LOCKSTEP_AGENT_DEMANDS_DEMAND_RUNNER_H_
#define LOCKSTEP_AGENT_DEMANDS_DEMAND_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/demands/demand_kind.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/stop_signal.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// Since the start.
struct DemandStatistics {
  uint64_t done = 0;
  uint64_t refused = 0;
  uint64_t failed = 0;
};

class DemandRunner {
 public:
  // At the same time: profiles of all ranks of a machine, which begin together, and looks besides. They mostly wait.
  static constexpr size_t kThreads = 16;
  static constexpr size_t kMaxOpen = 32;  // under way, waiting, or answered and not reported yet
  static constexpr size_t kMaxAnswerBytes = 1 << 19;
  static constexpr size_t kMaxPartBytes = 1 << 18;  // of an answer in one report
  static constexpr int64_t kMaxPatienceNanos = 300 * kNanosPerSecond;

  // Borrows `clock`. Starts its threads, unless there are no kinds.
  DemandRunner(std::vector<DemandKind> kinds, const Clock& clock);
  // Stops what is under way; its answers are lost.
  ~DemandRunner();
  DemandRunner(const DemandRunner&) = delete;
  DemandRunner& operator=(const DemandRunner&) = delete;

  // Takes a command that has a demand. `process` is whom it is about, or why nobody is.
  void Take(const wire::Command& command, const absl::StatusOr<DemandedProcess>& process);

  // Adds what of answers is ready, at most kMaxPartBytes.
  void AppendAnswers(wire::AgentReport& report);

  DemandStatistics statistics() const;

 private:
  using ProcessId = std::pair<int32_t, uint64_t>;  // pid and start time

  struct Waiting {
    uint64_t id;
    const DemandKind* kind;
    DemandedProcess process;
    std::string parameters;
    int64_t deadline_ns;
  };

  void Run();
  // False = it is time to end.
  bool TakeNext(Waiting& next);
  void Answer(const Waiting& demand, const absl::StatusOr<std::string>& answer);
  void RefuseLocked(uint64_t id, const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PushLocked(uint64_t id, wire::DemandAnswer::Outcome outcome, const std::string& reason,
                  const std::string& payload) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<DemandKind> kinds_;
  const Clock& clock_;
  StopSignal stop_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::set<ProcessId> looked_at_ ABSL_GUARDED_BY(mutex_);         // waiting or under way
  std::deque<wire::DemandAnswer> parts_ ABSL_GUARDED_BY(mutex_);  // not reported yet
  DemandStatistics statistics_ ABSL_GUARDED_BY(mutex_);

  std::vector<std::thread> threads_;  // last: everything is ready when they start
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_DEMANDS_DEMAND_RUNNER_H_
