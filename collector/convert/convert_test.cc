#include "collector/convert/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "base/testing/status_matchers.h"
#include "collector/convert/report_limits.h"
#include "collector/testing/report_builder.h"
#include "detector/model/tuning.h"
#include "proto/packed_pull.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

wire::CaptureInput ValidInput() {
  wire::CaptureInput input;
  input.set_job("train");
  input.set_host("node-1");
  input.set_incarnation(7);
  input.set_received_wall_ns(123);
  TestRanks ranks;
  ranks.ranks = 2;
  ranks.steps = 3;
  *input.mutable_report() = MakeTestReport(5, ranks);
  wire::KernelEvent& event = *input.mutable_report()->add_kernel_events();
  event.set_kind(wire::KernelEvent::KIND_XID);
  event.set_code(79);
  event.set_device("0000:3b:00");
  event.set_text("GPU has fallen off the bus");
  wire::Dropped& dropped = *input.mutable_report()->add_dropped();
  dropped.set_reason("outbox_full");
  dropped.set_count(4);
  return input;
}

// An answer with the operations that a valid report holds of each rank, `times` times.
wire::CommandResult Answer(int times) {
  wire::CommandResult result;
  result.set_id(9);
  result.set_job("train");
  result.set_outcome(wire::CommandResult::OUTCOME_DONE);
  const wire::CaptureInput input = ValidInput();
  for (int i = 0; i < times; ++i) {
    for (const wire::ProcessReport& process : input.report().processes()) {
      wire::PulledOperations& pulled = *result.add_pulled();
      pulled.set_rank(process.rank());
      pulled.set_communicator(process.communicators(0).id());
      *pulled.mutable_operations() = process.communicators(0).operations();
    }
  }
  return result;
}

TEST(ConvertTest, APackedAnswerIsReadAsAPlainOneIs) {
  wire::CaptureInput plain = ValidInput();
  *plain.mutable_report()->add_command_results() = Answer(3);
  wire::CaptureInput packed = ValidInput();
  wire::CommandResult& answer = *packed.mutable_report()->add_command_results();
  answer = Answer(3);
  PackPulled(answer);
  ASSERT_FALSE(answer.packed_pulled().empty());
  ConvertLosses losses;
  const auto of_plain = ToHostReport(plain, losses);
  const auto of_packed = ToHostReport(packed, losses);
  ASSERT_OK(of_plain);
  ASSERT_OK(of_packed);
  ASSERT_EQ(of_packed->answers.size(), 1u);
  const PullAnswer& wanted = of_plain->answers[0];
  const PullAnswer& got = of_packed->answers[0];
  ASSERT_EQ(got.pulled.size(), 6u);
  for (size_t i = 0; i < got.pulled.size(); ++i) {
    EXPECT_EQ(got.pulled[i].rank, wanted.pulled[i].rank);
    EXPECT_EQ(got.pulled[i].communicator, wanted.pulled[i].communicator);
    ASSERT_EQ(got.pulled[i].operations.size(), wanted.pulled[i].operations.size());
    EXPECT_EQ(got.pulled[i].operations.back().end_ns, wanted.pulled[i].operations.back().end_ns);
  }
}

TEST(ConvertTest, WhatAReportUnpacksToIsBounded) {
  wire::CommandResult large = Answer(25'000);
  ASSERT_GT(large.ByteSizeLong(), static_cast<size_t>(kMaxUnpackedBytesPerReport / 3));
  ASSERT_LT(large.pulled_size(), kMaxPulledBatchesPerReport);
  PackPulled(large);
  ASSERT_LT(large.packed_pulled().size(), 100'000u);
  wire::CaptureInput input = ValidInput();
  for (int i = 0; i < 3; ++i) *input.mutable_report()->add_command_results() = large;
  ConvertLosses losses;
  EXPECT_THAT(ToHostReport(input, losses), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("packed_pulled")));
  input = ValidInput();
  input.mutable_report()->add_command_results()->set_job("train");
  input.mutable_report()->mutable_command_results(0)->set_packed_pulled("garbage");
  EXPECT_THAT(ToHostReport(input, losses), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("packed_pulled")));
}

TEST(ConvertTest, AValidReportArrivesWhole) {
  ConvertLosses losses;
  const absl::StatusOr<HostReport> report = ToHostReport(ValidInput(), losses);
  ASSERT_OK(report);
  EXPECT_EQ(report->host, "node-1");
  EXPECT_EQ(report->received_ns, 123);
  EXPECT_EQ(report->dropped_records, 4u);
  ASSERT_EQ(report->ranks.size(), 2u);
  const RankView& rank = report->ranks[1];
  EXPECT_EQ(rank.rank, 1);
  EXPECT_EQ(rank.world_size, 4);
  EXPECT_EQ(rank.pid, 1001);
  EXPECT_EQ(rank.process_state, ProcessState::kRunning);
  ASSERT_EQ(rank.communicators.size(), 1u);
  const CommunicatorView& communicator = rank.communicators[0];
  EXPECT_EQ(communicator.id, 0xc0ffeeu);
  EXPECT_EQ(communicator.stride, 1u);
  EXPECT_FALSE(communicator.oldest_in_flight.has_value());
  ASSERT_EQ(communicator.operations.size(), 3u);
  const Operation& second = communicator.operations[1];
  EXPECT_EQ(second.kind, OperationKind::kAllReduce);
  EXPECT_EQ(second.sequence, 2u);
  EXPECT_EQ(second.start_ns, second.enqueue_ns);
  EXPECT_EQ(second.end_ns - second.start_ns, kTestStepNanos / 2);
  EXPECT_EQ(second.enqueue_ns - communicator.operations[0].enqueue_ns, kTestStepNanos);
  EXPECT_EQ(second.peer, -1);
  EXPECT_EQ(second.quality, TimingQuality::kHostCall);
  ASSERT_EQ(report->samples.size(), 1u);
  EXPECT_EQ(report->samples[0].metric, Metric::kHostLoad1);
  ASSERT_EQ(report->kernel_events.size(), 1u);
  EXPECT_EQ(report->kernel_events[0].kind, KernelEventKind::kXid);
  EXPECT_EQ(report->kernel_events[0].code, 79);
  EXPECT_EQ(losses.unknown_enums + losses.unknown_metrics + losses.non_finite_values + losses.unranked_processes, 0u);
}

TEST(ConvertTest, AReportWaitedAsLongAsItSaysWithinReason) {
  wire::CaptureInput input = ValidInput();
  input.set_received_wall_ns(2 * kMaxWaitedNanos);
  ConvertLosses losses;
  input.mutable_report()->set_waited_ns(1'000);
  EXPECT_EQ(ToHostReport(input, losses)->due_ns(), 2 * kMaxWaitedNanos - 1'000);
  input.mutable_report()->set_waited_ns(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(ToHostReport(input, losses)->due_ns(), kMaxWaitedNanos);
}

TEST(ConvertTest, SourcesThatFailArriveAndOthersDoNot) {
  wire::CaptureInput input = ValidInput();
  const auto add = [&input](const std::string& name, wire::SourceStatus::Outcome outcome, int64_t failing_ns) {
    wire::SourceStatus& source = *input.mutable_report()->add_sources();
    source.set_name(name);
    source.set_outcome(outcome);
    source.set_failing_ns(failing_ns);
    source.set_worked(name == "nvml");
  };
  add("host", wire::SourceStatus::OUTCOME_OK, 0);
  add("nvml", wire::SourceStatus::OUTCOME_TIMED_OUT, 31);
  add("net", wire::SourceStatus::OUTCOME_FAILED, std::numeric_limits<int64_t>::max());
  add("ras", wire::SourceStatus::OUTCOME_FAILED, -1);
  wire::KernelEvent& lost = *input.mutable_report()->add_kernel_events();
  lost.set_kind(wire::KernelEvent::KIND_NVML);
  lost.set_code(15);
  ConvertLosses losses;
  const absl::StatusOr<HostReport> report = ToHostReport(input, losses);
  ASSERT_OK(report);
  ASSERT_EQ(report->failing_sources.size(), 2u);
  EXPECT_EQ(report->failing_sources[0].source, "nvml");
  EXPECT_TRUE(report->failing_sources[0].hangs);
  EXPECT_TRUE(report->failing_sources[0].worked);
  EXPECT_EQ(report->failing_sources[0].failing_ns, 31);
  EXPECT_FALSE(report->failing_sources[1].hangs);
  EXPECT_EQ(report->failing_sources[1].failing_ns, kMaxDurationNanos);
  EXPECT_EQ(report->kernel_events.back().kind, KernelEventKind::kNvml);
  EXPECT_EQ(report->kernel_events.back().code, kNvmlGpuIsLost);
  EXPECT_EQ(losses.unknown_enums, 0u);
}

TEST(ConvertTest, ThePodOfARankArrivesAndIsShown) {
  wire::CaptureInput input = ValidInput();
  const std::string longest = std::string(63, 'n') + "/" + std::string(253, 'p');
  input.mutable_report()->mutable_processes(0)->set_pod(longest);
  ConvertLosses losses;
  const absl::StatusOr<HostReport> report = ToHostReport(input, losses);
  ASSERT_OK(report);
  EXPECT_EQ(report->ranks.at(0).pod, longest);
}

TEST(ConvertTest, TransfersAndWhatIsKnownOfTheOldestInFlightArrive) {
  wire::CaptureInput input = ValidInput();
  wire::CommunicatorReport& from = *input.mutable_report()->mutable_processes(0)->mutable_communicators(0);
  from.mutable_oldest_in_flight()->set_timing_quality(5);
  from.mutable_oldest_in_flight()->set_channels_started(2);
  wire::TransferWaits& transfer = *from.add_transfers();
  transfer.set_peer(1);
  transfer.set_is_send(true);
  for (const uint64_t wait_ns : {1, 2, 3}) transfer.add_waits_ns(wait_ns);
  ConvertLosses losses;
  const absl::StatusOr<HostReport> report = ToHostReport(input, losses);
  ASSERT_OK(report);
  const CommunicatorView& to = report->ranks[0].communicators[0];
  EXPECT_EQ(to.oldest_in_flight->timing_quality, TimingQuality::kHostEnqueue);
  EXPECT_EQ(to.oldest_in_flight->channels_started, 2u);
  ASSERT_EQ(to.transfers.size(), 1u);
  EXPECT_TRUE(to.transfers[0].is_send);
  EXPECT_EQ(to.transfers[0].waits_ns[2], 3u);
  EXPECT_FALSE(report->ranks[0].can_watch_transfers);
  input.mutable_report()->mutable_processes(0)->set_recorder(wire::RECORDER_KIND_NCCL_PROFILER);
  EXPECT_TRUE(ToHostReport(input, losses)->ranks[0].can_watch_transfers);
  transfer.add_waits_ns(4);
  EXPECT_THAT(ToHostReport(input, losses), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("transfers")));
  transfer.mutable_waits_ns()->RemoveLast();
  transfer.set_peer(from.size());
  EXPECT_THAT(ToHostReport(input, losses), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("transfers")));
}

TEST(ConvertTest, AllThatIsInFlightArrivesWhereAnAgentTellsIt) {
  wire::CaptureInput input = ValidInput();
  wire::CommunicatorReport& from = *input.mutable_report()->mutable_processes(0)->mutable_communicators(0);
  wire::InFlight& oldest = *from.mutable_oldest_in_flight();
  oldest.set_age_ns(70);
  oldest.set_inside_ns(60);
  ConvertLosses losses;
  absl::StatusOr<HostReport> report = ToHostReport(input, losses);
  ASSERT_OK(report);
  EXPECT_FALSE(report->ranks[0].communicators[0].further_in_flight.has_value());
  EXPECT_EQ(report->ranks[0].communicators[0].oldest_in_flight->inside_ns, 0) << "it has not begun";
  oldest.set_started(true);
  wire::InFlightRest& rest = *from.mutable_further_in_flight();
  rest.set_left_out(4);
  wire::InFlight& send = *rest.add_operations();
  send.set_kind(wire::OPERATION_KIND_SEND);
  send.set_peer(1);
  send.set_sequence(9);
  report = ToHostReport(input, losses);
  ASSERT_OK(report);
  const CommunicatorView& to = report->ranks[0].communicators[0];
  EXPECT_EQ(to.oldest_in_flight->inside_ns, 60);
  ASSERT_TRUE(to.further_in_flight.has_value());
  EXPECT_EQ(to.further_in_flight->left_out, 4u);
  ASSERT_EQ(to.further_in_flight->operations.size(), 1u);
  EXPECT_EQ(to.further_in_flight->operations[0].kind, OperationKind::kSend);
  EXPECT_EQ(to.further_in_flight->operations[0].peer, 1);
  EXPECT_EQ(to.further_in_flight->operations[0].sequence, 9u);
  while (rest.operations_size() <= kMaxFurtherInFlight) rest.add_operations();
  EXPECT_THAT(ToHostReport(input, losses),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("further_in_flight")));
}

TEST(ConvertTest, HowNcclCarriedOperationsOutArrivesWhereAnAgentTellsIt) {
  wire::CaptureInput input = ValidInput();
  wire::CommunicatorReport& from = *input.mutable_report()->mutable_processes(0)->mutable_communicators(0);
  wire::OperationBatch& batch = *from.mutable_operations();
  for (const uint32_t algorithm : {2, 99, 0}) batch.add_algorithms(algorithm);
  for (const uint32_t channels : {16, 2, 65'535}) batch.add_channels(channels);
  from.mutable_oldest_in_flight()->set_protocol(3);
  from.mutable_oldest_in_flight()->set_channels(70'000);
  ConvertLosses losses;
  const absl::StatusOr<HostReport> report = ToHostReport(input, losses);
  ASSERT_OK(report);
  const CommunicatorView& to = report->ranks[0].communicators[0];
  EXPECT_EQ(to.operations[0].tuning, (Tuning{CollectiveAlgorithm::kRing, CollectiveProtocol::kUnknown, 16}));
  EXPECT_EQ(to.operations[1].tuning, (Tuning{CollectiveAlgorithm::kUnknown, CollectiveProtocol::kUnknown, 2}));
  EXPECT_EQ(to.operations[2].tuning.channels, 65'535);
  EXPECT_EQ(to.oldest_in_flight->tuning, (Tuning{CollectiveAlgorithm::kUnknown, CollectiveProtocol::kSimple, 0}));
  EXPECT_EQ(losses.unknown_enums, 1u);
  // An agent from before these columns.
  EXPECT_EQ(report->ranks[1].communicators[0].operations[0].tuning, Tuning{});
}

TEST(ConvertTest, HowAProcessEndedArrivesWhereAnAgentTellsIt) {
  const auto end_of_rank_0 = [](const wire::CaptureInput& input) {
    ConvertLosses losses;
    return ToHostReport(input, losses)->ranks[0].end;
  };
  wire::CaptureInput input = ValidInput();
  EXPECT_FALSE(end_of_rank_0(input).has_value());
  wire::ProcessEnd& end = *input.mutable_report()->mutable_processes(0)->mutable_end();
  end.set_source(wire::ProcessEnd::SOURCE_CONNECTOR);
  end.set_signal(11);
  end.set_core_dumped(true);
  end.set_age_ns(7);
  end.set_uncertain_ns(-1);
  const ProcessEnd expected = {.source = EndSource::kConnector, .signal = 11, .core_dumped = true, .age_ns = 7};
  EXPECT_EQ(end_of_rank_0(input), expected);
  end.set_source(wire::ProcessEnd::SOURCE_NONE);
  EXPECT_FALSE(end_of_rank_0(input)->known());
}

TEST(ConvertTest, OperationsAreOrderedByEnqueueTime) {
  wire::CaptureInput input = ValidInput();
  wire::OperationBatch& batch =
      *input.mutable_report()->mutable_processes(0)->mutable_communicators(0)->mutable_operations();
  batch.set_enqueued_deltas_ns(2, -2 * kTestStepNanos);
  ConvertLosses losses;
  const absl::StatusOr<HostReport> report = ToHostReport(input, losses);
  ASSERT_OK(report);
  const std::vector<Operation>& operations = report->ranks[0].communicators[0].operations;
  EXPECT_EQ(operations[0].sequence, 3u);
  EXPECT_EQ(operations[1].sequence, 1u);
  EXPECT_EQ(operations[2].sequence, 2u);
}

TEST(ConvertTest, WhatANewerAgentMaySayIsLeftOutAndCounted) {
  wire::CaptureInput input = ValidInput();
  wire::AgentReport& report = *input.mutable_report();
  report.mutable_processes(0)->mutable_communicators(0)->mutable_operations()->set_kinds(0, 99);
  report.mutable_processes(0)->set_state(static_cast<wire::ProcessState>(42));
  report.mutable_processes(1)->set_rank(-1);
  wire::MetricBlock& block = *report.mutable_metrics(0);
  block.add_metrics(65'000);
  block.add_values(1);
  block.add_metrics(1'000'000);
  block.add_values(1);
  block.add_metrics(static_cast<uint32_t>(Metric::kHostLoad1));
  block.add_values(std::nan(""));
  block.add_metrics(static_cast<uint32_t>(Metric::kHostLoad1));
  block.add_values(std::numeric_limits<double>::infinity());
  ConvertLosses losses;
  const absl::StatusOr<HostReport> converted = ToHostReport(input, losses);
  ASSERT_OK(converted);
  EXPECT_EQ(losses.unknown_enums, 2u);
  EXPECT_EQ(losses.unknown_metrics, 2u);
  EXPECT_EQ(losses.non_finite_values, 2u);
  EXPECT_EQ(losses.unranked_processes, 1u);
  ASSERT_EQ(converted->ranks.size(), 1u);
  EXPECT_EQ(converted->ranks[0].process_state, ProcessState::kUnknown);
  EXPECT_EQ(converted->ranks[0].communicators[0].operations[0].kind, OperationKind::kUnknown);
  EXPECT_EQ(converted->samples.size(), 1u);
}

struct Malformed {
  const char* name;
  std::function<void(wire::CaptureInput&)> spoil;
  const char* message;
};

wire::ProcessReport& Process(wire::CaptureInput& input) { return *input.mutable_report()->mutable_processes(1); }
wire::CommunicatorReport& Communicator(wire::CaptureInput& input) { return *Process(input).mutable_communicators(0); }
wire::OperationBatch& Batch(wire::CaptureInput& input) { return *Communicator(input).mutable_operations(); }

const Malformed kMalformed[] = {
    {"no host", [](auto& i) { i.set_host(""); }, "host: is empty"},
    {"long host", [](auto& i) { i.set_host(std::string(300, 'x')); }, "host: 300 bytes"},
    {"line break in job", [](auto& i) { Process(i).set_job("a\nb"); }, "processes[1].job: contains a control"},
    {"sequence 0", [](auto& i) { i.mutable_report()->set_sequence(0); }, "sequence: out of range"},
    {"negative time", [](auto& i) { i.mutable_report()->set_monotonic_ns(-1); }, "monotonic_ns: out of range"},
    {"rank below -1", [](auto& i) { Process(i).set_rank(-2); }, "processes[1].rank: -2"},
    {"rank beyond world", [](auto& i) { Process(i).set_rank(4); }, "rank: 4 in a world of 4"},
    {"huge world", [](auto& i) { Process(i).set_world_size(kMaxRanks + 1); }, "world_size: 1000001"},
    {"negative pid", [](auto& i) { Process(i).set_pid(-5); }, "pid: -5"},
    {"gpu index", [](auto& i) { Process(i).set_gpu_index(-2); }, "gpu_index: -2"},
    {"pod", [](auto& i) { Process(i).set_pod(std::string(321, 'p')); }, "pod"},
    {"communicator size", [](auto& i) { Communicator(i).set_size(-1); }, "communicators[0].size: -1"},
    {"communicator rank", [](auto& i) { Communicator(i).set_rank(4); }, "rank: 4 in a communicator of 4"},
    {"progress", [](auto& i) { Communicator(i).set_finished(~0ull); }, "progress: out of range"},
    {"stride", [](auto& i) { Batch(i).set_stride(3); }, "operations.stride: 3 is not a power of two"},
    {"short column", [](auto& i) { Batch(i).mutable_bytes()->RemoveLast(); },
     "processes[1].communicators[0].operations: column bytes has 2 rows, column kinds has 3"},
    {"long column", [](auto& i) { Batch(i).add_peers(1); }, "column peers has 4 rows"},
    {"short optional column", [](auto& i) { Batch(i).add_protocols(1); }, "column protocols has 1 rows"},
    {"channels",
     [](auto& i) {
       for (const uint32_t channels : {1, 65'536, 1}) Batch(i).add_channels(channels);
     },
     "channels out of range in row 1"},
    {"sequence below zero", [](auto& i) { Batch(i).set_sequence_deltas(1, -9); },
     "sequence_deltas out of range in row 1"},
    {"time overflows", [](auto& i) { Batch(i).set_enqueued_deltas_ns(2, std::numeric_limits<int64_t>::max()); },
     "enqueued_deltas_ns out of range in row 2"},
    {"negative duration", [](auto& i) { Batch(i).set_duration_ns(0, -1); }, "duration_ns out of range in row 0"},
    {"endless duration", [](auto& i) { Batch(i).set_duration_ns(0, kMaxDurationNanos + 1); }, "duration_ns"},
    {"start offset", [](auto& i) { Batch(i).set_start_offsets_ns(0, std::numeric_limits<int64_t>::min()); },
     "start_offsets_ns out of range"},
    {"peer", [](auto& i) { Batch(i).set_peers(0, -2); }, "peers out of range in row 0"},
    {"values missing", [](auto& i) { i.mutable_report()->mutable_metrics(0)->clear_values(); },
     "metrics[0].values: 0 values for 1 metrics"},
    {"device name", [](auto& i) { i.mutable_report()->mutable_metrics(0)->set_device("a\tb"); }, "metrics[0].device"},
    {"metric time", [](auto& i) { i.mutable_report()->mutable_metrics(0)->set_monotonic_ns(-1); },
     "metrics[0].monotonic_ns"},
    {"kernel text", [](auto& i) { i.mutable_report()->mutable_kernel_events(0)->set_text(std::string(5'000, 'x')); },
     "kernel_events[0].text: 5000 bytes"},
    {"too many processes",
     [](auto& i) {
       for (int n = 0; n < kMaxProcessesPerReport; ++n) i.mutable_report()->add_processes();
     },
     "processes: 1026 entries, at most 1024"},
    {"exit code", [](auto& i) { i.mutable_report()->mutable_processes(1)->mutable_end()->set_code(256); },
     "processes[1].end.code: 256"},
    {"signal", [](auto& i) { i.mutable_report()->mutable_processes(0)->mutable_end()->set_signal(-1); },
     "processes[0].end.signal: -1"},
    {"too many sources",
     [](auto& i) {
       for (int n = 0; n <= kMaxSourcesPerReport; ++n) i.mutable_report()->add_sources();
     },
     "sources: 257 entries"},
    {"too many RAS findings",
     [](auto& i) {
       for (int n = 0; n <= kMaxRasFindingsPerReport; ++n) i.mutable_report()->mutable_nccl_ras()->add_findings();
     },
     "nccl_ras.findings: 257 entries"},
    {"RAS host",
     [](auto& i) { i.mutable_report()->mutable_nccl_ras()->add_findings()->add_missing()->set_host("a\nb"); },
     "nccl_ras.findings.missing.host"},
    {"drop reason", [](auto& i) { i.mutable_report()->mutable_dropped(0)->set_reason("\x01"); }, "dropped[0].reason"},
};

TEST(ConvertTest, EveryMalformedReportIsRefusedSayingWhatAndWhere) {
  for (const Malformed& malformed : kMalformed) {
    SCOPED_TRACE(malformed.name);
    wire::CaptureInput input = ValidInput();
    malformed.spoil(input);
    ConvertLosses losses;
    EXPECT_THAT(ToHostReport(input, losses),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(malformed.message)));
  }
}

}  // namespace
}  // namespace lockstep
