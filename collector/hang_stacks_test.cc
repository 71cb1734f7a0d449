#include "collector/hang_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "collector/store/testing/memory_store.h"
#include "proto/ingest.pb.h"
#include "proto/stacks.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

wire::Incident Hang(const std::string& verdict_class, const std::vector<int>& culprits) {
  wire::Incident incident;
  incident.set_id(7);
  incident.set_job("train");
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.mutable_verdict()->set_class_(verdict_class);
  for (const int rank : culprits) incident.mutable_verdict()->add_culprits()->set_rank(rank);
  return incident;
}

// So many ranks on each host, from rank 0.
std::vector<wire::Rank> Ranks(int count, int of_host = 2) {
  std::vector<wire::Rank> ranks(count);
  for (int i = 0; i < count; ++i) {
    ranks[i].set_rank(i);
    ranks[i].set_host("node-" + std::to_string(i / of_host));
    ranks[i].set_pid(100 + i);
  }
  return ranks;
}

std::vector<int> RanksOf(const std::vector<DemandTarget>& targets) {
  std::vector<int> ranks;
  for (const DemandTarget& target : targets) ranks.push_back(target.rank);
  return ranks;
}

TEST(StackTargetsTest, CulpritsAndTwoVictimsOfOtherHosts) {
  EXPECT_THAT(RanksOf(StackTargets(Hang("hang_not_entered", {1}), Ranks(8))), ElementsAre(1, 2, 3));
  EXPECT_THAT(RanksOf(StackTargets(Hang("deadlock", {0, 1, 2, 3, 4, 5}), Ranks(8))), ElementsAre(0, 1, 2, 3, 6, 7));
  EXPECT_THAT(RanksOf(StackTargets(Hang("hang_in_communication", {1}), Ranks(2))), ElementsAre(1, 0));
  EXPECT_THAT(RanksOf(StackTargets(Hang("collective_mismatch", {1}), Ranks(2))), ElementsAre(1, 0));
  wire::Incident host = Hang("hang_not_entered", {-1});
  host.mutable_verdict()->mutable_culprits(0)->set_host("node-1");
  EXPECT_THAT(RanksOf(StackTargets(host, Ranks(6))), ElementsAre(2, 3, 0, 1));
}

TEST(StackTargetsTest, NobodyOfWhatIsNoHangAndNobodyWhoIsGone) {
  for (const char* const other : {"compute_slow", "process_dead", "machine_unreachable", "gpu_fault"}) {
    EXPECT_THAT(StackTargets(Hang(other, {1}), Ranks(8)), IsEmpty()) << other;
  }
  wire::Incident suspected = Hang("hang_not_entered", {1});
  suspected.set_suspected(true);
  EXPECT_THAT(StackTargets(suspected, Ranks(8)), IsEmpty());
  std::vector<wire::Rank> ranks = Ranks(4);
  ranks[1].set_process_state("gone");
  EXPECT_THAT(RanksOf(StackTargets(Hang("hang_not_entered", {1}), ranks)), ElementsAre(0, 2));
}

class HangStacksTest : public ::testing::Test {
 protected:
  class Next final : public AlertSink {
   public:
    void Announce(const IncidentEvent& event) override { ++events; }
    int events = 0;
  };

  std::unique_ptr<HangStacks> Make(bool enabled) {
    return std::make_unique<HangStacks>(HangStacks::Parts{next_, book_, store_, worker_, metrics_, clock_,
                                                          [this] { return std::vector{snapshot_}; }, enabled});
  }

  void Answer(const wire::Command& command) {
    wire::StackDump dump;
    dump.set_pid(command.demand().pid());
    dump.set_host("what the agent says");
    wire::DemandAnswer answer;
    answer.set_id(command.id());
    answer.set_parts(1);
    answer.set_outcome(wire::DemandAnswer::OUTCOME_DONE);
    answer.set_payload(command.demand().rank() == 2 ? "no message\xff" : dump.SerializeAsString());
    book_.OnAnswer(host_of_id_.at(command.id()), answer);
  }

  void SetRanks(const std::vector<wire::Rank>& ranks) {
    auto snapshot = std::make_shared<JobsSnapshot>();
    snapshot->ranks["train"] = std::make_shared<const std::vector<wire::Rank>>(ranks);
    snapshot_ = snapshot;
  }

  std::vector<int> SentRanks() const {
    std::vector<int> ranks;
    for (const wire::Command& command : sent_) ranks.push_back(command.demand().rank());
    return ranks;
  }

  void SetUp() override { SetRanks(Ranks(4)); }

  SimClock clock_;
  MemoryStore store_;
  CollectorMetrics metrics_{"test"};
  Next next_;
  std::vector<wire::Command> sent_;
  std::map<uint64_t, std::string> host_of_id_;  // of demands that were sent
  bool connected_ = true;
  int refused_ = 0;  // demands, since nobody was connected
  DemandBook book_{[this](const std::string& host, const wire::Command& command) {
                     if (!connected_) ++refused_;
                     if (!connected_) return false;
                     host_of_id_[command.id()] = host;
                     sent_.push_back(command);
                     return true;
                   },
                   [](const std::string& /*host*/, absl::string_view /*kind*/) { return true; }, clock_,
                   metrics_.demands};
  std::shared_ptr<const JobsSnapshot> snapshot_;
  QueryWorker worker_;
};

TEST_F(HangStacksTest, WhatAgentsAnswerIsKeptWithTheIncident) {
  const auto stacks = Make(/*enabled=*/true);
  stacks->Announce({IncidentEvent::Kind::kOpened, Hang("hang_not_entered", {1})});
  stacks->Announce({IncidentEvent::Kind::kUpdated, Hang("hang_not_entered", {1})});
  EXPECT_EQ(next_.events, 2);
  ASSERT_THAT(sent_, SizeIs(3)) << "once, when it opens";
  for (const wire::Command& command : sent_) {
    EXPECT_EQ(command.demand().kind(), "stacks");
    Answer(command);
  }
  worker_.Close();
  const auto kept = store_.LoadStacks(7);
  ASSERT_OK(kept);
  ASSERT_THAT(*kept, SizeIs(2)) << "what is no dump is not kept";
  EXPECT_EQ((*kept)[0].rank(), 1);
  EXPECT_EQ((*kept)[0].host(), "node-0");
  EXPECT_EQ((*kept)[0].job(), "train");
  EXPECT_EQ((*kept)[0].pid(), 101);
  EXPECT_GT((*kept)[0].wall_ns(), 0);
  EXPECT_EQ((*kept)[1].rank(), 3);
}

TEST_F(HangStacksTest, AnIncidentWhoseClassChangesToAHangHasThemTakenThen) {
  const auto stacks = Make(/*enabled=*/true);
  wire::Incident incident = Hang("process_dead", {1});
  stacks->Announce({IncidentEvent::Kind::kOpened, incident});
  EXPECT_THAT(sent_, IsEmpty());
  incident.mutable_verdict()->set_class_("hang_not_entered");
  stacks->Announce({IncidentEvent::Kind::kUpdated, incident});
  EXPECT_THAT(SentRanks(), ElementsAre(1, 2, 3));
  stacks->Announce({IncidentEvent::Kind::kUpdated, incident});
  EXPECT_THAT(sent_, SizeIs(3)) << "once";
}

TEST_F(HangStacksTest, ASuspicionThatBecomesCertainHasThemTakenThen) {
  const auto stacks = Make(/*enabled=*/true);
  wire::Incident incident = Hang("deadlock", {1});
  incident.set_suspected(true);
  stacks->Announce({IncidentEvent::Kind::kOpened, incident});
  EXPECT_THAT(sent_, IsEmpty());
  incident.set_suspected(false);
  stacks->Announce({IncidentEvent::Kind::kUpdated, incident});
  EXPECT_THAT(sent_, SizeIs(3));
}

TEST_F(HangStacksTest, OfAHostThatIsNarrowedToARankThatRankIsTakenAsWell) {
  SetRanks(Ranks(16, /*of_host=*/8));
  const auto stacks = Make(/*enabled=*/true);
  wire::Incident incident = Hang("hang_not_entered", {-1});
  incident.mutable_verdict()->mutable_culprits(0)->set_host("node-0");
  stacks->Announce({IncidentEvent::Kind::kOpened, incident});
  EXPECT_THAT(SentRanks(), ElementsAre(0, 1, 2, 3, 8, 9));
  incident.mutable_verdict()->mutable_culprits(0)->set_rank(6);
  stacks->Announce({IncidentEvent::Kind::kUpdated, incident});
  stacks->Announce({IncidentEvent::Kind::kUpdated, incident});
  EXPECT_THAT(SentRanks(), ElementsAre(0, 1, 2, 3, 8, 9, 6)) << "victims are those of the beginning";
  for (const wire::Command& command : sent_) Answer(command);
  worker_.Close();
  ASSERT_OK(store_.LoadStacks(7));
  EXPECT_EQ(store_.LoadStacks(7)->front().rank(), 6) << "the culprit comes first";
}

TEST_F(HangStacksTest, AnAgentThatRefusesIsAskedAgainAndNotForEver) {
  connected_ = false;
  const auto stacks = Make(/*enabled=*/true);
  stacks->Announce({IncidentEvent::Kind::kOpened, Hang("hang_not_entered", {1})});
  stacks->AskAgain();
  EXPECT_EQ(refused_, 3) << "not at once";
  clock_.Advance(FindDemandKind("stacks")->patience_ns);
  stacks->AskAgain();
  EXPECT_EQ(refused_, 6);
  connected_ = true;
  clock_.Advance(FindDemandKind("stacks")->patience_ns);
  stacks->AskAgain();
  EXPECT_THAT(SentRanks(), ElementsAre(1, 2, 3));
  for (const wire::Command& command : sent_) Answer(command);

  connected_ = false;
  wire::Incident other = Hang("hang_not_entered", {0});
  other.set_id(8);
  refused_ = 0;
  stacks->Announce({IncidentEvent::Kind::kOpened, other});
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(FindDemandKind("stacks")->patience_ns);
    stacks->AskAgain();
  }
  EXPECT_EQ(refused_, 3 * kMostStackAsks);
}

TEST_F(HangStacksTest, WhatIsResolvedIsNotAskedAgainAndWhatReopensIs) {
  connected_ = false;
  const auto stacks = Make(/*enabled=*/true);
  wire::Incident incident = Hang("hang_not_entered", {1});
  stacks->Announce({IncidentEvent::Kind::kOpened, incident});
  connected_ = true;
  incident.set_state(wire::Incident::STATE_RESOLVED);
  stacks->Announce({IncidentEvent::Kind::kResolved, incident});
  clock_.Advance(FindDemandKind("stacks")->patience_ns);
  stacks->AskAgain();
  EXPECT_THAT(sent_, IsEmpty());
  incident.set_state(wire::Incident::STATE_OPEN);
  stacks->Announce({IncidentEvent::Kind::kReopened, incident});
  EXPECT_THAT(sent_, SizeIs(3));
}

TEST_F(HangStacksTest, ARestartIsNoHang) {
  const auto stacks = Make(/*enabled=*/true);
  stacks->Restore({Hang("hang_not_entered", {1})});
  stacks->Announce({IncidentEvent::Kind::kUpdated, Hang("hang_not_entered", {1})});
  stacks->Announce({IncidentEvent::Kind::kUpdated, Hang("hang_not_entered", {2})});
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(HangStacksTest, OfMoreHangsThanThereIsRoomForTheOldestIsForgotten) {
  connected_ = false;
  const auto stacks = Make(/*enabled=*/true);
  for (uint64_t id = 1; id <= kMaxStackIncidents + 1; ++id) {
    wire::Incident incident = Hang("hang_not_entered", {1});
    incident.set_id(id);
    stacks->Announce({IncidentEvent::Kind::kOpened, incident});
  }
  refused_ = 0;
  clock_.Advance(FindDemandKind("stacks")->patience_ns);
  stacks->AskAgain();
  EXPECT_EQ(refused_, static_cast<int>(3 * kMaxStackIncidents));
}

TEST_F(HangStacksTest, OneSettingTurnsItOff) {
  Make(/*enabled=*/false)->Announce({IncidentEvent::Kind::kOpened, Hang("hang_not_entered", {1})});
  EXPECT_EQ(next_.events, 1);
  EXPECT_THAT(sent_, IsEmpty());
}

}  // namespace
}  // namespace lockstep
