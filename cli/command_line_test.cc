#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/testing/sim_clock.h"
#include "base/testing/temporary_directory.h"
#include "cli/testing/fake_query_server.h"
#include "formats/capture_file.h"
#include "nlohmann/json.hpp"
#include "proto/capture.pb.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kNow = SimClock::kStartWallNanos;

struct Result {
  ExitCode exit_code;
  std::string out;
  std::string err;
};

// `collector` is what the environment variable says.
Result Lockstep(const std::vector<std::string>& arguments, const std::string& collector, int width = 0) {
  // Of the collector, ages and spans are reckoned by its time.
  SimClock clock;
  clock.Advance(3600 * kNanosPerSecond);
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode exit_code = RunCommandLine(arguments, {collector, out, err, width, /*progress=*/false, clock});
  return {exit_code, out.str(), err.str()};
}

wire::Incident SlowRank(uint64_t id, wire::Incident::State state) {
  wire::Incident incident;
  incident.set_id(id);
  incident.set_job("demo");
  incident.set_state(state);
  incident.set_opened_wall_ns(kNow - 90 * kNanosPerSecond);
  incident.mutable_verdict()->set_class_("compute_slow");
  incident.mutable_verdict()->mutable_cost()->set_slowdown_fraction(0.35);
  incident.mutable_verdict()->add_evidence()->set_text("Rank 2 arrived last in 39 of 40 steps.");
  wire::Culprit* culprit = incident.mutable_verdict()->add_culprits();
  culprit->set_host("node-17");
  culprit->set_rank(2);
  culprit->set_gpu(-1);
  culprit->set_pid(4711);
  wire::Incident::Transition* opened = incident.add_transitions();
  opened->set_what("opened");
  opened->set_wall_ns(incident.opened_wall_ns());
  return incident;
}

FakeQueryServer::Answers SomeAnswers() {
  FakeQueryServer::Answers answers;
  answers.status.set_version("0.1.0");
  answers.status.set_started_wall_ns(kNow - 3600 * kNanosPerSecond);
  answers.status.set_now_wall_ns(kNow);
  answers.status.set_reports_stored(12345);
  answers.status.set_open_incidents(1);
  wire::AgentStatus* agent = answers.status.add_agents();
  agent->set_host("node-17");
  agent->set_version("0.1.0");
  agent->set_connected(true);
  agent->set_last_report_wall_ns(kNow - kNanosPerSecond / 2);
  agent->set_last_sequence(99);
  wire::MissingHost* missing = answers.status.add_missing_hosts();
  missing->set_host("node-18");
  missing->set_in_inventory(true);
  wire::FailingSource* source = answers.status.add_failing_sources();
  source->set_host("node-17");
  source->set_source("nvml");
  source->set_since_wall_ns(kNow - 90 * kNanosPerSecond);
  source->set_hangs(true);
  source->set_why("no answer for 90.0 s");

  answers.job = "demo";
  wire::Job* job = answers.jobs.add_jobs();
  job->set_job("demo");
  job->set_state("slow");
  job->set_ranks(4);
  job->set_world_size(4);
  job->set_hosts(1);
  job->set_steps(1200);
  job->set_steps_per_second(5.04);
  job->set_step_seconds_median(0.1984);
  job->set_last_seen_wall_ns(kNow - kNanosPerSecond);
  job->set_note("rank 2 is slow");
  wire::Rank* rank = answers.ranks.add_ranks();
  rank->set_rank(2);
  rank->set_host("node-17");
  rank->set_pid(4711);
  rank->set_gpu(-1);
  rank->set_process_state("running");
  rank->set_enqueued(2400);
  rank->set_finished(2399);
  rank->set_own_seconds_per_step(0.201);
  rank->set_wait_seconds_per_step(0.0012);
  rank->set_last_seen_wall_ns(kNow - kNanosPerSecond);

  *answers.incidents.add_incidents() = SlowRank(7, wire::Incident::STATE_OPEN);
  *answers.incidents.add_incidents() = SlowRank(3, wire::Incident::STATE_RESOLVED);
  for (const char* host : {"node-17", "node-18"}) {
    wire::Series* series = answers.history.add_series();
    series->set_metric("host_cpu_busy_ratio");
    series->set_host(host);
    for (int i = 0; i < 4; ++i) {
      series->add_wall_ns(kNow - (40 - 10 * i) * kNanosPerSecond);
      series->add_values(0.25 * i);
    }
  }
  wire::CaptureReset* reset = answers.capture.emplace_back().mutable_reset();
  reset->set_job("demo");
  reset->set_wall_ns(kNow);
  return answers;
}

class CommandLineTest : public ::testing::Test {
 protected:
  Result Ask(const std::vector<std::string>& arguments, int width = 0) {
    return Lockstep(arguments, server_.address(), width);
  }
  const FakeQueryServer server_{SomeAnswers()};
  const TemporaryDirectory directory_;
};

TEST_F(CommandLineTest, Status) {
  const Result result = Ask({"status"});
  EXPECT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_EQ(result.out,
            "collector       0.1.0, up 1h00m\n"
            "agents          1 connected of 1\n"
            "hosts missing   1\n"
            "reports stored  12345\n"
            "open incidents  1\n"
            "jobs            1 seen whole of 1\n"
            "\n"
            "HOST     CONNECTED  LAST REPORT  SEQUENCE  VERSION\n"
            "node-17  yes          500ms ago        99  0.1.0\n"
            "\n"
            "Not recorded, because their agents are silent:\n"
            "HOST     LAST REPORT  KNOWN FROM\n"
            "node-18        never  the inventory\n"
            "\n"
            "Agents get nothing from:\n"
            "HOST     SOURCE    FOR  STATE  WHY\n"
            "node-17  nvml    1m30s  hangs  no answer for 90.0 s\n");
}

TEST_F(CommandLineTest, Hosts) {
  EXPECT_EQ(Ask({"hosts"}).out,
            "HOST     STATE    LAST REPORT  KNOWN FROM\n"
            "node-17  reports    500ms ago  its reports\n"
            "node-18  missing        never  the inventory\n");
  const Result missing = Ask({"hosts", "--missing", "--fail-on-missing"});
  EXPECT_EQ(missing.exit_code, ExitCode::kFindings);
  EXPECT_EQ(missing.out,
            "HOST     STATE    LAST REPORT  KNOWN FROM\n"
            "node-18  missing        never  the inventory\n");
  EXPECT_EQ(Ask({"hosts", "forget"}).exit_code, ExitCode::kUsage);
  EXPECT_EQ(Ask({"hosts", "list", "node-17"}).exit_code, ExitCode::kUsage);
  EXPECT_EQ(Ask({"hosts", "forget", "node-18"}).exit_code, ExitCode::kCollectorUnreachable) << "the fake takes none";
}

TEST_F(CommandLineTest, Jobs) {
  EXPECT_EQ(Ask({"jobs"}).out,
            "JOB   STATE  RANKS  HOSTS  STEPS  STEPS/S  STEP TIME  LAST SEEN  NOTE\n"
            "demo  slow     4/4      1   1200     5.04     198 ms       1.0s  rank 2 is slow\n");
}

TEST_F(CommandLineTest, Ranks) {
  EXPECT_EQ(Ask({"ranks", "demo"}).out,
            "RANK  HOST      PID  GPU  STATE    ENQUEUED  FINISHED  LOST  OWN/STEP  WAIT/STEP  LAST SEEN\n"
            "   2  node-17  4711    -  running      2400      2399     0    201 ms     1.2 ms       1.0s\n");
}

TEST(RanksTest, PodsAreShownWhereThereAreAny) {
  FakeQueryServer::Answers answers = SomeAnswers();
  *answers.ranks.add_ranks() = answers.ranks.ranks(0);
  answers.ranks.mutable_ranks(1)->set_rank(3);
  answers.ranks.mutable_ranks(1)->set_pod("ml/train-3");
  const FakeQueryServer server(answers);
  EXPECT_EQ(
      Lockstep({"ranks", "demo"}, server.address()).out,
      "RANK  HOST     POD          PID  GPU  STATE    ENQUEUED  FINISHED  LOST  OWN/STEP  WAIT/STEP  LAST SEEN\n"
      "   2  node-17  -           4711    -  running      2400      2399     0    201 ms     1.2 ms       1.0s\n"
      "   3  node-17  ml/train-3  4711    -  running      2400      2399     0    201 ms     1.2 ms       1.0s\n");
}

TEST_F(CommandLineTest, Incidents) {
  EXPECT_EQ(Ask({"incidents"}, /*width=*/124).out,
            "ID  STATE     JOB   CLASS         CULPRIT                  SINCE                        COST  SUMMARY\n"
            " 7  open      demo  compute_slow  node-17 rank 2 pid 4711  2026-01-02 03:02:35 (1m30s)  35 %  Rank 2 "
            "arrived last in 39 of …\n"
            " 3  resolved  demo  compute_slow  node-17 rank 2 pid 4711  2026-01-02 03:02:35 (1m30s)  35 %  Rank 2 "
            "arrived last in 39 of …\n");
}

TEST_F(CommandLineTest, FailOnOpenIsFindings) {
  EXPECT_EQ(Ask({"incidents", "--fail-on-open"}).exit_code, ExitCode::kFindings);
  EXPECT_EQ(Ask({"incidents", "list"}).exit_code, ExitCode::kOk);
}

TEST_F(CommandLineTest, ShowAndExplain) {
  const Result explain = Ask({"explain", "7"});
  EXPECT_EQ(explain.exit_code, ExitCode::kOk);
  EXPECT_THAT(explain.out, AllOf(StartsWith("Incident 7, job demo: compute_slow, node-17 rank 2 pid 4711\n"),
                                 HasSubstr("  2. Rank 2 arrived last in 39 of 40 steps.\n")));
  EXPECT_EQ(Ask({"incidents", "show", "7"}).out, explain.out);
  EXPECT_EQ(Ask({"explain", "8"}).exit_code, ExitCode::kNotFound);
  EXPECT_EQ(Ask({"explain", "8"}).err, "lockstep: no incident 8\n");
}

TEST_F(CommandLineTest, JsonOfEveryVerbParses) {
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"jobs"},
                                             {"ranks", "demo"},
                                             {"incidents"},
                                             {"incidents", "show", "7"},
                                             {"incidents", "ack", "7"},
                                             {"incidents", "silence", "7", "--for", "1h"},
                                             {"incidents", "resolve", "7"},
                                             {"incidents", "comment", "7", "loud"},
                                             {"ack", "7"},
                                             {"maintenance"},
                                             {"maintenance", "add", "--job", "demo", "--for", "1h"},
                                             {"maintenance", "end", "3"},
                                             {"top", "--once"},
                                             {"completion", "bash"},
                                             {"hosts"},
                                             {"explain", "7"},
                                             {"history", "host_cpu_busy_ratio"}}) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {"-o", "json"});
    const Result result = Ask(arguments);
    EXPECT_EQ(result.exit_code, ExitCode::kOk) << verb[0];
    EXPECT_TRUE(nlohmann::json::accept(result.out)) << verb[0] << "\n" << result.out;
  }
  EXPECT_EQ(nlohmann::json::parse(Ask({"jobs", "-o", "json"}).out)["jobs"][0]["steps"], 1200);
}

TEST_F(CommandLineTest, HistoryTable) {
  EXPECT_EQ(Ask({"history", "host_cpu_busy_ratio{host=~\"*18\"}", "--since", "40s", "--step", "10s"}).out,
            "HOST     DEVICE  STEPS  MIN   MEAN   MAX  LAST  CURVE\n"
            "node-18  -           4    0  0.375  0.75  0.75  ▁▃▆█\n");
  EXPECT_EQ(Ask({"history", "host_cpu_busy_ratio{host=\"node-17\"}", "--since", "15s", "--points"}).out,
            "TIME                     HOST     DEVICE  VALUE\n"
            "2026-01-02 03:03:50 UTC  node-17  -        0.75\n");
  EXPECT_EQ(Ask({"history", "host_cpu_busy_ratio{host=\"other\"}"}).out, "no samples\n");
}

TEST(HistoryCommandTest, AsksOnlyForWhatTheQueryNames) {
  std::vector<wire::GetHistoryRequest> requests;
  FakeQueryServer::Answers answers;
  answers.status.set_now_wall_ns(kNow);
  answers.on_history = [&](const wire::GetHistoryRequest& request) { requests.push_back(request); };
  const FakeQueryServer server(answers);
  Lockstep({"history", "net_up{host=\"a\",device=~\"eth*\"}", "--since", "1m"}, server.address());
  Lockstep({"history", "net_up{device=\"\"}", "--since", "1m"}, server.address());
  ASSERT_EQ(requests.size(), 2);
  EXPECT_EQ(requests[1].host(), "");
  EXPECT_EQ(requests[1].device(), "") << "the host's own series alone";
  EXPECT_EQ(requests[0].metric(), "net_up");
  EXPECT_EQ(requests[0].host(), "a");
  EXPECT_EQ(requests[0].device(), "*");
  EXPECT_EQ(requests[0].from_wall_ns(), kNow - 65 * kNanosPerSecond) << "at a multiple of ten seconds";
  EXPECT_EQ(requests[0].to_wall_ns(), kNow);
}

TEST(LeftOutTest, AListThatIsNotAllThereIsSaysSo) {
  FakeQueryServer::Answers answers = SomeAnswers();
  answers.ranks.set_left_out(4'096);
  const FakeQueryServer server(answers);
  const Result result = Lockstep({"ranks", "demo"}, server.address());
  EXPECT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_EQ(result.err, "lockstep: 4096 more ranks than one answer holds are left out\n");
}

TEST(HistoryCommandTest, ReadsPageAfterPageAndJoinsASeriesThatIsPartedBetweenThem) {
  FakeQueryServer::Answers answers;
  const auto page = [](int64_t seconds_ago, double value) {
    wire::GetHistoryResponse response;
    wire::Series& series = *response.add_series();
    series.set_metric("host_load1");
    series.set_host("node-17");
    series.add_wall_ns(kNow - seconds_ago * kNanosPerSecond);
    series.add_values(value);
    return response;
  };
  answers.status.set_now_wall_ns(kNow);
  answers.history = page(15, 1);
  answers.history.mutable_next()->set_host("node-17");
  answers.history.mutable_next()->set_wall_ns(5);
  answers.more_history[5] = page(5, 3);
  const FakeQueryServer server(answers);
  EXPECT_EQ(Lockstep({"history", "host_load1", "--since", "20s", "--step", "10s"}, server.address()).out,
            "HOST     DEVICE  STEPS  MIN  MEAN  MAX  LAST  CURVE\n"
            "node-17  -           2    1     2    3     3   ▁█\n");
}

TEST_F(CommandLineTest, HistoryErrorsAreUsage) {
  const Result query = Ask({"history", "host_cpu_busy_ratio{host=a}"});
  EXPECT_EQ(query.exit_code, ExitCode::kUsage);
  EXPECT_THAT(query.err, StartsWith("lockstep: query, position 26: expected a value in double quotes"));
  EXPECT_EQ(Ask({"history", "host_cpu_busy_ratio", "--rate"}).exit_code, ExitCode::kUsage);
  EXPECT_EQ(Ask({"history", "host_cpu_busy_ratio", "--since", "soon"}).exit_code, ExitCode::kUsage);
  EXPECT_EQ(Ask({"history", "host_cpu_busy_ratio", "--since", "10h", "--step", "1ms"}).exit_code, ExitCode::kUsage);
}

TEST(FollowTest, PrintsTransitionsAsJsonLinesUntilTheTimeIsOver) {
  FakeQueryServer::Answers answers;
  // The feed ends by --for on a simulated clock that this test moves with every poll.
  SimClock clock;
  int polls = 0;
  answers.change_incidents = [&](wire::ListIncidentsResponse& incidents) {
    if (++polls == 2) *incidents.add_incidents() = SlowRank(7, wire::Incident::STATE_OPEN);
    if (polls == 3) {
      wire::Incident* incident = incidents.mutable_incidents(0);
      incident->set_state(wire::Incident::STATE_RESOLVED);
      wire::Incident::Transition* resolved = incident->add_transitions();
      resolved->set_what("resolved");
      resolved->set_wall_ns(kNow);
      clock.Advance(kNanosPerSecond);
    }
  };
  const FakeQueryServer server(answers);
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunCommandLine({"incidents", "--follow", "--for", "1s", "-o", "json"},
                           {server.address(), out, err, 0, false, clock}),
            ExitCode::kOk);
  std::istringstream lines(out.str());
  std::string line;
  std::vector<std::string> told;
  while (std::getline(lines, line)) {
    const nlohmann::json news = nlohmann::json::parse(line);
    told.push_back(news["what"]);
    EXPECT_EQ(news["incident"]["id"], 7);
    EXPECT_EQ(news["incident"]["verdict"]["culprits"][0]["pid"], 4711);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"opened", "resolved"}));
}

TEST(FollowTest, SaysOnceThatTheCollectorWentAwayAndOnceThatItIsBack) {
  FakeQueryServer::Answers answers;
  SimClock clock;
  int polls = 0;
  answers.is_away = [&] { return ++polls >= 2 && polls <= 4; };
  answers.change_incidents = [&](wire::ListIncidentsResponse&) {
    if (polls == 6) clock.Advance(kNanosPerSecond);
  };
  const FakeQueryServer server(answers);
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunCommandLine({"incidents", "--follow", "--for", "1s"}, {server.address(), out, err, 0, false, clock}),
            ExitCode::kOk);
  EXPECT_EQ(out.str(), "");
  EXPECT_THAT(err.str(), testing::MatchesRegex("lockstep: waiting for the collector: [^\n]+\n"
                                               "lockstep: the collector is back\n"));
}

TEST_F(CommandLineTest, CaptureThenReplay) {
  const std::string file = directory_.path() / "demo.lockcap";
  const Result capture = Ask({"capture", "demo", "-o", file});
  EXPECT_EQ(capture.exit_code, ExitCode::kOk) << capture.err;
  EXPECT_THAT(capture.out, HasSubstr("demo.lockcap: 1 entries, "));
  int entries = 0;
  EXPECT_TRUE(ReadCaptureFile(file, [&](const wire::CaptureEntry& entry) {
                EXPECT_EQ(entry.reset().job(), "demo");
                ++entries;
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(entries, 1);
  const Result replay = Lockstep({"replay", file, "--verify"}, "");
  EXPECT_EQ(replay.exit_code, ExitCode::kOk) << replay.err;
  EXPECT_EQ(replay.out, "");
  EXPECT_THAT(replay.err, StartsWith("verify: identical: 0 conclusions equal, 0 different"));
}

TEST_F(CommandLineTest, CaptureOfAnUnknownJobLeavesNoFile) {
  const Result result = Ask({"capture", "other", "-o", directory_.path() / "x"});
  EXPECT_EQ(result.exit_code, ExitCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(CommandLineTest, ReplayFindsAConclusionThatTheDetectorDoesNotDraw) {
  const std::string file = directory_.path() / "forged.lockcap";
  auto writer = CaptureFileWriter::Create(file);
  ASSERT_TRUE(writer.ok());
  wire::CaptureEntry entry;
  entry.mutable_reset()->set_job("demo");
  entry.mutable_reset()->set_wall_ns(kNow);
  ASSERT_TRUE((*writer)->Append(entry).ok());
  entry.mutable_conclusion()->set_job("demo");
  entry.mutable_conclusion()->set_wall_ns(kNow + 1);
  entry.mutable_conclusion()->add_verdicts("{}");
  ASSERT_TRUE((*writer)->Append(entry).ok());
  ASSERT_TRUE((*writer)->Close().ok());
  EXPECT_EQ(Lockstep({"replay", file}, "").exit_code, ExitCode::kOk);
  const Result result = Lockstep({"replay", file, "--verify"}, "");
  EXPECT_EQ(result.exit_code, ExitCode::kFindings);
  EXPECT_THAT(result.err, AllOf(HasSubstr("NOT identical"), HasSubstr("first difference at 2026-01-02 03:04:05 UTC")));
  const Result json = Lockstep({"replay", file, "--verify", "-o", "json"}, "");
  EXPECT_EQ(json.exit_code, ExitCode::kFindings);
  EXPECT_EQ(nlohmann::json::parse(json.out)["conclusions_different"], 1);
}

TEST_F(CommandLineTest, ReplayOfABrokenFileIsOneLineWithAnOffset) {
  const Result result = Lockstep({"replay", directory_.Write("x", "no capture")}, "");
  EXPECT_EQ(result.exit_code, ExitCode::kInputUnreadable);
  EXPECT_THAT(result.err, AllOf(StartsWith("lockstep: "), HasSubstr("byte 0")));
  EXPECT_EQ(Lockstep({"replay", "/nonexistent"}, "").exit_code, ExitCode::kInputUnreadable);
}

TEST_F(CommandLineTest, CollectorFromFlagBeatsEnvironment) {
  EXPECT_EQ(Lockstep({"--collector", server_.address(), "status"}, "127.0.0.1:1").exit_code, ExitCode::kOk);
  EXPECT_EQ(Lockstep({"status", "--collector", server_.address()}, "").exit_code, ExitCode::kOk);
  EXPECT_EQ(Lockstep({"status"}, "nonsense").exit_code, ExitCode::kUsage);
}

TEST_F(CommandLineTest, NamesTheCommandThatDoesNotExist) {
  const auto result = Lockstep({"frobnicate"}, "127.0.0.1:1");
  EXPECT_EQ(result.exit_code, ExitCode::kUsage);
  EXPECT_EQ(result.err, "lockstep: unknown command 'frobnicate' (try --help)\n");
}

TEST_F(CommandLineTest, UnreachableCollectorIsOneLine) {
  std::string address;
  {
    const FakeQueryServer gone({});
    address = gone.address();
  }
  const Result result = Lockstep({"jobs"}, address);
  EXPECT_EQ(result.exit_code, ExitCode::kCollectorUnreachable);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("lockstep: cannot reach the collector at " + address));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

TEST(UsageTest, MistakesExitWithTwoAndSayWhatIsWrong) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"frobnicate"},
                                             {"jobs", "--frobnicate"},
                                             {"ranks"},
                                             {"explain", "seven"},
                                             {"jobs", "-o", "xml"},
                                             {"capture", "demo"},
                                             {"incidents", "burn"},
                                             {"incidents", "show"},
                                             {"incidents", "list", "7"},
                                             {"incidents", "--limit", "-1"},
                                             {"sim", "--kind", "leaf", "--world", "-3", "."}}) {
    const Result result = Lockstep(arguments, "");
    EXPECT_EQ(result.exit_code, ExitCode::kUsage) << ::testing::PrintToString(arguments);
    EXPECT_THAT(result.err, StartsWith("lockstep: ")) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "");
  }
}

TEST(UsageTest, HelpOfEveryVerbHasAnExample) {
  const Result all = Lockstep({"--help"}, "");
  EXPECT_EQ(all.exit_code, ExitCode::kOk);
  for (const char* verb : {"status", "jobs", "ranks", "incidents", "explain", "history", "capture", "replay"}) {
    EXPECT_THAT(all.out, HasSubstr(std::string("  ") + verb)) << verb;
    const Result help = Lockstep({verb, "--help"}, "");
    EXPECT_EQ(help.exit_code, ExitCode::kOk);
    EXPECT_THAT(help.out, HasSubstr(std::string("Example:\n  lockstep ") + verb)) << verb;
  }
  EXPECT_THAT(all.out, HasSubstr("Exit codes: 0 ok, 1 findings"));
}

TEST(UsageTest, Version) {
  const Result result = Lockstep({"--version"}, "");
  EXPECT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_THAT(result.out, StartsWith("lockstep 0."));
}

}  // namespace
}  // namespace lockstep
