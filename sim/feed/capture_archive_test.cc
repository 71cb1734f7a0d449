#include "sim/feed/capture_archive.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

void AddOperation(int64_t end_ns, uint64_t sequence, wire::OperationBatch& batch) {
  batch.add_kinds(1);
  batch.add_sequence_deltas(static_cast<int64_t>(sequence));
  batch.add_enqueued_deltas_ns(end_ns - 30);
  batch.add_start_offsets_ns(10);
  batch.add_duration_ns(20);
  batch.add_bytes(4);
  batch.add_peers(-1);
  batch.add_timing_qualities(1);
}

// A report at `second` in which ranks 0 and 1 have finished one operation of communicators 7 and 8.
wire::AgentReport ReportAt(int64_t second) {
  wire::AgentReport report;
  report.set_monotonic_ns(second * kSecond);
  for (const int32_t rank : {0, 1}) {
    wire::ProcessReport& process = *report.add_processes();
    process.set_rank(rank);
    process.set_process_start_ticks(50);
    for (const uint64_t id : {7, 8}) {
      wire::CommunicatorReport& communicator = *process.add_communicators();
      communicator.set_id(id);
      AddOperation(second * kSecond - 1, static_cast<uint64_t>(second), *communicator.mutable_operations());
    }
  }
  return report;
}

wire::Command Pull(int64_t newest_ns) {
  wire::Command command;
  command.set_id(9);
  command.set_job("job");
  command.mutable_pull_operations()->set_newest_ns(newest_ns);
  return command;
}

wire::CommandResult AnswerOf(const CaptureArchive& archive, const wire::Command& command) {
  wire::CommandResult result;
  archive.Answer("job", command, result);
  EXPECT_EQ(result.id(), command.id());
  return result;
}

TEST(CaptureArchiveTest, GivesWhatWasPlayedSoFar) {
  CaptureArchive archive;
  for (int64_t second = 1; second <= 10; ++second) archive.Take(ReportAt(second));
  EXPECT_EQ(AnswerOf(archive, Pull(100 * kSecond)).pulled_size(), 40);
  const wire::CommandResult recent = AnswerOf(archive, Pull(2 * kSecond));
  EXPECT_EQ(recent.outcome(), wire::CommandResult::OUTCOME_DONE);
  EXPECT_EQ(recent.pulled_size(), 8);  // seconds 9 and 10
  EXPECT_EQ(recent.pulled(0).operations().sequence_deltas(0), 10);
  EXPECT_EQ(recent.pulled(0).process_start_ticks(), 50u);
}

TEST(CaptureArchiveTest, GivesOnlyWhatWasAskedFor) {
  CaptureArchive archive;
  archive.Take(ReportAt(1));
  wire::Command command = Pull(kSecond);
  command.mutable_pull_operations()->add_ranks(1);
  command.mutable_pull_operations()->add_communicators(8);
  const wire::CommandResult result = AnswerOf(archive, command);
  ASSERT_EQ(result.pulled_size(), 1);
  EXPECT_EQ(result.pulled(0).rank(), 1);
  EXPECT_EQ(result.pulled(0).communicator(), 8u);
}

TEST(CaptureArchiveTest, WhatDoesNotFitIsTheOldestAndCounted) {
  CaptureArchive archive;
  for (int64_t second = 1; second <= 10; ++second) archive.Take(ReportAt(second));
  wire::Command command = Pull(100 * kSecond);
  command.mutable_pull_operations()->set_max_bytes(400);
  const wire::CommandResult result = AnswerOf(archive, command);
  EXPECT_GT(result.pulled_size(), 0);
  EXPECT_EQ(result.left_out(), 40u - static_cast<uint64_t>(result.pulled_size()));
  EXPECT_EQ(result.pulled(0).operations().sequence_deltas(0), 10);
}

TEST(CaptureArchiveTest, KeepsWhatTheAgentOnceHandedOver) {
  CaptureArchive archive;
  wire::AgentReport report;
  report.set_monotonic_ns(kSecond);
  wire::PulledOperations& pulled = *report.add_command_results()->add_pulled();
  pulled.set_rank(3);
  pulled.set_communicator(7);
  AddOperation(kSecond - 5, 1, *pulled.mutable_operations());
  archive.Take(report);
  ASSERT_EQ(AnswerOf(archive, Pull(kSecond)).pulled_size(), 1);
  EXPECT_EQ(AnswerOf(archive, Pull(kSecond)).pulled(0).rank(), 3);
}

TEST(CaptureArchiveTest, RefusesEverythingElse) {
  CaptureArchive archive;
  archive.Take(ReportAt(1));
  wire::Command command = Pull(kSecond);
  command.set_job("another");
  EXPECT_EQ(AnswerOf(archive, command).outcome(), wire::CommandResult::OUTCOME_REFUSED);
  wire::Command watch;
  watch.set_job("job");
  watch.mutable_watch_transfers();
  EXPECT_EQ(AnswerOf(archive, watch).outcome(), wire::CommandResult::OUTCOME_REFUSED);
}

TEST(CaptureArchiveTest, ForgetsTheOldestBeyondItsLimit) {
  CaptureArchive archive;
  constexpr int64_t kReports = 3'000;
  constexpr int kOperations = 500;
  for (int64_t second = 1; second <= kReports; ++second) {
    wire::AgentReport report;
    report.set_monotonic_ns(second * kSecond);
    wire::OperationBatch& batch = *report.add_processes()->add_communicators()->mutable_operations();
    for (int i = 0; i < kOperations; ++i) AddOperation(i == 0 ? second * kSecond - kOperations : 31, 1, batch);
    archive.Take(report);
  }
  const wire::CommandResult result = AnswerOf(archive, Pull(2 * kReports * kSecond));
  const uint64_t known = result.left_out() + static_cast<uint64_t>(result.pulled_size()) * kOperations;
  EXPECT_LT(known, static_cast<uint64_t>(kReports) * kOperations);
  EXPECT_GT(known, static_cast<uint64_t>(kReports) * kOperations / 10);
}

TEST(CaptureArchiveTest, SurvivesColumnsThatNobodyChecked) {
  CaptureArchive archive;
  wire::AgentReport report;
  wire::OperationBatch& batch = *report.add_processes()->add_communicators()->mutable_operations();
  for (int i = 0; i < 3; ++i) batch.add_enqueued_deltas_ns(std::numeric_limits<int64_t>::max());
  for (int i = 0; i < 2; ++i) batch.add_start_offsets_ns(std::numeric_limits<int64_t>::max());
  batch.add_duration_ns(std::numeric_limits<int64_t>::min());
  archive.Take(report);
  EXPECT_EQ(AnswerOf(archive, Pull(kSecond)).outcome(), wire::CommandResult::OUTCOME_DONE);
}

}  // namespace
}  // namespace lockstep
