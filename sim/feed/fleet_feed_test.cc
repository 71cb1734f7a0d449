#include "sim/feed/fleet_feed.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "gtest/gtest.h"
#include "proto/ingest.grpc.pb.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/simulated_capture.h"
#include "sim/episode.h"
#include "sim/feed/capture_feed.h"
#include "sim/feed/feed_result.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

// Takes everything, acknowledges it, and asks every host once for operations.
class FakeCollector final : public wire::Ingest::Service {
 public:
  grpc::Status Stream(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<wire::CollectorMessage, wire::AgentMessage>* stream) override {
    wire::AgentMessage message;
    std::string host;
    while (stream->Read(&message)) {
      wire::CollectorMessage answer;
      if (message.has_hello()) {
        host = message.hello().host();
        answer.mutable_hello_ack()->set_stored_sequence(stored_before_);
        stream->Write(answer);
        answer.Clear();
        answer.mutable_command()->set_id(1);
        answer.mutable_command()->set_job(job_);
        answer.mutable_command()->mutable_pull_operations()->set_newest_ns(kNanosPerSecond);
      } else {
        const MutexLock lock(mutex_);
        EXPECT_EQ(message.report().sequence(), ++reports_[host]);
        answers_ += message.report().command_results_size();
        for (const wire::CommandResult& result : message.report().command_results()) {
          EXPECT_EQ(result.outcome(), wire::CommandResult::OUTCOME_DONE);
          for (const wire::PulledOperations& pulled : result.pulled()) {
            operations_ += pulled.operations().kinds_size();
          }
        }
        for (const wire::ProcessReport& process : message.report().processes()) jobs_.insert(process.job());
        answer.mutable_ack()->set_stored_sequence(message.report().sequence());
      }
      stream->Write(answer);
    }
    return grpc::Status::OK;
  }

  // `stored_before`: reports that it has of every agent already.
  explicit FakeCollector(const std::string& job, uint64_t stored_before = 0)
      : job_(job), stored_before_(stored_before) {}

  int operations() {
    const MutexLock lock(mutex_);
    return operations_;
  }
  std::set<std::string> jobs() {
    const MutexLock lock(mutex_);
    return jobs_;
  }
  std::map<std::string, uint64_t> reports() {
    const MutexLock lock(mutex_);
    return reports_;
  }
  int answers() {
    const MutexLock lock(mutex_);
    return answers_;
  }

 private:
  const std::string job_;  // that it asks for
  const uint64_t stored_before_;
  Mutex mutex_;
  std::map<std::string, uint64_t> reports_ ABSL_GUARDED_BY(mutex_);
  int answers_ ABSL_GUARDED_BY(mutex_) = 0;
  int operations_ ABSL_GUARDED_BY(mutex_) = 0;  // in the answers
  std::set<std::string> jobs_ ABSL_GUARDED_BY(mutex_);
};

std::unique_ptr<grpc::Server> Start(FakeCollector& collector, int& port) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&collector);
  return builder.BuildAndStart();
}

TEST(FleetFeedTest, EveryHostReportsEveryTickAndAnswers) {
  FakeCollector collector("job-1");
  int port = 0;
  const std::unique_ptr<grpc::Server> server = Start(collector, port);
  JobSpec job = TypicalJob(64, 3);
  job.schedule.steps = 5;
  const Episode episode = Simulate(job, {}, 1);
  int32_t ticks = 0;
  const FeedOptions options{.address = absl::StrCat("127.0.0.1:", port), .speed = 20, .connections = 3};
  const auto result = FeedCollector(episode, 1, options, RealClock(), [&](int32_t, int32_t of) { ticks = of; });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(ticks, 5);
  EXPECT_EQ(result->reports, static_cast<uint64_t>(ticks) * 8);
  EXPECT_EQ(result->acknowledged, result->reports);
  EXPECT_EQ(result->dropped, 0u);
  EXPECT_EQ(result->streams_ended, 0u);
  EXPECT_EQ(collector.answers(), 8);
  EXPECT_EQ(collector.reports().size(), 8u);
  for (const auto& [host, reports] : collector.reports()) EXPECT_EQ(reports, static_cast<uint64_t>(ticks)) << host;
  server->Shutdown();
}

TEST(FleetFeedTest, WhatTheCollectorHasStoredBeforeIsARepetitionAndTheRestIsStored) {
  JobSpec job = TypicalJob(16, 2);
  job.schedule.steps = 2;
  const Episode episode = Simulate(job, {}, 1);
  for (const uint64_t stored_before : {uint64_t{3}, uint64_t{1'000'000}}) {
    FakeCollector collector("job-1", stored_before);
    int port = 0;
    const std::unique_ptr<grpc::Server> server = Start(collector, port);
    const FeedOptions options{.address = absl::StrCat("127.0.0.1:", port), .speed = 100};
    const auto result = FeedCollector(episode, 1, options, RealClock(), [](int32_t, int32_t) {});
    ASSERT_OK(result);
    EXPECT_EQ(result->repeated, std::min(stored_before * result->hosts, result->reports));
    EXPECT_EQ(result->acknowledged + result->repeated, result->reports);
    server->Shutdown();
  }
}

class CaptureFeedTest : public ::testing::Test {
 protected:
  // A capture of two hosts.
  std::string WriteCapture(int32_t steps) const {
    JobSpec job = TypicalJob(16, 2);
    job.schedule.steps = steps;
    const std::string path = (directory_.path() / "job.lockcap").string();
    EXPECT_OK(WriteSimulatedCapture(Simulate(job, {}, 1), 1, path));
    return path;
  }

  const TemporaryDirectory directory_;
};

TEST_F(CaptureFeedTest, PlaysTheReportsOfTheCaptureUnderAnotherName) {
  FakeCollector collector("again");
  int port = 0;
  const std::unique_ptr<grpc::Server> server = Start(collector, port);
  const std::string path = WriteCapture(4);
  const CaptureContents contents = ScanCapture(path);
  ASSERT_OK(contents.status);
  EXPECT_EQ(contents.job, "job-1");
  EXPECT_EQ(contents.agents, 2u);
  EXPECT_EQ(contents.ranks, 16u);
  const FeedOptions options{.address = absl::StrCat("127.0.0.1:", port), .speed = 20, .connections = 3};
  int32_t seconds = 0;
  const int64_t begin_ns = RealClock().MonotonicNanos();
  const auto result =
      FeedCapture(path, contents, "again", 1, options, RealClock(), [&](int32_t, int32_t of) { seconds = of; });
  ASSERT_OK(result.status());
  EXPECT_GE(RealClock().MonotonicNanos() - begin_ns, (seconds - 1) * kNanosPerSecond / 20);
  EXPECT_EQ(result->reports, contents.inputs);
  EXPECT_EQ(result->acknowledged, contents.inputs);
  EXPECT_EQ(result->hosts, 2u);
  EXPECT_EQ(result->commands, 2u);
  EXPECT_EQ(result->streams_ended, 0u);
  EXPECT_EQ(collector.jobs(), std::set<std::string>{"again"});
  EXPECT_EQ(collector.reports().size(), 2u);
  EXPECT_GT(collector.operations(), 0);
  server->Shutdown();
}

TEST_F(CaptureFeedTest, ACaptureThatWasCutShortIsPlayedUpToTheCut) {
  FakeCollector collector("job-1");
  int port = 0;
  const std::unique_ptr<grpc::Server> server = Start(collector, port);
  const std::string path = WriteCapture(20);
  const uint64_t whole = ScanCapture(path).inputs;
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const CaptureContents contents = ScanCapture(path);
  EXPECT_EQ(contents.status.code(), absl::StatusCode::kDataLoss);
  EXPECT_LT(contents.inputs, whole);
  EXPECT_GT(contents.inputs, 0u);
  const FeedOptions options{.address = absl::StrCat("127.0.0.1:", port), .speed = 50};
  const auto result = FeedCapture(path, contents, "job-1", 1, options, RealClock(), [](int32_t, int32_t) {});
  ASSERT_OK(result.status());
  EXPECT_EQ(result->reports, contents.inputs);
  server->Shutdown();
}

TEST(FleetFeedTest, SaysWhenNobodyListens) {
  JobSpec job = TypicalJob(8, 1);
  job.schedule.steps = 1;
  const Episode episode = Simulate(job, {}, 1);
  const FeedOptions options{.address = "127.0.0.1:1", .connect_ns = 200 * kNanosPerMilli};
  const auto result = FeedCollector(episode, 1, options, RealClock(), [](int32_t, int32_t) {});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace lockstep
