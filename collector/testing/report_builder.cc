#include "collector/testing/report_builder.h"

#include <utility>

#include "base/metric_catalog.h"

namespace lockstep {
namespace {

constexpr uint64_t kCommunicatorId = 0xc0ffee;
constexpr int64_t kBootNanos = 1'000'000'000'000;  // of the hosts' monotonic clocks when step 1 began

void AddOperations(const TestRanks& ranks, int64_t own_ns, wire::OperationBatch& batch) {
  int64_t last_sequence = 0;
  int64_t last_enqueue_ns = 0;
  for (int64_t step = ranks.first_step; step < ranks.first_step + ranks.steps; ++step) {
    const int64_t enqueue_ns = kBootNanos + (step - 1) * kTestStepNanos + own_ns;
    batch.add_kinds(wire::OPERATION_KIND_ALL_REDUCE);
    batch.add_sequence_deltas(step - last_sequence);
    batch.add_enqueued_deltas_ns(enqueue_ns - last_enqueue_ns);
    batch.add_start_offsets_ns(0);
    batch.add_duration_ns(kTestStepNanos - own_ns);
    batch.add_bytes(1 << 20);
    batch.add_peers(-1);
    batch.add_timing_qualities(4);  // host call
    last_sequence = step;
    last_enqueue_ns = enqueue_ns;
  }
}

void AddRank(const TestRanks& ranks, int rank, wire::AgentReport& report) {
  const uint64_t done = static_cast<uint64_t>(ranks.first_step + ranks.steps - 1);
  wire::ProcessReport& process = *report.add_processes();
  process.set_job(ranks.job);
  process.set_rank(rank);
  process.set_world_size(ranks.world_size);
  process.set_local_rank(rank - ranks.first_rank);
  process.set_pid(1'000 + rank);
  process.set_process_start_ticks(77);
  process.set_gpu_index(-1);
  process.set_recorder(wire::RECORDER_KIND_MPI);
  process.set_state(wire::PROCESS_STATE_RUNNING);
  process.set_recorder_state(wire::RECORDER_STATE_ACTIVE);
  process.set_operations_enqueued(done);
  process.set_operations_finished(done);
  wire::CommunicatorReport& communicator = *process.add_communicators();
  communicator.set_id(kCommunicatorId);
  communicator.set_name("world");
  communicator.set_size(ranks.world_size);
  communicator.set_rank(rank);
  communicator.set_enqueued(done);
  communicator.set_started(done);
  communicator.set_finished(done);
  AddOperations(ranks, rank == ranks.slow_rank ? ranks.slow_own_ns : ranks.own_ns, *communicator.mutable_operations());
}

void AddLoad(double load, wire::AgentReport& report) {
  wire::MetricBlock& block = *report.add_metrics();
  block.set_monotonic_ns(report.monotonic_ns());
  block.add_metrics(static_cast<uint32_t>(Metric::kHostLoad1));
  block.add_values(load);
}

}  // namespace

wire::AgentReport MakeTestReport(uint64_t sequence, const TestRanks& ranks) {
  wire::AgentReport report;
  report.set_sequence(sequence);
  report.set_monotonic_ns(kBootNanos + (ranks.first_step + ranks.steps - 1) * kTestStepNanos);
  for (int i = 0; i < ranks.ranks; ++i) AddRank(ranks, ranks.first_rank + i, report);
  AddLoad(1.5, report);
  return report;
}

wire::AgentReport MakeHostReport(uint64_t sequence, double load) {
  wire::AgentReport report;
  report.set_sequence(sequence);
  report.set_monotonic_ns(kBootNanos);
  AddLoad(load, report);
  return report;
}

wire::AgentMessage MakeTestHello(const std::string& host, uint64_t incarnation) {
  wire::AgentMessage message;
  message.mutable_hello()->set_host(host);
  message.mutable_hello()->set_incarnation(incarnation);
  message.mutable_hello()->set_version("test");
  message.mutable_hello()->set_protocol_version(1);
  return message;
}

wire::AgentMessage ToMessage(wire::AgentReport report) {
  wire::AgentMessage message;
  *message.mutable_report() = std::move(report);
  return message;
}

}  // namespace lockstep
