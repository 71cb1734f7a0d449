// The whole collector over real loopback gRPC: a node that dies with its job is named, if others are still heard.

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "collector/testing/collector_fixture.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/test_agent.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

// An agent that tells of a job of its host alone.
class Node {
 public:
  Node(const std::string& host, const std::string& job, const std::shared_ptr<grpc::Channel>& channel)
      : job_(job), agent_(channel) {
    EXPECT_EQ(agent_.Hello(host, 7), 0);
  }

  void Report() {
    TestRanks ranks;
    ranks.job = job_;
    ranks.ranks = ranks.world_size = 2;
    ranks.first_step = static_cast<int64_t>(sequence_) * 10 + 1;
    ASSERT_TRUE(agent_.Send(ToMessage(MakeTestReport(++sequence_, ranks))));
    ASSERT_TRUE(agent_.AwaitAck(sequence_));
  }

 private:
  const std::string job_;
  TestAgent agent_;
  uint64_t sequence_ = 0;
};

class CollectorSilenceTest : public CollectorFixture {
 protected:
  // Whoever is given reports, two seconds go by, and both shards conclude.
  void PassTwoSeconds(const std::vector<Node*>& nodes) {
    for (Node* const node : nodes) node->Report();
    const uint64_t before = Evaluations();
    clock_.Forward(2 * kNanosPerSecond);
    while (Evaluations() < before + 4) std::this_thread::yield();
  }

  std::vector<wire::Incident> Incidents() {
    wire::ListIncidentsResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(query_->ListIncidents(&context, {}, &response).ok());
    return {response.incidents().begin(), response.incidents().end()};
  }
};

TEST_F(CollectorSilenceTest, ANodeThatDiesWithItsJobIsNamedBesideNodesThatGoOn) {
  Node other("node-1", "first", channel_);
  {
    Node lost("node-2", "second", channel_);
    for (int i = 0; i < 5; ++i) PassTwoSeconds({&other, &lost});
    EXPECT_TRUE(Incidents().empty());
  }
  for (int i = 0; i < 10; ++i) PassTwoSeconds({&other});
  EXPECT_TRUE(Incidents().empty()) << "its agent may be about to connect again";
  for (int i = 0; i < 200 && Incidents().empty(); ++i) PassTwoSeconds({&other});
  const std::vector<wire::Incident> incidents = Incidents();
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].job(), "second");
  EXPECT_EQ(incidents[0].state(), wire::Incident::STATE_OPEN);
  EXPECT_EQ(incidents[0].verdict().class_(), "machine_unreachable");
  ASSERT_EQ(incidents[0].verdict().culprits_size(), 1);
  EXPECT_EQ(incidents[0].verdict().culprits(0).host(), "node-2");
}

TEST_F(CollectorSilenceTest, ACollectorThatLosesEverybodyNamesNobody) {
  {
    Node first("node-1", "first", channel_);
    Node second("node-2", "second", channel_);
    for (int i = 0; i < 5; ++i) PassTwoSeconds({&first, &second});
  }
  for (int i = 0; i < 40; ++i) PassTwoSeconds({});
  EXPECT_TRUE(Incidents().empty());
}

}  // namespace
}  // namespace lockstep
