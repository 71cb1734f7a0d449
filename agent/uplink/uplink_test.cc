// The uplink over real gRPC against a small collector in this process.

#include "agent/uplink/uplink.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/uplink/grpc_connector.h"
#include "agent/uplink/hello.h"
#include "agent/uplink/reconnect_pauses.h"
#include "base/mutex.h"
#include "proto/ingest.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kTestDeadlineNs = 30 * kNanosPerSecond;

// Stores reports in order, hangs up once after `hang_up_after` of them, refuses the job "bad".
class FakeCollector final : public wire::Ingest::Service {
 public:
  explicit FakeCollector(uint64_t hang_up_after) : hang_up_after_(hang_up_after) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~FakeCollector() override { server_->Shutdown(); }

  grpc::Status Stream(grpc::ServerContext*,
                      grpc::ServerReaderWriter<wire::CollectorMessage, wire::AgentMessage>* stream) override {
    wire::AgentMessage in;
    if (!stream->Read(&in) || !in.has_hello()) return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no hello");
    wire::CollectorMessage out;
    out.mutable_hello_ack()->set_stored_sequence(newest());
    stream->Write(out);
    if (Displaces()) return grpc::Status(grpc::StatusCode::ABORTED, "another agent has connected");
    while (stream->Read(&in)) {
      const wire::AgentReport& report = in.report();
      if (report.processes_size() > 0 && report.processes(0).job() == "bad") {
        return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "bad report");
      }
      MutexLock lock(mutex_);
      stored_.push_back(report.sequence());
      if (hang_up_after_ != 0 && stored_.size() == hang_up_after_) {
        hang_up_after_ = 0;
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "restart");
      }
      out.mutable_ack()->set_stored_sequence(report.sequence());
      stream->Write(out);
    }
    return grpc::Status::OK;
  }

  uint64_t newest() {
    MutexLock lock(mutex_);
    return stored_.empty() ? 0 : stored_.back();
  }
  std::vector<uint64_t> stored() {
    MutexLock lock(mutex_);
    return stored_;
  }
  const std::string& address() const { return address_; }

  // Ends that many streams as if another agent of the same host had connected.
  void DisplaceFirst(int streams) {
    MutexLock lock(mutex_);
    displacements_ = streams;
  }

 private:
  bool Displaces() {
    MutexLock lock(mutex_);
    return displacements_ > 0 && displacements_-- > 0;
  }

  Mutex mutex_;
  std::vector<uint64_t> stored_ ABSL_GUARDED_BY(mutex_);
  uint64_t hang_up_after_ ABSL_GUARDED_BY(mutex_);
  int displacements_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

wire::AgentReport Report(const char* job) {
  wire::AgentReport report;
  report.add_processes()->set_job(job);
  return report;
}

// Drain answers only while connected: ask until it has drained.
bool DrainAll(Uplink& uplink) {
  const int64_t deadline = RealClock().MonotonicNanos() + kTestDeadlineNs;
  while (RealClock().MonotonicNanos() < deadline) {
    if (uplink.Drain(kNanosPerSecond)) return true;
  }
  return false;
}

TEST(UplinkTest, DeliversInOrderAcrossADisconnectWithoutLossOrGap) {
  FakeCollector collector(3);
  GrpcConnector connector(collector.address());
  Random random(1);
  Uplink uplink(connector, MakeHello("host", random), {}, RealClock(), random);
  for (int i = 0; i < 6; ++i) uplink.Send(Report("good"));
  ASSERT_TRUE(DrainAll(uplink));
  EXPECT_THAT(collector.stored(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(uplink.statistics().reports_acknowledged, 6u);
  EXPECT_EQ(uplink.statistics().connections, 2u);
}

TEST(UplinkTest, RefusedReportIsDroppedAndTheOthersArrive) {
  FakeCollector collector(0);
  GrpcConnector connector(collector.address());
  Random random(1);
  Uplink uplink(connector, MakeHello("host", random), {}, RealClock(), random);
  for (const char* job : {"good", "bad", "good"}) uplink.Send(Report(job));
  ASSERT_TRUE(DrainAll(uplink));
  EXPECT_THAT(collector.stored(), ElementsAre(1, 3));
  EXPECT_EQ(uplink.statistics().reports_dropped.at("reports_rejected"), 1u);
}

TEST(UplinkTest, DisplacedAgentDoesNotComeBackAtOnceAndLosesNothing) {
  FakeCollector collector(0);
  collector.DisplaceFirst(2);
  GrpcConnector connector(collector.address());
  Random random(1);
  const int64_t begin_ns = RealClock().MonotonicNanos();
  Uplink uplink(connector, MakeHello("host", random), {}, RealClock(), random);
  for (int i = 0; i < 3; ++i) uplink.Send(Report("good"));
  ASSERT_TRUE(DrainAll(uplink));
  // Half of the first pause, and half of one twice as long.
  EXPECT_GE(RealClock().MonotonicNanos() - begin_ns, kFirstDisplacedNanos / 2 + kFirstDisplacedNanos);
  EXPECT_THAT(collector.stored(), ElementsAre(1, 2, 3));
  EXPECT_EQ(uplink.statistics().connections, 3u);
}

TEST(UplinkTest, UnreachableCollectorKeepsReportsAndStopsAtOnce) {
  GrpcConnector connector("127.0.0.1:1");
  Random random(1);
  Uplink uplink(connector, MakeHello("host", random), {}, RealClock(), random);
  uplink.Send(Report("good"));
  EXPECT_FALSE(uplink.Drain(kTestDeadlineNs));
  uplink.Stop();
  EXPECT_EQ(uplink.statistics().outbox_reports, 1u);
}

}  // namespace
}  // namespace lockstep
