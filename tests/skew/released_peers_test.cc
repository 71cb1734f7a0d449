// What release 0.1.0 wrote and said is understood by this one, and what a later release adds is passed over.
//
// testdata/peers-0.1.0.tar.gz was recorded from the programs of 0.1.0 and a real job of four ranks, of which rank 2
// does twice the work in the second half: what its agent and its collector said to each other (each message behind its
// length, four bytes, little-endian), the ring of rank 2, and what `lockstep capture` saved. History of 0.1.0:
// collector/store/upgrade_test.cc.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/ring_reader.h"
#include "agent/unique_fd.h"
#include "agent/uplink/collector_stream.h"
#include "agent/uplink/uplink.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/replay/replay.h"
#include "collector/testing/collector_fixture.h"
#include "collector/testing/test_agent.h"
#include "detector/engine/job_engine.h"
#include "formats/capture_file.h"
#include "proto/ingest.pb.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::SizeIs;

constexpr int kFieldOfALaterRelease = 1000;
constexpr char kRecordings[] = "tests/skew/testdata/peers-0.1.0.tar.gz";

class Recordings {
 public:
  Recordings() {
    const std::string command = "tar -xzf " + std::string(kRecordings) + " -C " + directory_.path().string();
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  std::string PathOf(const std::string& name) const { return (directory_.path() / name).string(); }

  template <typename Message>
  std::vector<Message> Read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(PathOf(name), std::ios::binary).rdbuf();
    const std::string bytes = text.str();
    std::vector<Message> messages;
    for (size_t at = 0; at + 4 <= bytes.size();) {
      uint32_t size = 0;
      std::memcpy(&size, bytes.data() + at, 4);
      EXPECT_TRUE(messages.emplace_back().ParseFromArray(bytes.data() + at + 4, static_cast<int>(size)));
      at += 4 + size;
    }
    return messages;
  }

 private:
  TemporaryDirectory directory_;
};

// As a later release would send it: with a field that this one has never heard of.
void AddUnknownField(google::protobuf::Message* message) {
  message->GetReflection()->MutableUnknownFields(message)->AddLengthDelimited(kFieldOfALaterRelease, "what is new");
}

// A collector that has said all it will say: each acknowledgement comes once its report was written.
class RecordedCollector final : public CollectorConnector {
 public:
  explicit RecordedCollector(std::vector<wire::CollectorMessage> said) : said_(said.begin(), said.end()) {}

  std::unique_ptr<CollectorStream> Connect() override { return std::make_unique<Stream>(*this); }

 private:
  class Stream final : public CollectorStream {
   public:
    explicit Stream(RecordedCollector& collector) : collector_(collector) {}

    bool Write(const wire::AgentMessage& message) override {
      MutexLock lock(collector_.mutex_);
      if (message.has_report()) written_ = message.report().sequence();
      collector_.changed_.NotifyAll();
      return !over_;
    }
    bool Read(wire::CollectorMessage& message) override {
      MutexLock lock(collector_.mutex_);
      while (!over_ && (collector_.said_.empty() || collector_.said_.front().ack().stored_sequence() > written_)) {
        collector_.changed_.Wait(collector_.mutex_);
      }
      if (over_) return false;
      message = collector_.said_.front();
      collector_.said_.pop_front();
      return true;
    }
    void Cancel() override {
      MutexLock lock(collector_.mutex_);
      over_ = true;
      collector_.changed_.NotifyAll();
    }
    absl::Status Finish() override { return absl::OkStatus(); }

   private:
    RecordedCollector& collector_;
    uint64_t written_ = 0;
    bool over_ = false;
  };

  Mutex mutex_;
  CondVar changed_;
  std::deque<wire::CollectorMessage> said_;
};

class ReleasedPeersTest : public CollectorFixture, public testing::WithParamInterface<bool> {
 protected:
  bool of_a_later_release() const { return GetParam(); }

  const Recordings recordings_;
};

TEST_P(ReleasedPeersTest, WhatItsAgentSaidIsStoredWhole) {
  std::vector<wire::AgentMessage> said = recordings_.Read<wire::AgentMessage>("agent.bin");
  ASSERT_THAT(said, SizeIs(Gt(60)));
  if (of_a_later_release()) {
    AddUnknownField(said[0].mutable_hello());
    for (size_t i = 1; i < said.size(); ++i) {
      AddUnknownField(said[i].mutable_report());
      for (wire::ProcessReport& process : *said[i].mutable_report()->mutable_processes()) AddUnknownField(&process);
    }
  }
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello(said[0]), 0);
  for (size_t i = 1; i < said.size(); ++i) ASSERT_TRUE(agent.Send(said[i]));
  ASSERT_TRUE(agent.AwaitAck(said.back().report().sequence()));

  wire::GetStatusResponse status;
  grpc::ClientContext status_context;
  ASSERT_TRUE(query_->GetStatus(&status_context, {}, &status).ok());
  ASSERT_EQ(status.agents_size(), 1);
  EXPECT_EQ(status.agents(0).host(), "node-1");
  EXPECT_EQ(status.agents(0).version(), "0.1.0");
  EXPECT_EQ(status.reports_stored(), said.size() - 1);

  wire::CaptureRequest capture;
  capture.set_job("released");
  grpc::ClientContext capture_context;
  const auto reader = query_->Capture(&capture_context, capture);
  std::set<int32_t> ranks;
  uint64_t finished = 0;
  for (wire::CaptureEntry entry; reader->Read(&entry);) {
    for (const wire::ProcessReport& process : entry.input().report().processes()) {
      ranks.insert(process.rank());
      finished = std::max(finished, process.operations_finished());
    }
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_GT(finished, 700u);
}

TEST_P(ReleasedPeersTest, WhatItsCollectorSaidIsUnderstood) {
  std::vector<wire::CollectorMessage> said = recordings_.Read<wire::CollectorMessage>("collector.bin");
  ASSERT_THAT(said, SizeIs(Gt(60)));
  const uint64_t newest = said.back().ack().stored_sequence();
  if (of_a_later_release()) {
    for (wire::CollectorMessage& message : said) {
      AddUnknownField(&message);
      if (message.has_hello_ack()) AddUnknownField(message.mutable_hello_ack());
      if (message.has_ack()) AddUnknownField(message.mutable_ack());
      if (message.has_command()) AddUnknownField(message.mutable_command());
    }
  }
  RecordedCollector collector(said);
  wire::AgentHello hello;
  hello.set_host("node-1");
  Uplink uplink(collector, hello, OutboxLimits(), RealClock(), Random(1));
  for (uint64_t report = 0; report < newest; ++report) uplink.Send(wire::AgentReport());
  // Drain waits only while there is a connection; at first there is none.
  while (uplink.statistics().connections == 0) std::this_thread::yield();
  EXPECT_TRUE(uplink.Drain(60 * kNanosPerSecond));
  EXPECT_EQ(uplink.statistics().reports_acknowledged, newest);
  EXPECT_EQ(uplink.statistics().disconnections, 0u);
  const absl::optional<wire::Command> command = uplink.TakeCommand();
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->job(), "released");
  EXPECT_TRUE(command->has_pull_operations());
}

TEST_P(ReleasedPeersTest, WhatItCapturedIsReplayed) {
  // Its watermarks do not say how the rest of the fleet did: of silence alone nothing is concluded.
  Replayer replayer(JobEngineOptions(),
                    [](absl::string_view line) { EXPECT_EQ(line.find("machine_unreachable"), line.npos) << line; });
  ASSERT_OK(ReadCaptureFile(recordings_.PathOf("released.lockcap"), [&](const wire::CaptureEntry& read) {
    wire::CaptureEntry entry = read;
    if (of_a_later_release()) {
      AddUnknownField(&entry);
      if (entry.has_input()) AddUnknownField(entry.mutable_input());
      if (entry.has_watermark()) AddUnknownField(entry.mutable_watermark());
    }
    return replayer.Feed(entry);
  }));
  EXPECT_GT(replayer.summary().inputs, 60u);
  EXPECT_GT(replayer.summary().watermarks, 100u);
  EXPECT_EQ(replayer.summary().losses.unknown_enums, 0u);
  EXPECT_EQ(replayer.summary().losses.unknown_metrics, 0u);
}

INSTANTIATE_TEST_SUITE_P(OfThatReleaseAndALaterOne, ReleasedPeersTest, testing::Bool());

TEST(ReleasedRingTest, TheRingOfItsRecorderIsRead) {
  const Recordings recordings;
  UniqueFd file(open(recordings.PathOf("rank2.ring").c_str(), O_RDONLY | O_CLOEXEC));
  RingRefusal refusal;
  const std::unique_ptr<RingReader> reader = RingReader::Open(std::move(file), /*since_ns=*/0, &refusal);
  ASSERT_NE(reader, nullptr) << refusal.detail;
  EXPECT_STREQ(reader->header().job, "released");
  EXPECT_EQ(reader->header().rank, 2);
  EXPECT_EQ(reader->header().world_size, 4);
  EXPECT_STREQ(reader->header().gpu_pci_address, "") << "recorders of 0.1.0 did not know it";
  RingSnapshot snapshot;
  ASSERT_OK(reader->Poll(&snapshot));
  std::set<std::string> names;
  for (const RingCommunicator& communicator : snapshot.communicators) names.insert(communicator.entry.name);
  EXPECT_TRUE(names.contains("tensor-parallel pair"));
  EXPECT_THAT(snapshot.finished, SizeIs(Gt(500)));
  EXPECT_EQ(snapshot.malformed, 0u);
}

void Put(uint32_t value, size_t offset, const std::string& path) {
  std::fstream ring(path, std::ios::binary | std::ios::in | std::ios::out);
  ring.seekp(static_cast<std::streamoff>(offset));
  ring.write(reinterpret_cast<const char*>(&value), sizeof(value));
}

TEST(ReleasedRingTest, ARingOfALaterLayoutIsReadIfItSaysSoAndElseRefusedByName) {
  const Recordings recordings;
  const std::string path = recordings.PathOf("rank2.ring");
  const auto open_ring = [&](RingRefusal* refusal) {
    return RingReader::Open(UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), 0, refusal);
  };
  Put(ring::kLayoutVersion + 1, offsetof(ring::RingHeader, layout_version), path);
  RingRefusal refusal;
  EXPECT_EQ(open_ring(&refusal), nullptr);
  EXPECT_EQ(refusal.reason, RingRefusalReason::kNewerLayout) << refusal.detail;
  Put(1, offsetof(ring::RingHeader, readable_since), path);
  const std::unique_ptr<RingReader> reader = open_ring(&refusal);
  ASSERT_NE(reader, nullptr) << refusal.detail;
  RingSnapshot snapshot;
  ASSERT_OK(reader->Poll(&snapshot));
  EXPECT_THAT(snapshot.finished, SizeIs(Gt(500)));
}

}  // namespace
}  // namespace lockstep
