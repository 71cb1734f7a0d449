#include "agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/demands/demand_kind.h"
#include "agent/kineto/fabric_endpoint.h"
#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_writer.h"
#include "agent/rooted_fs.h"
#include "agent/testing/fake_collector.h"
#include "agent/testing/report_view.h"
#include "agent/uplink/hello.h"
#include "agent/uplink/resume_keeper.h"
#include "base/progress_watch.h"
#include "base/random.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "daemon/health_routes.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kPatienceNs = 30 * kNanosPerSecond;

// An agent that looks at a folder, with every source of the table, and a collector in this process.
class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    // Makes Abseil's table of messages before there are threads: its lock is in a library that ThreadSanitizer does not
    // see into.
    EXPECT_FALSE(absl::ErrnoToStatus(ENOENT, "").ok());
    options_.root = Path("root");
    options_.ring_directory = Path("rings");
    options_.nvml_library = Path("libnvidia-ml.so.1");
    options_.tick = absl::Milliseconds(50);
    options_.source_deadline = absl::Seconds(30);  // no source hangs here; a busy machine must not look like it
    directory_.Write("root/proc/stat", "cpu 100 0 100 800 0 0 0 0\nctxt 500\nprocs_running 2\nprocs_blocked 1\n");
    directory_.Write("root/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n");
    const std::string port = "root/sys/class/infiniband/mlx5_0/ports/1/";
    directory_.Write(port + "state", "4: ACTIVE\n");
    directory_.Write(port + "rate", "400 Gb/sec (4X NDR)\n");
    directory_.Write(port + "counters/port_rcv_data", "1000\n");
  }

  std::string Path(const std::string& name) const { return (directory_.path() / name).string(); }

  // In the order in which main makes them.
  void Start(const OutboxLimits& limits = {}, AgentDemands demands = {}) {
    uplink_ = std::make_unique<Uplink>(collector_, MakeHello("node-1", random_), limits, RealClock(), random_);
    auto agent = Agent::Create(options_, SourceTable(), *uplink_, metrics_, RealClock(), std::move(demands));
    ASSERT_OK(agent);
    agent_ = *std::move(agent);
  }

  // Of rank 3 of four of the job "job", where the agent looks for rings.
  bool OpenRing(ring::RingWriter& writer) const {
    const std::string rings = Path("rings");
    ring::RingOptions ring;
    ring.directory = rings.c_str();
    ring.rank = 3;
    ring.world_size = 4;
    ring.job = "job";
    return writer.Open(ring);
  }

  // Drain answers only while connected: asks until all is acknowledged.
  std::vector<wire::AgentReport> Delivered() {
    const int64_t deadline_ns = RealClock().MonotonicNanos() + kPatienceNs;
    while (!uplink_->Drain(kNanosPerSecond)) {
      if (RealClock().MonotonicNanos() > deadline_ns) {
        ADD_FAILURE() << "not delivered";
        break;
      }
    }
    return collector_.reports();
  }

  // The value of the agent's own metric; labels as "name=value", "" = none.
  double MetricValue(const std::string& name, const std::string& label = "") const {
    for (const prometheus::MetricFamily& family : metrics_.registry().Collect()) {
      if (family.name != name) continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        std::string found;
        for (const auto& pair : metric.label) absl::StrAppend(&found, pair.name, "=", pair.value);
        if (found == label) return metric.counter.value + metric.gauge.value;
      }
    }
    ADD_FAILURE() << "no " << name << " {" << label << "}";
    return -1;
  }

  TemporaryDirectory directory_;
  AgentOptions options_;
  Random random_{1};
  FakeCollector collector_;
  AgentMetrics metrics_;
  std::unique_ptr<Uplink> uplink_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentTest, ReportsWhatItsSourcesSeeAndHowTheyDid) {
  Start();
  agent_->Tick();
  const std::vector<wire::AgentReport> reports = Delivered();
  ASSERT_EQ(reports.size(), 1u);
  const wire::AgentReport& report = reports[0];
  EXPECT_EQ(report.sequence(), 1u);
  EXPECT_GT(report.wall_ns(), 0);
  EXPECT_GT(report.monotonic_ns(), 0);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostRunnableTasks), 2);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostMemoryAvailableBytes), 600 * 1024);
  EXPECT_THAT(DevicesOf(report), ::testing::Contains("mlx5_0/1"));
  ASSERT_EQ(report.sources_size(), static_cast<int>(SourceTable().size()) + 1);
  EXPECT_EQ(report.sources(0).name(), "rings");
  EXPECT_EQ(report.sources(0).outcome(), wire::SourceStatus::OUTCOME_OK);
  EXPECT_EQ(MetricValue("lockstep_agent_ticks_total"), 1);
  EXPECT_GT(MetricValue("lockstep_agent_resident_bytes"), 0);
  EXPECT_EQ(MetricValue("lockstep_agent_rings_followed"), 0);
}

TEST_F(AgentTest, TheRingDirectoryIsMadeAndMendedWhileItRuns) {
  Start();
  agent_->Tick();
  const auto mode = [this] { return std::filesystem::symlink_status(Path("rings")).permissions(); };
  const auto wanted = std::filesystem::perms::all | std::filesystem::perms::sticky_bit;
  EXPECT_EQ(mode(), wanted);
  EXPECT_EQ(MetricValue("lockstep_agent_ring_directory_mended_total", "fault=missing"), 1);
  std::filesystem::permissions(Path("rings"), std::filesystem::perms::owner_all);
  agent_->Tick();
  EXPECT_EQ(mode(), wanted);
  EXPECT_EQ(MetricValue("lockstep_agent_ring_directory_mended_total", "fault=mode"), 1);
  EXPECT_EQ(MetricValue("lockstep_agent_ring_directory_wrong", "fault=mode"), 0);
  std::filesystem::remove(Path("rings"));
  directory_.Write("rings", "");
  std::filesystem::create_directory(Path("rings.aside"));
  agent_->Tick();
  EXPECT_EQ(MetricValue("lockstep_agent_ring_directory_wrong", "fault=not_a_folder"), 1);
}

TEST_F(AgentTest, OverwrittenOperationsAreCountedInTheReportAndInTheMetrics) {
  Start();
  static ring::RingWriter writer;  // lives as long as the process
  const std::string rings = Path("rings");
  ring::RingOptions ring;
  ring.directory = rings.c_str();
  ring.rank = 0;
  ring.world_size = 1;
  ring.job = "job";
  ring.operation_capacity = 16;
  ASSERT_TRUE(writer.Open(ring));
  const auto now_ns = [] { return ring::MonotonicNs(); };
  const uint32_t world = writer.FindOrAddCommunicator({.id = 7, .size = 1, .rank = 0, .name = "world"}, now_ns());
  for (int i = 0; i < 16 + 5; ++i) {
    const ring::OperationHandle operation =
        writer.Begin({.kind = ring::OperationKind::kAllReduce, .started = true, .communicator = world}, now_ns());
    writer.Finish(operation, {}, now_ns());
  }
  agent_->Tick();
  const std::vector<wire::AgentReport> reports = Delivered();
  ASSERT_EQ(reports.size(), 1u);
  ASSERT_EQ(reports[0].processes_size(), 1);
  EXPECT_EQ(reports[0].processes(0).communicators(0).operations().kinds_size(), 16);
  EXPECT_EQ(DroppedOf(reports[0], "ring_operations_overwritten"), 5u);
  EXPECT_EQ(MetricValue("lockstep_agent_operations_read_total"), 16);
  EXPECT_EQ(MetricValue("lockstep_agent_operations_lost_total", "reason=overwritten"), 5);
  EXPECT_EQ(MetricValue("lockstep_agent_rings_followed"), 1);
}

TEST_F(AgentTest, AnswersACommandWithTheOperationsItStillHolds) {
  Start();
  static ring::RingWriter writer;  // lives as long as the process
  ASSERT_TRUE(OpenRing(writer));
  const int64_t now_ns = ring::MonotonicNs();
  const uint32_t world = writer.FindOrAddCommunicator({.id = 7, .size = 4, .rank = 3, .name = "world"}, now_ns);
  for (int i = 0; i < 5; ++i) {
    writer.Finish(
        writer.Begin({.kind = ring::OperationKind::kAllReduce, .started = true, .communicator = world}, now_ns), {},
        now_ns + 1);
  }
  wire::Command pull;
  pull.set_id(11);
  pull.set_job("job");
  pull.mutable_pull_operations()->set_newest_ns(60 * kNanosPerSecond);
  wire::Command unheard_of;
  unheard_of.set_id(12);
  collector_.SendCommand(pull);
  collector_.SendCommand(unheard_of);
  for (int tick = 0; tick < 3; ++tick) {
    agent_->Tick();
    Delivered();
  }
  const std::vector<wire::AgentReport> reports = Delivered();
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].command_results_size(), 0);
  ASSERT_EQ(reports[1].command_results_size(), 1);
  const wire::CommandResult& answer = reports[1].command_results(0);
  EXPECT_EQ(answer.id(), 11u);
  EXPECT_EQ(answer.outcome(), wire::CommandResult::OUTCOME_DONE);
  ASSERT_EQ(answer.pulled_size(), 1);
  EXPECT_EQ(answer.pulled(0).rank(), 3);
  EXPECT_EQ(answer.pulled(0).communicator(), 7u);
  EXPECT_EQ(answer.pulled(0).operations().kinds_size(), 5);
  ASSERT_EQ(reports[2].command_results_size(), 1);
  EXPECT_EQ(reports[2].command_results(0).id(), 12u);
  EXPECT_EQ(reports[2].command_results(0).outcome(), wire::CommandResult::OUTCOME_REFUSED);
}

TEST_F(AgentTest, LooksOnDemandAtAProcessThatItFollowsAndAtNoOther) {
  for (const char* file : {"stat", "status"}) {
    std::stringstream text;
    text << std::ifstream(absl::StrCat("/proc/self/", file)).rdbuf();
    directory_.Write(absl::StrCat("root/proc/", getpid(), "/", file), text.str());
  }
  AgentDemands demands;
  demands.kinds.push_back({"look", [](const DemandCall& call) {
                             return absl::StrCat(call.process.job, " ", call.process.rank, " ", call.process.pid,
                                                 call.parameters);
                           }});
  Start({}, std::move(demands));
  static ring::RingWriter writer;  // lives as long as the process
  ASSERT_TRUE(OpenRing(writer));
  agent_->Tick();
  for (const int rank : {3, 4}) {
    wire::Command command;
    command.set_id(static_cast<uint64_t>(rank));
    command.set_job("job");
    command.mutable_demand()->set_kind("look");
    command.mutable_demand()->set_rank(rank);
    command.mutable_demand()->set_patience_ns(60 * kNanosPerSecond);
    command.mutable_demand()->set_parameters(" now");
    collector_.SendCommand(command);
  }
  std::map<uint64_t, wire::DemandAnswer> answers;
  const int64_t deadline_ns = RealClock().MonotonicNanos() + kPatienceNs;
  while (answers.size() < 2 && RealClock().MonotonicNanos() < deadline_ns) {
    agent_->Tick();
    for (const wire::AgentReport& report : Delivered()) {
      for (const wire::DemandAnswer& answer : report.demand_answers()) answers[answer.id()] = answer;
    }
  }
  EXPECT_EQ(answers[3].payload(), absl::StrCat("job 3 ", getpid(), " now")) << answers[3].reason();
  EXPECT_EQ(answers[4].outcome(), wire::DemandAnswer::OUTCOME_REFUSED);
  EXPECT_THAT(answers[4].reason(), HasSubstr("follows no such rank"));
  EXPECT_EQ(MetricValue("lockstep_agent_demands_total", "outcome=refused"), 1);
}

TEST_F(AgentTest, ReportsThatAnAbsentCollectorCostsAreCounted) {
  collector_.set_reachable(false);
  OutboxLimits limits;
  limits.max_bytes = 1;  // nothing but the newest report ever fits
  Start(limits);
  StopSignal never;
  const int64_t deadline_ns = RealClock().MonotonicNanos() + kPatienceNs;
  while (uplink_->statistics().disconnections == 0 && RealClock().MonotonicNanos() < deadline_ns) {
    never.WaitFor(kNanosPerMilli);
  }
  for (int i = 0; i < 3; ++i) agent_->Tick();
  EXPECT_GE(MetricValue("lockstep_agent_reports_dropped_total", "reason=reports_outbox_full"), 2);
  EXPECT_EQ(MetricValue("lockstep_agent_connected"), 0);
  EXPECT_THAT(agent_->Ready(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("fake collector is not there")));
}

TEST_F(AgentTest, SaysHowManyProcessesHaveRegisteredForProfilesIfTheyMay) {
  AgentDemands demands;
  // Of a name of its own: another daemon of this machine may have the usual one.
  demands.fabric =
      std::make_unique<FabricEndpoint>(directory_.path().filename().string(), *RootedFs::Open("/"), RealClock());
  Start({}, std::move(demands));
  agent_->Tick();
  EXPECT_GE(MetricValue("lockstep_agent_kineto_listening"), 0);
  EXPECT_GE(MetricValue("lockstep_agent_kineto_name_taken"), 0);
  EXPECT_GE(MetricValue("lockstep_agent_kineto_processes"), 0);
  EXPECT_EQ(MetricValue("lockstep_agent_kineto_datagrams_total", "outcome=foreign_pid"), 0);
}

TEST_F(AgentTest, IsReadyWhenItHasTickedAndACollectorHasAnswered) {
  Start();
  EXPECT_THAT(agent_->Ready(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no tick")));
  agent_->Tick();
  Delivered();
  EXPECT_OK(agent_->Ready());
}

TEST_F(AgentTest, RunsUntilItIsToldToStop) {
  Start();
  StopSignal stop;
  int alive = 0;
  agent_->Run(stop, [&] {
    if (++alive == 3) stop.Stop();
  });
  EXPECT_EQ(alive, 3);
  EXPECT_EQ(Delivered().size(), 3u);
}

TEST_F(AgentTest, ARootThatCannotBeOpenedIsAnErrorThatNamesIt) {
  options_.root = Path("absent");
  uplink_ = std::make_unique<Uplink>(collector_, MakeHello("node-1", random_), OutboxLimits{}, RealClock(), random_);
  const auto agent = Agent::Create(options_, SourceTable(), *uplink_, metrics_, RealClock());
  EXPECT_THAT(agent, StatusIs(absl::StatusCode::kNotFound, HasSubstr(options_.root)));
}

TEST_F(AgentTest, ASourceThatCannotBeMadeIsLeftOut) {
  const SourceRow rows[] = {
      {"broken", /*may_hang=*/false, [](const SourceOptions&) -> absl::StatusOr<std::unique_ptr<Source>> {
         return absl::InternalError("no such device");
       }}};
  uplink_ = std::make_unique<Uplink>(collector_, MakeHello("node-1", random_), OutboxLimits{}, RealClock(), random_);
  auto agent = Agent::Create(options_, rows, *uplink_, metrics_, RealClock());
  ASSERT_OK(agent);
  (*agent)->Tick();
  EXPECT_EQ(Delivered()[0].sources_size(), 1);  // the rings
}

// Counts its ticks, and goes on counting where the agent before stopped; one at a time.
class CountingSource final : public Source {
 public:
  static std::string resumed;
  static bool has_data;

  absl::string_view name() const override { return "counting"; }
  absl::Status Collect(const lockstep::Tick&, wire::AgentReport&) override {
    ++ticks_;
    return has_data ? absl::OkStatus() : NoData("no driver");
  }
  std::string position() const override { return absl::StrCat(ticks_); }
  void Resume(absl::string_view position) override { resumed = std::string(position); }

 private:
  int ticks_ = 0;
};
std::string CountingSource::resumed;
bool CountingSource::has_data = true;

class AgentRestartTest : public AgentTest {
 protected:
  // The next agent of this host, without a spool.
  void StartNext() {
    static constexpr SourceRow kRows[] = {
        {"counting", /*may_hang=*/false, [](const SourceOptions&) -> absl::StatusOr<std::unique_ptr<Source>> {
           return std::make_unique<CountingSource>();
         }}};
    agent_ = nullptr;
    uplink_ = nullptr;
    CountingSource::resumed = "";
    keeper_ = std::make_unique<ResumeKeeper>(directory_.path().string(), "boot-1", "node-1");
    uplink_ = std::make_unique<Uplink>(collector_, MakeHello("node-1", random_), OutboxLimits{}, RealClock(), random_,
                                       nullptr, keeper_.get());
    auto agent = Agent::Create(options_, kRows, *uplink_, metrics_, RealClock());
    ASSERT_OK(agent);
    agent_ = *std::move(agent);
  }

  std::unique_ptr<ResumeKeeper> keeper_;
};

TEST_F(AgentRestartTest, GoesOnBehindTheNewestReportThatIsStored) {
  StartNext();
  EXPECT_EQ(CountingSource::resumed, "");
  for (int tick = 0; tick < 2; ++tick) agent_->Tick();
  Delivered();
  collector_.set_reachable(false);
  agent_->Tick();
  StartNext();
  EXPECT_EQ(CountingSource::resumed, "2") << "what the collector has not stored is read again";
}

TEST_F(AgentRestartTest, ASourceThatWorkedForTheAgentBeforeHasFailedIfItHasNoData) {
  StartNext();
  agent_->Tick();
  Delivered();
  CountingSource::has_data = false;
  StartNext();
  agent_->Tick();
  const wire::AgentReport report = Delivered().back();
  CountingSource::has_data = true;
  ASSERT_EQ(report.sources_size(), 2);
  EXPECT_EQ(report.sources(1).outcome(), wire::SourceStatus::OUTCOME_FAILED);
  EXPECT_EQ(report.sources(1).error(), "is gone: no driver");
  EXPECT_TRUE(report.sources(1).worked());
  EXPECT_NE(report.sources(0).outcome(), wire::SourceStatus::OUTCOME_FAILED) << "rings come and go";
}

TEST_F(AgentTest, WhoeverTicksIsMovingAndWhoeverStopsIsNot) {
  SimClock clock;
  uplink_ = std::make_unique<Uplink>(collector_, MakeHello("node-1", random_), OutboxLimits{}, RealClock(), random_);
  auto agent = Agent::Create(options_, {}, *uplink_, metrics_, clock);
  ASSERT_OK(agent);
  const HealthProbes probes = (*agent)->Probes();
  EXPECT_OK(probes.alive());
  for (int i = 0; i < 30; ++i) {
    clock.Advance(ProgressWatch::kLongestGapNanos);
    (*agent)->Tick();
    EXPECT_OK(probes.alive());
  }
  for (int i = 0; i < 13; ++i) {
    clock.Advance(ProgressWatch::kLongestGapNanos);
    (void)probes.alive();
  }
  EXPECT_THAT(probes.alive(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("asks the sources")));
}

}  // namespace
}  // namespace lockstep
