// Real agent and real collector, over loopback, with history on disk and a ring that this test writes as a recorder
// would. The collector is killed again and again, or the agent while the collector is away; nothing that was
// acknowledged, or written to the spool, may be missing, and nothing twice.

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "agent/recorder/ring_writer.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/temporary_directory.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kPatience = 30 * kNanosPerSecond;
constexpr char kJob[] = "integration";

// A child process that dies with this one.
class Child {
 public:
  explicit Child(std::vector<std::string> command) {
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
  }
  ~Child() { End(SIGKILL); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Sends `signal_number`, waits and returns the exit code; -1 if it was killed.
  int End(int signal_number) {
    if (pid_ <= 0) return code_;
    kill(pid_, signal_number);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code_;
  }

  int pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int code_ = -1;
};

bool Eventually(const std::function<bool()>& holds) {
  StopSignal never;
  const int64_t deadline = RealClock().MonotonicNanos() + kPatience;
  while (!holds()) {
    if (RealClock().MonotonicNanos() > deadline) return false;
    never.WaitFor(20 * kNanosPerMilli);
  }
  return true;
}

class AgentCollectorTest : public testing::Test {
 protected:
  static std::string Binary(const std::string& path) {
    return std::string(std::getenv("TEST_SRCDIR")) + "/lockstep/" + path;
  }

  std::string Path(const std::string& name) const { return (directory_.path() / name).string(); }

  // On the port of the collector before, if there was one.
  void StartCollector() {
    std::filesystem::remove(Path("ports.json"));
    collector_ = std::make_unique<Child>(std::vector<std::string>{
        Binary("collector/lockstep-collector"), "--listen-address=127.0.0.1:" + std::to_string(port_),
        "--http-listen-address=127.0.0.1:0", "--data-directory=" + Path("history"),
        "--ports-file=" + Path("ports.json")});
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(Path("ports.json")); }));
    std::stringstream text;
    text << std::ifstream(Path("ports.json")).rdbuf();
    std::smatch match;
    const std::string ports = text.str();
    ASSERT_TRUE(std::regex_search(ports, match, std::regex("\"grpc\":([0-9]+)"))) << ports;
    port_ = std::stoi(match[1]);
    query_ = wire::Query::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials()));
  }

  // Returns when the agent has started, which is the moment from which on it counts.
  void StartAgent() {
    std::filesystem::remove(Path("agent.json"));
    std::vector<std::string> command = {Binary("agent/lockstep-agent"),
                                        "--collector-address=127.0.0.1:" + std::to_string(port_),
                                        "--ring-directory=" + Path("rings"),
                                        "--listen-address=127.0.0.1:0",
                                        "--host-name=node-1",
                                        "--tick=200ms",
                                        "--ports-file=" + Path("agent.json")};
    command.insert(command.end(), agent_flags_.begin(), agent_flags_.end());
    agent_ = std::make_unique<Child>(std::move(command));
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(Path("agent.json")); }));
  }

  void OpenRing() {
    std::filesystem::create_directory(Path("rings"));
    const std::string rings = Path("rings");
    ASSERT_TRUE(writer_.Open(
        {.directory = rings.c_str(), .kind = ring::RecorderKind::kMpi, .rank = 0, .world_size = 1, .job = kJob}));
    world_ = writer_.FindOrAddCommunicator({.id = 1, .size = 1, .rank = 0, .name = "world"}, Now());
  }

  void RecordStep() {
    const ring::OperationHandle handle = writer_.Begin(
        {.kind = ring::OperationKind::kAllReduce, .started = true, .communicator = world_, .bytes = 4096}, Now());
    writer_.Finish(handle, {}, Now());
  }

  static int64_t Now() { return RealClock().MonotonicNanos(); }

  // Newest report that the collector has accepted; 0 if it does not answer.
  uint64_t LastSequence() {
    grpc::ClientContext context;
    wire::GetStatusResponse status;
    if (!query_->GetStatus(&context, {}, &status).ok() || status.agents_size() == 0) return 0;
    return status.agents(0).last_sequence();
  }

  // What history has of the job and of the time before its first report, by incarnation.
  std::map<uint64_t, std::vector<uint64_t>> StoredSequences() {
    operations_ = 0;
    dropped_ = 0;
    made_ns_.clear();
    finished_.clear();
    std::map<uint64_t, std::vector<uint64_t>> sequences;
    for (const char* job : {"", kJob}) {
      grpc::ClientContext context;
      wire::CaptureRequest request;
      request.set_job(job);
      const auto reader = query_->Capture(&context, request);
      wire::CaptureEntry entry;
      while (reader->Read(&entry)) {
        if (!entry.has_input()) continue;
        operations_ += CountOperations(entry.input().report());
        for (const wire::Dropped& dropped : entry.input().report().dropped()) dropped_ += dropped.count();
        sequences[entry.input().incarnation()].push_back(entry.input().report().sequence());
        made_ns_.push_back(entry.input().received_wall_ns() - static_cast<int64_t>(entry.input().report().waited_ns()) -
                           entry.input().report().wall_ns());
        NoteOperations(entry.input().report());
      }
      reader->Finish();
    }
    return sequences;
  }

  void NoteOperations(const wire::AgentReport& report) {
    for (const wire::ProcessReport& process : report.processes()) {
      for (const wire::CommunicatorReport& communicator : process.communicators()) {
        int64_t sequence = 0;
        for (const int64_t delta : communicator.operations().sequence_deltas()) finished_.push_back(sequence += delta);
      }
    }
  }

  static int CountOperations(const wire::AgentReport& report) {
    int count = 0;
    for (const wire::ProcessReport& process : report.processes()) {
      for (const wire::CommunicatorReport& communicator : process.communicators()) {
        count += communicator.operations().kinds_size();
      }
    }
    return count;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Child> collector_;
  std::unique_ptr<Child> agent_;
  std::unique_ptr<wire::Query::Stub> query_;
  ring::RingWriter writer_;
  uint32_t world_ = 0;
  int port_ = 0;
  std::vector<std::string> agent_flags_;
  std::vector<int64_t> made_ns_;   // likewise: by how much the time at which a report was made is told wrong
  std::vector<int64_t> finished_;  // likewise: numbers of operations, in the order of history
  int operations_ = 0;             // that StoredSequences has seen
  uint64_t dropped_ = 0;           // likewise
};

TEST_F(AgentCollectorTest, KillingTheCollectorLosesNothingAndRepeatsNothing) {
  StartCollector();
  StartAgent();
  OpenRing();  // after the agent's start: everything in it is the business of this agent
  uint64_t seen = 0;
  int recorded = 0;
  for (int life = 0; life < 4; ++life) {
    const uint64_t goal = seen + 8;
    ASSERT_TRUE(Eventually([&] {
      RecordStep();
      ++recorded;
      seen = std::max(seen, LastSequence());
      return seen >= goal;
    })) << "life "
        << life << ", seen " << seen;
    collector_->End(SIGKILL);
    StartCollector();
  }
  // What was recorded last is in the second report from now at the latest.
  seen = std::max(seen, LastSequence());
  ASSERT_TRUE(Eventually([&] { return LastSequence() >= seen + 2; }));
  EXPECT_EQ(agent_->End(SIGTERM), 0);  // waits for its last acknowledgement
  std::map<uint64_t, std::vector<uint64_t>> sequences = StoredSequences();
  ASSERT_EQ(sequences.size(), 1u);
  std::vector<uint64_t>& stored = sequences.begin()->second;
  std::sort(stored.begin(), stored.end());
  ASSERT_GT(stored.size(), seen);
  for (size_t i = 0; i < stored.size(); ++i) ASSERT_EQ(stored[i], i + 1);
  EXPECT_EQ(operations_, recorded);
  EXPECT_EQ(dropped_, 0u);
  EXPECT_EQ(collector_->End(SIGTERM), 0);
}

TEST_F(AgentCollectorTest, AnAgentThatIsKilledAndStartedAgainSendsNothingTwiceAndCountsNoLoss) {
  constexpr int kSteps = 25;
  StartCollector();
  StartAgent();
  OpenRing();
  // Fewer than the ring holds, so that the second agent finds all that the first has sent.
  for (int i = 0; i < kSteps; ++i) RecordStep();
  ASSERT_TRUE(Eventually([&] { return StoredSequences(), operations_ == kSteps; })) << operations_;
  agent_->End(SIGKILL);
  StartAgent();
  for (int i = 0; i < kSteps; ++i) RecordStep();
  ASSERT_TRUE(Eventually([&] { return StoredSequences(), operations_ >= 2 * kSteps; })) << operations_;
  const uint64_t seen = LastSequence();
  ASSERT_TRUE(Eventually([&] { return LastSequence() >= seen + 2; }));
  EXPECT_EQ(StoredSequences().size(), 2u);
  EXPECT_EQ(operations_, 2 * kSteps);
  EXPECT_EQ(dropped_, 0u);
}

// Every report that a killed agent had made arrives once, in the order in which they were made, and so does every
// operation of the ring, though five agents have read in it.
TEST_F(AgentCollectorTest, AgentsThatAreKilledWhileTheCollectorIsAwayLoseNothingAndRepeatNothing) {
  constexpr int kAgents = 5;
  agent_flags_ = {"--spool-directory=" + Path("spool")};
  StartCollector();
  StartAgent();
  OpenRing();
  int recorded = 0;
  const auto record = [&](int64_t nanos) {
    StopSignal never;
    const int64_t until_ns = Now() + nanos;
    for (; Now() < until_ns; ++recorded) {
      RecordStep();
      never.WaitFor(3 * kNanosPerMilli);
    }
  };
  ASSERT_TRUE(Eventually([&] {
    record(50 * kNanosPerMilli);
    return LastSequence() >= 5;
  }));
  collector_->End(SIGKILL);
  for (int agent = 1; agent < kAgents; ++agent) {
    record(1'500 * kNanosPerMilli);
    agent_->End(SIGKILL);
    record(300 * kNanosPerMilli);
    StartAgent();
  }
  StartCollector();
  ASSERT_TRUE(Eventually([&] {
    record(50 * kNanosPerMilli);
    return StoredSequences().size() >= kAgents;
  }));
  ASSERT_TRUE(Eventually([&] { return StoredSequences(), operations_ >= recorded; })) << operations_;
  const std::map<uint64_t, std::vector<uint64_t>> sequences = StoredSequences();
  EXPECT_EQ(sequences.size(), size_t{kAgents});
  int of_several_ticks = 0;
  for (const auto& [incarnation, stored] : sequences) {
    std::vector<uint64_t> sorted = stored;
    std::sort(sorted.begin(), sorted.end());
    of_several_ticks += sorted.size() >= 4 ? 1 : 0;
    for (size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i + 1) << "incarnation " << incarnation;
  }
  EXPECT_GE(of_several_ticks, kAgents - 1) << "the last one may have begun just now";
  ASSERT_EQ(finished_.size(), static_cast<size_t>(recorded));
  for (size_t i = 0; i < finished_.size(); ++i) ASSERT_EQ(finished_[i], static_cast<int64_t>(i) + 1);
  EXPECT_EQ(dropped_, 0u);
  // A report is made some milliseconds before it waits.
  for (const int64_t wrong_ns : made_ns_) {
    ASSERT_GE(wrong_ns, -kNanosPerSecond);
    ASSERT_LE(wrong_ns, 2 * kNanosPerSecond);
  }
}

TEST_F(AgentCollectorTest, ASecondCollectorOnTheSamePortOrDirectoryLeavesWithItsOwnExitCode) {
  StartCollector();
  Child same_port({Binary("collector/lockstep-collector"), "--listen-address=127.0.0.1:" + std::to_string(port_),
                   "--http-listen-address=127.0.0.1:0", "--data-directory=" + Path("other")});
  EXPECT_EQ(same_port.End(0), 4);
  EXPECT_FALSE(std::filesystem::exists(Path("other")));
  Child same_directory({Binary("collector/lockstep-collector"), "--listen-address=127.0.0.1:0",
                        "--http-listen-address=127.0.0.1:0", "--data-directory=" + Path("history")});
  EXPECT_EQ(same_directory.End(0), 5);
}

}  // namespace
}  // namespace lockstep
