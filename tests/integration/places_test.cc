// Agents that say where they stand, a real collector, and one rack that goes astray: the collector names the rack and
// no machine, and its capture tells the same to whoever looks again.

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/host_places.h"
#include "agent/uplink/hello.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "cli/inputs/input_files.h"
#include "collector/collector.h"
#include "collector/collector_options.h"
#include "collector/metrics.h"
#include "collector/replay/replay.h"
#include "collector/store/testing/memory_store.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/test_agent.h"
#include "collector/time_line.h"
#include "detector/engine/diagnosis.h"
#include "formats/capture_file.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

constexpr int kHosts = 32;
constexpr int kHostsPerRack = 4;
constexpr int kOddRack = 3;
constexpr int kLearningSeconds = 60;
constexpr int kSeconds = 100;
constexpr char kOddWords[] = "4 of the 4 machines of rack r3 stand out together, 0 of the other 28 do";

class NoReceivers final : public AlertReceivers {
 public:
  std::vector<std::string> NamesFor(const IncidentEvent&) const override { return {}; }
  std::vector<AlertInheritance::Left> Inherit(const AlertInheritance&) override { return {}; }
  void Tell(const IncidentEvent& event, const ChangeId& id) override {}
  void NoteUntold(const wire::Incident&) override {}
  std::vector<std::string> NoteWritten(uint64_t ticket, uint64_t number) override { return {}; }
};

std::string HostOf(int host) { return absl::StrCat("node-", host); }

class PlacesTest : public testing::Test {
 protected:
  void StartCollector() {
    CollectorOptions options;
    options.listen_address = "127.0.0.1:0";
    options.pages.address = "127.0.0.1:0";
    auto collector = Collector::Start(options, {clock_, time_line_, store_, receivers_, metrics_});
    ASSERT_OK(collector);
    collector_ = *std::move(collector);
    channel_ =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", collector_->grpc_port()), grpc::InsecureChannelCredentials());
    query_ = wire::Query::NewStub(channel_);
  }

  void Connect(bool say_where) {
    Random incarnations(1);
    for (int host = 0; host < kHosts; ++host) {
      HostPlaces places;
      if (say_where) places.rack = absl::StrCat("r", host / kHostsPerRack);
      wire::AgentMessage hello;
      *hello.mutable_hello() = MakeHello(HostOf(host), incarnations, places);
      agents_.push_back(std::make_unique<TestAgent>(channel_));
      ASSERT_EQ(agents_.back()->Hello(hello), 0);
    }
  }

  // A second of a job whose machines do the same, but for the power that those of the odd rack draw at the end.
  void Second(int second) {
    clock_.Advance(kNanosPerSecond);
    const auto sequence = static_cast<uint64_t>(second);
    for (int host = 0; host < kHosts; ++host) {
      const TestRanks ranks{.first_rank = host, .world_size = kHosts, .first_step = 10 * (second - 1) + 1};
      wire::AgentReport report = MakeTestReport(sequence, ranks);
      const bool odd = second > kLearningSeconds && host / kHostsPerRack == kOddRack;
      wire::MetricBlock& block = *report.add_metrics();
      block.set_device("gpu0");
      block.set_monotonic_ns(report.monotonic_ns());
      block.add_metrics(static_cast<uint32_t>(Metric::kGpuPowerWatts));
      block.add_values((odd ? 0.6 : 1) * (300 + 10 * noise_.Gaussian()));
      ASSERT_TRUE(agents_[static_cast<size_t>(host)]->Send(ToMessage(std::move(report))));
    }
    for (const std::unique_ptr<TestAgent>& agent : agents_) ASSERT_TRUE(agent->AwaitAck(sequence));
  }

  void PlayJob(bool say_where) {
    StartCollector();
    Connect(say_where);
    for (int second = 1; second <= kSeconds; ++second) Second(second);
  }

  std::vector<wire::Incident> Incidents() {
    wire::ListIncidentsResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(query_->ListIncidents(&context, {}, &response).ok());
    return {response.incidents().begin(), response.incidents().end()};
  }

  std::vector<wire::CaptureEntry> Capture() {
    wire::CaptureRequest request;
    request.set_job("train");
    grpc::ClientContext context;
    const auto reader = query_->Capture(&context, request);
    std::vector<wire::CaptureEntry> entries;
    for (wire::CaptureEntry entry; reader->Read(&entry);) entries.push_back(entry);
    EXPECT_TRUE(reader->Finish().ok());
    return entries;
  }

  // What `lockstep diagnose` says of the capture.
  JobReport Diagnosed(const std::vector<wire::CaptureEntry>& entries) {
    const std::string path = (directory_.path() / "train.lockcap").string();
    auto writer = CaptureFileWriter::Create(path);
    EXPECT_OK(writer);
    for (const wire::CaptureEntry& entry : entries) EXPECT_OK((*writer)->Append(entry));
    EXPECT_OK((*writer)->Close());
    const InputFiles inputs = ReadInputFiles({path}, std::nullopt, [](const ReadProgress&) {});
    EXPECT_EQ(inputs.jobs.size(), 1u);
    return Diagnose(inputs.jobs.at(0).evidence, {});
  }

  const TemporaryDirectory directory_;
  SimClock clock_;
  TimeLine time_line_{clock_};
  MemoryStore store_;
  NoReceivers receivers_;
  CollectorMetrics metrics_{"test"};
  std::unique_ptr<Collector> collector_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::Query::Stub> query_;
  std::vector<std::unique_ptr<TestAgent>> agents_;
  Random noise_{11};
};

TEST_F(PlacesTest, TheCollectorNamesTheRackAndNoMachineAndSoDoesItsCapture) {
  PlayJob(/*say_where=*/true);
  const std::vector<wire::Incident> incidents = Incidents();
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].verdict().culprits_size(), kHostsPerRack);
  EXPECT_TRUE(absl::StrContains(incidents[0].verdict().evidence(0).text(), kOddWords))
      << incidents[0].verdict().evidence(0).text();

  const std::vector<wire::CaptureEntry> entries = Capture();
  int named = 0;
  Replayer replayer({}, [&named](absl::string_view line) { named += absl::StrContains(line, kOddWords) ? 1 : 0; });
  for (const wire::CaptureEntry& entry : entries) ASSERT_OK(replayer.Feed(entry));
  EXPECT_GT(named, 0);
  EXPECT_GT(replayer.summary().conclusions_equal, 0u);
  EXPECT_EQ(replayer.summary().conclusions_different, 0u);

  int diagnosed = 0;
  for (const Verdict& verdict : Diagnosed(entries).verdicts) {
    EXPECT_NE(verdict.culprits.size(), 1u);
    if (verdict.evidence.empty() || !absl::StrContains(verdict.evidence[0].text(), kOddWords)) continue;
    ++diagnosed;
    EXPECT_EQ(verdict.culprits.size(), static_cast<size_t>(kHostsPerRack));
  }
  EXPECT_EQ(diagnosed, 1);
}

TEST_F(PlacesTest, AgentsThatSayNothingHaveNoPlace) {
  PlayJob(/*say_where=*/false);
  const std::vector<wire::Incident> incidents = Incidents();
  EXPECT_EQ(incidents.size(), static_cast<size_t>(kHostsPerRack));
  for (const wire::Incident& incident : incidents) EXPECT_EQ(incident.verdict().culprits_size(), 1);
  for (const wire::CaptureEntry& entry : Capture()) EXPECT_EQ(entry.input().places_size(), 0);
}

}  // namespace
}  // namespace lockstep
