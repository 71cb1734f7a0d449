#include "sim/feed/fleet_feed.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "proto/ingest.grpc.pb.h"
#include "proto/ingest.pb.h"
#include "sim/episode.h"
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
        answer.mutable_hello_ack();
        stream->Write(answer);
        answer.Clear();
        answer.mutable_command()->set_id(1);
        answer.mutable_command()->set_job("job-1");
        answer.mutable_command()->mutable_pull_operations()->set_newest_ns(kNanosPerSecond);
      } else {
        const MutexLock lock(mutex_);
        EXPECT_EQ(message.report().sequence(), ++reports_[host]);
        answers_ += message.report().command_results_size();
        answer.mutable_ack()->set_stored_sequence(message.report().sequence());
      }
      stream->Write(answer);
    }
    return grpc::Status::OK;
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
  Mutex mutex_;
  std::map<std::string, uint64_t> reports_ ABSL_GUARDED_BY(mutex_);
  int answers_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(FleetFeedTest, EveryHostReportsEveryTickAndAnswers) {
  FakeCollector collector;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&collector);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
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
