// From a stream through router and shard into the log, with a log that stops: nothing is lost, little is read, and
// everything arrives once the log goes on.

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/testing/status_matchers.h"
#include "collector/access/access_control.h"
#include "collector/failing_sources.h"
#include "collector/gpu_directory.h"
#include "collector/ingest/ingest_service.h"
#include "collector/query_worker.h"
#include "collector/router.h"
#include "collector/shard.h"
#include "collector/store/testing/memory_store.h"
#include "collector/store_writer.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/test_agent.h"

namespace lockstep {
namespace {

constexpr int64_t kPatience = 20 * kNanosPerSecond;
constexpr uint64_t kReports = 40;

// Holds every caller of Append while it is shut. Thread-safe.
class GatedLog final : public InputLog {
 public:
  explicit GatedLog(InputLog& log) : log_(log) {}

  bool Append(LogItem item) override {
    {
      MutexLock lock(mutex_);
      ++held_;
      while (shut_) changed_.WaitFor(mutex_, kPatience);
      --held_;
    }
    return log_.Append(std::move(item));
  }
  bool healthy() const override { return log_.healthy(); }

  bool holds() const {
    MutexLock lock(mutex_);
    return held_ > 0;
  }

  void SetShut(bool shut) {
    MutexLock lock(mutex_);
    shut_ = shut;
    changed_.NotifyAll();
  }

 private:
  InputLog& log_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool shut_ ABSL_GUARDED_BY(mutex_) = true;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
};

class NoAlerts final : public AlertSink {
 public:
  void Announce(const IncidentEvent& event) override {}
};

bool NoAgent(const std::string&, const wire::Command&) { return false; }

class BackpressureTest : public testing::Test {
 protected:
  BackpressureTest() {
    ShardOptions options;
    options.queue_slices = kQueueSlices;
    gated_ = MakeShard(options, gate_);
    open_ = MakeShard(options, writer_);
    router_.SetShards(ShardOfJob(kGatedJob, 2) == 0 ? std::vector<Shard*>{gated_.get(), open_.get()}
                                                    : std::vector<Shard*>{open_.get(), gated_.get()});
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&ingest_);
    server_ = builder.BuildAndStart();
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials());
  }

  ~BackpressureTest() override {
    gate_.SetShut(false);
    ingest_.Drain(kPatience);
    server_->Shutdown();
    gated_->Close();
    open_->Close();
    EXPECT_OK(writer_.Close());
  }

  std::unique_ptr<Shard> MakeShard(const ShardOptions& options, InputLog& log) {
    auto jobs = std::make_unique<JobTable>(JobTableOptions(), clock_,
                                           JobTable::Outlets{log, alerts_, index_, metrics_, NoAgent});
    return std::make_unique<Shard>(
        options, clock_, std::move(jobs), [](JobTable&) {}, [this] { router_.ResumeParked(); });
  }

  // Sends reports of the gated job until the collector reads no further.
  void FillGatedShard(TestAgent& agent) {
    for (uint64_t sequence = 1; sequence <= kReports; ++sequence) {
      ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(sequence, TestRanks()))));
    }
    ASSERT_TRUE(Eventually([&] { return metrics_.reads_withheld.Value() > 0 && gate_.holds(); }));
  }

  bool IsConnected(const std::string& host, uint64_t incarnation) {
    return agents_.Find(host, incarnation)->connected();
  }

  bool IsStored(const std::string& host, uint64_t incarnation, uint64_t sequence) {
    return Eventually([&] { return store_.StoredSequence(host, incarnation).value() == sequence; });
  }

  // How often the log holds each report of the host, by job and sequence.
  std::map<std::pair<std::string, uint64_t>, int> Logged(const std::string& host) {
    std::map<std::pair<std::string, uint64_t>, int> times;
    for (const wire::CaptureEntry& entry : store_.log()) {
      if (entry.input().host() == host) ++times[{entry.input().job(), entry.input().report().sequence()}];
    }
    return times;
  }

  bool Eventually(const std::function<bool()>& holds) {
    const int64_t deadline = clock_.MonotonicNanos() + kPatience;
    while (!holds()) {
      if (clock_.MonotonicNanos() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  static constexpr size_t kQueueSlices = 2;
  static constexpr char kGatedJob[] = "train";  // of TestRanks

  const Clock& clock_ = RealClock();
  MemoryStore store_;
  NoAlerts alerts_;
  IncidentIndex index_{1'000};
  CollectorMetrics metrics_{"test"};
  AgentRegistry agents_{AgentRegistryOptions(), clock_};
  StoreWriter writer_{StoreWriterOptions(), store_, metrics_, [this] { agents_.RewindLost(); }};
  GatedLog gate_{writer_};
  FailingSources sources_;
  GpuDirectory gpus_;
  QueryWorker lookups_;
  Router router_{agents_, sources_, gpus_, store_, lookups_, metrics_, clock_};
  std::unique_ptr<AccessControl> access_ = *AccessControl::Open("", clock_, metrics_.access);
  IngestService ingest_{IngestServiceOptions(), *access_, router_, clock_};
  std::unique_ptr<Shard> gated_;
  std::unique_ptr<Shard> open_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(BackpressureTest, AFullShardQueueWithholdsReadsAndThenEverythingArrives) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  FillGatedShard(agent);
  // At most what the shard has taken out and hangs over, what the queue holds, and the one that found it full.
  EXPECT_LE(metrics_.reports_received.Value(), 2 * kQueueSlices + 1);
  gate_.SetShut(false);
  ASSERT_TRUE(agent.AwaitAck(kReports));
  uint64_t expected = 0;
  for (const wire::CaptureEntry& entry : store_.log()) {
    if (entry.has_input()) {
      EXPECT_EQ(entry.input().report().sequence(), ++expected);
    }
  }
  EXPECT_EQ(expected, kReports);
}

TEST_F(BackpressureTest, AStreamThatEndsWhileItWaitsForRoomLosesNothing) {
  {
    TestAgent agent(channel_);
    ASSERT_EQ(agent.Hello("node-1", 7), 0);
    FillGatedShard(agent);
  }
  ASSERT_TRUE(Eventually([&] { return !IsConnected("node-1", 7); }));
  gate_.SetShut(false);
  TestAgent agent(channel_);
  ASSERT_GE(agent.Hello("node-1", 7), 0);
  for (uint64_t sequence = 1; sequence <= kReports; ++sequence) {
    ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(sequence, TestRanks()))));
  }
  ASSERT_TRUE(IsStored("node-1", 7, kReports));
  EXPECT_TRUE(agent.AwaitAck(kReports));
  for (const auto& [report, times] : Logged("node-1")) EXPECT_EQ(times, 1) << report.second;
}

TEST_F(BackpressureTest, WhatOneOfTwoShardsTookIsNotGivenToItAgain) {
  TestAgent other(channel_);
  ASSERT_EQ(other.Hello("node-2", 1), 0);
  FillGatedShard(other);
  std::string open_job = "job";
  while (ShardOfJob(open_job, 2) == ShardOfJob(kGatedJob, 2)) open_job += "+";
  const auto both_jobs = [&](uint64_t sequence) {
    TestRanks ranks;
    ranks.job = open_job;
    wire::AgentReport report = MakeTestReport(sequence, ranks);
    *report.add_processes() = MakeTestReport(sequence, TestRanks()).processes(0);
    return ToMessage(report);
  };
  {
    TestAgent agent(channel_);
    ASSERT_EQ(agent.Hello("node-1", 7), 0);
    ASSERT_TRUE(agent.Send(both_jobs(1)));
    ASSERT_TRUE(Eventually([&] { return Logged("node-1").size() == 1; }));
  }
  ASSERT_TRUE(Eventually([&] { return !IsConnected("node-1", 7); }));
  gate_.SetShut(false);
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  for (uint64_t sequence : {1, 2}) ASSERT_TRUE(agent.Send(both_jobs(sequence)));
  ASSERT_TRUE(IsStored("node-1", 7, 2));
  const auto logged = Logged("node-1");
  EXPECT_EQ(logged.size(), 4u);
  for (const auto& [report, times] : logged) EXPECT_EQ(times, 1) << report.first << " " << report.second;
}

TEST_F(BackpressureTest, AShardThatWaitsForItsLogHasWorkAndDoesNotMove) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  FillGatedShard(agent);
  const Progress stuck = gated_->progress();
  EXPECT_TRUE(stuck.has_work);
  const uint64_t before = open_->progress().turns;
  EXPECT_TRUE(Eventually([&] { return open_->progress().turns > before + 2; })) << "it has nothing to do and moves";
  EXPECT_EQ(gated_->progress().turns, stuck.turns);
  gate_.SetShut(false);
  EXPECT_TRUE(Eventually([&] { return gated_->progress().turns > stuck.turns; }));
  gated_->Close();
  EXPECT_FALSE(gated_->progress().has_work);
}

TEST_F(BackpressureTest, AShardThatIsClosedTakesNothingAndLeavesTheSliceAsItIs) {
  gate_.SetShut(false);
  gated_->Close();
  JobSlice slice;
  slice.input.set_job(kGatedJob);
  EXPECT_FALSE(router_.Deliver(slice));
  EXPECT_EQ(slice.input.job(), kGatedJob);
}

TEST(ShardOfJobTest, IsStableAndUsesEveryShard) {
  std::set<size_t> used;
  for (int job = 0; job < 200; ++job) used.insert(ShardOfJob(absl::StrCat("job-", job), 7));
  EXPECT_EQ(used.size(), 7u);
  // Incidents are restored to the shard of their job: a new build must not send jobs elsewhere.
  EXPECT_EQ(ShardOfJob("", 8), 5u);
  EXPECT_EQ(ShardOfJob("train", 1), 0u);
}

}  // namespace
}  // namespace lockstep
