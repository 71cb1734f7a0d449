// Reports of a small synchronous job, for tests: every rank runs one AllReduce per step.
//
// Pure functions; thread-safe.

#ifndef LOCKSTEP_COLLECTOR_TESTING_REPORT_BUILDER_H_
#define LOCKSTEP_COLLECTOR_TESTING_REPORT_BUILDER_H_

#include <cstdint>
#include <string>

#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

inline constexpr int64_t kTestStepNanos = 100'000'000;

// Which steps the ranks of one host did since the last report. Every step enters its AllReduce after `own_ns` of
// computing and leaves it at the end of the step.
struct TestRanks {
  std::string job = "train";
  int first_rank = 0;
  int ranks = 1;
  int world_size = 4;
  int64_t first_step = 1;  // from 1
  int steps = 10;
  int64_t own_ns = kTestStepNanos / 2;
  int slow_rank = -1;  // computes for `slow_own_ns` instead
  int64_t slow_own_ns = kTestStepNanos - 1'000'000;
};

wire::AgentReport MakeTestReport(uint64_t sequence, const TestRanks& ranks);

// A report of a host without any job: one sample of the load.
wire::AgentReport MakeHostReport(uint64_t sequence, double load);

wire::AgentMessage MakeTestHello(const std::string& host, uint64_t incarnation);
wire::AgentMessage ToMessage(wire::AgentReport report);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TESTING_REPORT_BUILDER_H_
