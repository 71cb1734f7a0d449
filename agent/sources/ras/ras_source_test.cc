#include "agent/sources/ras/ras_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agent/source.h"
#include "agent/sources/ras/testing/fake_ras_server.h"
#include "agent/sources/ras/testing/ras_text.h"
#include "agent/testing/report_view.h"
#include "base/metric_catalog.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

constexpr int64_t kStart = 1'000 * kNanosPerSecond;

std::string JobWithAMissingRank(const std::string& host_of_rank_0) {
  return RasText({{.id = 21,
                   .members = {{.rank = 0, .host = host_of_rank_0, .all_reduces = 7}, {.rank = 1, .all_reduces = 6}},
                   .missing = {{.rank = 2, .pid = 99, .dead = true}}}});
}

// One look at the clock of the source, which the test moves.
class Asker {
 public:
  explicit Asker(uint16_t port)
      : source_({"127.0.0.1", port}, Random(1), [] {
          return std::vector<std::string>{"127.0.0.1", "10.0.0.1"};
        }) {}

  absl::Status TickAt(int64_t now_ns) {
    report_ = wire::AgentReport();
    return status_ = source_.Collect(Tick{now_ns}, report_);
  }

  // Ticks at one moment until no question is out. Time stands still: however slow this machine is, nobody loses
  // patience.
  absl::Status Conclude(int64_t now_ns) {
    while (source_.is_asking()) TickAt(now_ns).IgnoreError();
    return status_;
  }

  absl::Status TickAndConclude(int64_t now_ns) {
    TickAt(now_ns).IgnoreError();
    return Conclude(now_ns);
  }

  // Ticks from kStart until the first question, which is spread at random, and returns its time. The answer may have
  // come with it.
  int64_t FirstQuestion() {
    int64_t now_ns = kStart;
    while (TickAt(now_ns).IgnoreError(), source_.questions() == 0) now_ns += kNanosPerSecond;
    return now_ns;
  }

  const wire::AgentReport& report() const { return report_; }

 private:
  RasSource source_;
  wire::AgentReport report_;
  absl::Status status_;
};

TEST(RasSourceTest, BringsWhatTheServiceKnows) {
  FakeRasServer server(JobWithAMissingRank("10.0.0.1"));
  Asker asker(server.port());
  EXPECT_TRUE(IsNoData(asker.TickAt(kStart))) << "found, not asked yet";
  const int64_t asked_ns = asker.FirstQuestion();
  EXPECT_LE(asked_ns, kStart + RasSource::kSpreadNs + kNanosPerSecond);
  EXPECT_OK(asker.Conclude(asked_ns));
  EXPECT_EQ(asker.report().nccl_ras().communicators(), 1U);
  EXPECT_EQ(asker.report().nccl_ras().asked_monotonic_ns(), asked_ns);
  EXPECT_EQ(asker.report().nccl_ras().findings(0).missing(0).pid(), 99);
  EXPECT_EQ(ValueOf(asker.report(), "", Metric::kNcclRasMissingRanks), 1);
  EXPECT_EQ(ValueOf(asker.report(), "", Metric::kNcclRasDeadRanks), 1);
  EXPECT_EQ(ValueOf(asker.report(), "", Metric::kNcclRasUnequalCommunicators), 1);
  EXPECT_EQ(server.TakeReceived(), "CLIENT PROTOCOL 2\nTIMEOUT 5\nSET FORMAT json\nSTATUS\n");
  EXPECT_OK(asker.TickAt(asked_ns + kNanosPerSecond)) << "between two answers";
  EXPECT_FALSE(asker.report().has_nccl_ras());
}

TEST(RasSourceTest, OnlyTheMachineOfRankZeroAsksOften) {
  FakeRasServer server(JobWithAMissingRank("10.0.0.1"));
  Asker leader(server.port());
  int64_t now_ns = leader.FirstQuestion();
  EXPECT_OK(leader.Conclude(now_ns));
  EXPECT_OK(leader.TickAndConclude(now_ns + RasSource::kLeaderNs - 1));
  EXPECT_FALSE(leader.report().has_nccl_ras());
  EXPECT_OK(leader.TickAndConclude(now_ns + RasSource::kLeaderNs));
  EXPECT_TRUE(leader.report().has_nccl_ras());

  server.Answer(JobWithAMissingRank("10.0.0.9"));
  Asker other(server.port());
  now_ns = other.FirstQuestion();
  EXPECT_OK(other.Conclude(now_ns));
  EXPECT_OK(other.TickAndConclude(now_ns + RasSource::kOthersNs - 1));
  EXPECT_FALSE(other.report().has_nccl_ras());
  EXPECT_OK(other.TickAndConclude(now_ns + RasSource::kOthersNs));
  EXPECT_TRUE(other.report().has_nccl_ras());
}

TEST(RasSourceTest, ReadsALargeAnswerInPieces) {
  RasTextCommunicator large = {.id = 1};
  for (int rank = 0; rank < 5'000; ++rank)
    large.members.push_back({.rank = rank, .all_reduces = rank == 4'000 ? 1U : 2U});
  FakeRasServer server(RasText({large}));
  Asker asker(server.port());
  EXPECT_OK(asker.Conclude(asker.FirstQuestion()));
  EXPECT_EQ(asker.report().nccl_ras().findings(0).mismatches(0).first_behind(0), 4'000);
}

TEST(RasSourceTest, WhereNobodyListensThereIsNoData) {
  uint16_t port = 0;
  {
    FakeRasServer gone("");
    port = gone.port();
  }
  Asker asker(port);
  for (int64_t now_ns = kStart; now_ns < kStart + 30 * kNanosPerSecond; now_ns += kNanosPerSecond) {
    EXPECT_TRUE(IsNoData(asker.TickAt(now_ns)));
    EXPECT_EQ(asker.report().metrics_size(), 0);
  }
}

TEST(RasSourceTest, AServiceWithoutJsonIsNoFault) {
  FakeRasServer server("NCCL version 2.27.5\n", FakeRasServer::Manner::kNoJson);
  Asker asker(server.port());
  const absl::Status status = asker.Conclude(asker.FirstQuestion());
  EXPECT_TRUE(IsNoData(status)) << status;
}

TEST(RasSourceTest, NonsenseAndEarlyEndsAreFailures) {
  for (const FakeRasServer::Manner manner : {FakeRasServer::Manner::kStranger, FakeRasServer::Manner::kHangsUp}) {
    FakeRasServer server("{}", manner);
    Asker asker(server.port());
    const absl::Status status = asker.Conclude(asker.FirstQuestion());
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(IsNoData(status)) << status;
  }
  FakeRasServer server("{\"communicators\": ");
  Asker asker(server.port());
  const int64_t now_ns = asker.FirstQuestion();
  EXPECT_EQ(asker.Conclude(now_ns).code(), absl::StatusCode::kInvalidArgument);
  server.Answer(JobWithAMissingRank("10.0.0.1"));
  EXPECT_OK(asker.TickAndConclude(now_ns + RasSource::kAfterErrorNs)) << "asks again later";
}

TEST(RasSourceTest, LosesPatienceWithASilentService) {
  FakeRasServer server("", FakeRasServer::Manner::kSilent);
  Asker asker(server.port());
  const int64_t now_ns = asker.FirstQuestion();
  EXPECT_TRUE(IsNoData(asker.TickAt(now_ns + RasSource::kPatienceNs - 1)));
  EXPECT_EQ(asker.TickAt(now_ns + RasSource::kPatienceNs).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(RasAddressTest, IsLocalhostOrAnAddressWithAPort) {
  for (const char* text : {"localhost:28028", "127.0.0.1:1", "[::1]:65535"}) EXPECT_OK(ParseRasAddress(text)) << text;
  EXPECT_EQ(ParseRasAddress("[::1]:9")->host, "::1");
  for (const char* text :
       {"", "localhost", "localhost:", "localhost:0", "localhost:65536", "node-17:28028", "[::1:9"}) {
    EXPECT_EQ(ParseRasAddress(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(InterfaceAddressesTest, KnowTheLoopback) {
  const std::vector<std::string> addresses = InterfaceAddresses();
  EXPECT_NE(std::find(addresses.begin(), addresses.end(), "127.0.0.1"), addresses.end());
}

}  // namespace
}  // namespace lockstep
