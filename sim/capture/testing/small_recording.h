// Small recordings, written by hand, and what agents report when they are played. For tests; not thread-safe.

#ifndef LOCKSTEP_SIM_CAPTURE_TESTING_SMALL_RECORDING_H_
#define LOCKSTEP_SIM_CAPTURE_TESTING_SMALL_RECORDING_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "detector/model/job_evidence.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/agent_reports.h"
#include "sim/capture/playback.h"
#include "sim/capture/recording_playback.h"

namespace lockstep {

inline constexpr int64_t kMilli = 1'000'000;
inline constexpr int64_t kSecond = 1'000 * kMilli;

// A recording of ranks on hosts "h0", "h1", ..., whose clocks read `clock_ns[host]` when the job begins.
class SmallRecording {
 public:
  explicit SmallRecording(std::vector<int64_t> clock_ns) : clock_ns_(std::move(clock_ns)), builder_("job") {}

  void AddRank(int32_t rank, size_t host, int64_t last_seen_ns = kNoTime, ProcessState state = ProcessState::kUnknown) {
    TraceRank added;
    added.rank = rank;
    added.host = builder_.AddHost(absl::StrCat("h", host));
    added.gpu = rank;
    added.process_state = state;
    if (last_seen_ns != kNoTime) added.last_seen_ns = clock_ns_[host] + last_seen_ns;
    handles_[rank] = {builder_.AddRank(added), host};
  }

  // Times since the job began; kNoTime for those that never came.
  void Add(int32_t rank, const std::string& communicator, uint64_t sequence, int64_t enqueue_ns, int64_t start_ns,
           int64_t end_ns, OperationKind kind = OperationKind::kAllReduce, int32_t peer = -1) {
    const auto [handle, host] = handles_.at(rank);
    TraceOperation operation;
    operation.kind = kind;
    operation.peer = peer;
    operation.sequence = sequence;
    operation.communicator = builder_.AddCommunicator(communicator, "", 0);
    operation.enqueue_ns = clock_ns_[host] + enqueue_ns;
    if (start_ns != kNoTime) operation.start_ns = clock_ns_[host] + start_ns;
    if (end_ns != kNoTime) operation.end_ns = clock_ns_[host] + end_ns;
    builder_.AddMember(operation.communicator, -1, handle);
    builder_.Add(handle, operation);
  }

  JobEvidence Finish() {
    JobEvidence evidence;
    evidence.job = "job";
    evidence.trace = builder_.Build();
    return evidence;
  }

 private:
  const std::vector<int64_t> clock_ns_;
  TraceBuilder builder_;
  std::map<int32_t, std::pair<int32_t, size_t>> handles_;  // handle and host by rank
};

inline AgentReports Play(const JobEvidence& evidence, bool stands = false) {
  absl::StatusOr<Playback> plan = PlanRecording(evidence, "", stands);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return AgentReports(*std::move(plan));
}

inline wire::AgentReport ReportAt(AgentReports& reports, int32_t tick, size_t host) {
  wire::AgentReport report;
  for (int32_t t = 1; t <= tick; ++t) {
    report.Clear();
    EXPECT_TRUE(reports.Make(t, host, report)) << t;
  }
  return report;
}

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_TESTING_SMALL_RECORDING_H_
