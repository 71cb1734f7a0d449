#include "collector/ingest/ingest_probe.h"

#include <grpcpp/channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_callback.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "base/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kPatience = 20 * kNanosPerSecond;

// Ends streams at once, or only when they are cancelled: as if no reaction ran.
class FakeIngest final : public wire::Ingest::CallbackService {
 public:
  explicit FakeIngest(bool answers) : answers_(answers) {}

  grpc::ServerBidiReactor<wire::AgentMessage, wire::CollectorMessage>* Stream(grpc::CallbackServerContext*) override {
    return new Reactor(answers_);
  }

 private:
  class Reactor final : public grpc::ServerBidiReactor<wire::AgentMessage, wire::CollectorMessage> {
   public:
    explicit Reactor(bool answers) : answers_(answers) {
      if (answers_) Finish(grpc::Status::OK);
    }
    void OnCancel() override {
      if (!answers_) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    const bool answers_;
  };

  const bool answers_;
};

class IngestProbeTest : public testing::Test {
 protected:
  void Serve(bool answers) {
    service_ = std::make_unique<FakeIngest>(answers);
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    probe_ = std::make_unique<IngestProbe>(server_->InProcessChannel(grpc::ChannelArguments()));
  }

  ~IngestProbeTest() override {
    probe_.reset();
    server_->Shutdown();
  }

  bool AwaitAnswer(uint64_t answers) {
    const int64_t deadline = RealClock().MonotonicNanos() + kPatience;
    while (probe_->progress().turns < answers) {
      if (RealClock().MonotonicNanos() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::unique_ptr<FakeIngest> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<IngestProbe> probe_;
};

TEST_F(IngestProbeTest, EveryStreamThatComesBackIsATurn) {
  Serve(/*answers=*/true);
  EXPECT_FALSE(probe_->progress().has_work);
  for (uint64_t answers : {1, 2, 3}) {
    probe_->Ask();
    ASSERT_TRUE(AwaitAnswer(answers));
  }
  EXPECT_FALSE(probe_->progress().has_work);
}

TEST_F(IngestProbeTest, AStreamThatDoesNotComeBackIsWorkWithoutTurnsAndHoldsNobodyUpAtTheEnd) {
  Serve(/*answers=*/false);
  for (int second = 0; second < 3; ++second) probe_->Ask();
  EXPECT_TRUE(probe_->progress().has_work);
  EXPECT_EQ(probe_->progress().turns, 0u);
  probe_->Stop();
  EXPECT_FALSE(probe_->progress().has_work);
  probe_->Ask();
  EXPECT_FALSE(probe_->progress().has_work);
}

}  // namespace
}  // namespace lockstep
