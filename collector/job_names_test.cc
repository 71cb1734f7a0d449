#include "collector/job_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collector/sent_job_names.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kA[] = "nccl-000000000000000a";
constexpr char kB[] = "nccl-000000000000000b";

// A rank of a job of four, on a host of its own, of the user 1000.
wire::ProcessReport Rank(const std::string& job, std::initializer_list<uint64_t> communicators, int32_t size = 2) {
  wire::ProcessReport process;
  process.set_job(job);
  process.set_world_size(4);
  process.set_pid(7);
  process.set_uid(1000);
  process.set_recorder(wire::RECORDER_KIND_NCCL_PROFILER);
  for (const uint64_t id : communicators) {
    wire::CommunicatorReport& communicator = *process.add_communicators();
    communicator.set_id(id);
    communicator.set_size(size);
  }
  return process;
}

class JobNamesTest : public testing::Test {
 protected:
  // The job of a process that `host` reports.
  std::string Settle(const std::string& host, const wire::ProcessReport& process) {
    wire::AgentReport report;
    *report.add_processes() = process;
    for (const JobNames::United& united : names_.Settle(host, now_ns_, report)) {
      united_.push_back(united.part + " of " + united.whole);
    }
    return report.processes(0).job();
  }

  JobNames names_;
  int64_t now_ns_ = kNanosPerSecond;
  std::vector<std::string> united_;
};

TEST_F(JobNamesTest, OneJobOfManyNodesIsOneWhateverAgentsAndRecordersCallIt) {
  wire::ProcessReport of_old_agent = Rank("", {10}, 4);
  of_old_agent.clear_uid();
  EXPECT_EQ(Settle("node-0", Rank(kA, {10}, 4)), kA);
  EXPECT_EQ(Settle("node-1", Rank("k8s-team-a/" + std::string(kA), {10}, 4)), kA);
  EXPECT_EQ(Settle("node-2", of_old_agent), kA);
  EXPECT_EQ(Settle("node-3", Rank("torch-none", {10}, 4)), kA);
  EXPECT_THAT(united_, IsEmpty());
}

TEST_F(JobNamesTest, ANamelessProcessKeepsItsJobWhenItsCommunicatorIsGone) {
  EXPECT_EQ(Settle("node-0", Rank("", {10}, 4)), kA);
  EXPECT_EQ(Settle("node-0", Rank("", {})), kA);
  EXPECT_EQ(Settle("node-1", Rank("", {})), "") << "another one, of which nothing is known";
}

TEST_F(JobNamesTest, WithoutACommunicatorOfAllRanksANamelessProcessWaitsAMinute) {
  EXPECT_EQ(Settle("node-0", Rank("torch-none", {10})), "torch-none");
  now_ns_ += JobNames::kSettledNanos;
  EXPECT_EQ(Settle("node-0", Rank("torch-none", {10})), kA);
}

// Four ranks, of which two at a time share a communicator: rows 10 and 11, columns 12 and 13.
TEST_F(JobNamesTest, GroupsWithoutAWorldAreOneJobIfTheyAreJoined) {
  EXPECT_EQ(Settle("node-0", Rank(kA, {10, 12})), kA);
  EXPECT_EQ(Settle("node-3", Rank(kB, {11, 13})), kB) << "nothing joins them so far";
  EXPECT_EQ(Settle("node-1", Rank(kA, {10, 13})), kA);
  EXPECT_THAT(united_, ElementsAre(std::string(kB) + " of " + kA));
  EXPECT_EQ(Settle("node-2", Rank(kB, {11, 12})), kA);
  EXPECT_EQ(Settle("node-3", Rank(kB, {11, 13})), kA);
  EXPECT_EQ(united_.size(), 1u);
}

TEST_F(JobNamesTest, TheNamespaceOfItsPodsIsPartOfTheNameOfANamelessJob) {
  wire::ProcessReport in_pod = Rank(kA, {10}, 4);
  in_pod.set_pod("team-a/p-0");
  EXPECT_EQ(Settle("node-0", in_pod), "k8s-team-a/" + std::string(kA));
  EXPECT_EQ(Settle("node-1", Rank(kA, {10}, 4)), "k8s-team-a/" + std::string(kA)) << "its agent knows no pods";
  in_pod.set_pod("team-b/p-0");
  EXPECT_EQ(Settle("node-2", in_pod), "k8s-team-b/" + std::string(kA)) << "whoever claims the same communicator";
}

TEST_F(JobNamesTest, AMeetingPlaceOfSeveralNamesIsOneJob) {
  EXPECT_EQ(Settle("node-0", Rank("torch-node-0:29500", {})), "torch-node-0:29500");
  EXPECT_EQ(Settle("node-1", Rank("torch-10.0.0.1:29500", {})), "torch-10.0.0.1:29500");
  EXPECT_EQ(Settle("node-0", Rank("torch-node-0:29500", {10}, 4)), "torch-node-0:29500");
  EXPECT_EQ(Settle("node-1", Rank("torch-10.0.0.1:29500", {10}, 4)), "torch-node-0:29500");
  EXPECT_THAT(united_, ElementsAre("torch-10.0.0.1:29500 of torch-node-0:29500"));
  // The next run at that place.
  EXPECT_EQ(Settle("node-1", Rank("torch-10.0.0.1:29500", {})), "torch-node-0:29500");
  wire::ProcessReport of_another = Rank("torch-10.0.0.1:29500", {});
  of_another.set_uid(1001);
  EXPECT_EQ(Settle("node-9", of_another), "torch-10.0.0.1:29500@uid1001");
}

TEST_F(JobNamesTest, TheNextUserAtAPlaceHasAJobOfHisOwn) {
  wire::ProcessReport next = Rank("torch-node-0:29500", {});
  next.set_uid(1001);
  EXPECT_EQ(Settle("node-0", Rank("torch-node-0:29500", {})), "torch-node-0:29500");
  EXPECT_EQ(Settle("node-0", next), "torch-node-0:29500@uid1001");
  next.set_world_size(8);
  EXPECT_EQ(Settle("node-0", next), "torch-node-0:29500@uid1001");
  EXPECT_EQ(Settle("node-0", Rank("torch-node-0:29500", {})), "torch-node-0:29500") << "the first one goes on";
  wire::ProcessReport of_old_agent = Rank("torch-node-0:29500", {});
  of_old_agent.clear_uid();
  EXPECT_EQ(Settle("node-1", of_old_agent), "torch-node-0:29500") << "nobody knows whose it is";
  // His name stays as it is when the other job is forgotten.
  now_ns_ += 400 * kNanosPerSecond;
  Settle("node-0", next);
  now_ns_ += 400 * kNanosPerSecond;
  names_.ForgetSilent(now_ns_, 600 * kNanosPerSecond);
  EXPECT_EQ(Settle("node-0", next), "torch-node-0:29500@uid1001");
  EXPECT_EQ(Settle("node-0", Rank("torch-node-0:29500", {})), "torch-node-0:29500");
}

TEST_F(JobNamesTest, AtOnePlacePodsAreToldApartByTheirNamespaceAndNotByTheirUsers) {
  const auto in = [](const char* job, const char* pod, uint32_t uid) {
    wire::ProcessReport process = Rank(job, {});
    process.set_pod(pod);
    process.set_uid(uid);
    return process;
  };
  EXPECT_EQ(Settle("node-0", in("torch-node-0:29500", "team-a/p-0", 1000)), "torch-node-0:29500");
  EXPECT_EQ(Settle("node-1", in("torch-node-0:29500", "team-a/p-1", 1001)), "torch-node-0:29500");
  EXPECT_EQ(Settle("node-2", in("torch-node-0:29500", "team-b/p-0", 1000)), "torch-node-0:29500@team-b");
  EXPECT_EQ(Settle("node-0", in("torch-team-a/m:29500", "", 1000)), "torch-team-a/m:29500");
  EXPECT_EQ(Settle("node-1", in("torch-team-a/m:29500", "", 66'000)), "torch-team-a/m:29500")
      << "a name that has the namespace is that of one team, whoever its pods run as";
}

// One job of two nodes, each of which calls the place otherwise, after that of another user.
TEST_F(JobNamesTest, PartsOfTheNextUsersJobAreOneToo) {
  Settle("node-0", Rank("torch-node-0:29500", {}));
  wire::ProcessReport first = Rank("torch-node-0:29500", {10}, 4), second = Rank("torch-10.0.0.1:29500", {10}, 4);
  first.set_uid(1001);
  second.set_uid(1001);
  EXPECT_EQ(Settle("node-0", first), "torch-node-0:29500@uid1001");
  EXPECT_EQ(Settle("node-1", second), "torch-node-0:29500@uid1001");
}

TEST_F(JobNamesTest, TheNextLifeKnowsWhoseANameIs) {
  wire::AgentReport of_first, of_next;
  *of_first.add_processes() = Rank("torch-node-0:29500", {});
  *of_next.add_processes() = Rank("torch-node-0:29500@uid1001", {});
  of_next.mutable_processes(0)->set_uid(1001);
  names_.Restore("node-0", "torch-node-0:29500@uid1001", now_ns_, of_next);
  names_.Restore("node-0", "torch-node-0:29500", now_ns_, of_first);
  wire::ProcessReport next = Rank("torch-node-0:29500", {});
  next.set_uid(1001);
  EXPECT_EQ(Settle("node-0", next), "torch-node-0:29500@uid1001");
  EXPECT_EQ(Settle("node-0", Rank("torch-node-0:29500", {})), "torch-node-0:29500");
}

TEST_F(JobNamesTest, WhoClaimsTheCommunicatorOfAnotherIsNotThatJob) {
  wire::ProcessReport stranger = Rank(kA, {10}, 4);
  stranger.set_uid(1001);
  EXPECT_EQ(Settle("node-0", Rank(kA, {10}, 4)), kA);
  EXPECT_EQ(Settle("node-9", stranger), std::string(kA) + "@uid1001");
}

TEST_F(JobNamesTest, ANameThatSaysMoreTakesANamelessJobIn) {
  EXPECT_EQ(Settle("node-0", Rank(kA, {10}, 4)), kA);
  EXPECT_EQ(Settle("node-1", Rank("train", {10}, 4)), "train");
  EXPECT_THAT(united_, ElementsAre(std::string(kA) + " of train"));
  EXPECT_EQ(Settle("node-0", Rank(kA, {10}, 4)), "train");
}

TEST_F(JobNamesTest, ChosenNamesAreNeverChanged) {
  EXPECT_EQ(Settle("node-0", Rank("train", {10}, 4)), "train");
  EXPECT_EQ(Settle("node-1", Rank("infer", {10}, 4)), "infer");
  EXPECT_EQ(Settle("node-2", Rank("torch-node-2:1", {10}, 4)), "torch-node-2:1");
  EXPECT_THAT(united_, IsEmpty());
}

TEST_F(JobNamesTest, NobodyIsDrawnIntoTheJobOfAnotherUser) {
  wire::ProcessReport stranger = Rank("evil", {10}, 4);
  stranger.set_uid(1001);
  EXPECT_EQ(Settle("node-9", stranger), "evil");
  EXPECT_EQ(Settle("node-0", Rank(kA, {10}, 4)), kA);
  stranger.set_job("torch-node-9:1");
  EXPECT_EQ(Settle("node-9", stranger), "torch-node-9:1");
  wire::ProcessReport of_old_agent = Rank("", {10}, 4);
  of_old_agent.clear_uid();
  EXPECT_EQ(Settle("node-1", of_old_agent), kA) << "not that of a name that somebody chose";
  EXPECT_THAT(united_, IsEmpty());
}

TEST_F(JobNamesTest, WhoeverTakesTheNameOfAPartIsNotLetIntoTheWhole) {
  Settle("node-0", Rank(kA, {10, 12}));
  Settle("node-3", Rank(kB, {11, 12}));
  wire::ProcessReport stranger = Rank(kB, {});
  EXPECT_EQ(Settle("node-3", stranger), kA);
  stranger.set_uid(1001);
  EXPECT_EQ(Settle("node-9", stranger), kB) << "no job has that name: its ranks were of the other from the start";
}

// Trainers that send weights to inference servers.
TEST_F(JobNamesTest, JobsThatTalkToEachOtherStayTwo) {
  wire::ProcessReport server = Rank(kB, {11, 99}, 4);
  server.mutable_communicators(1)->set_size(5);
  EXPECT_EQ(Settle("node-0", Rank(kA, {10, 99}, 4)), kA);
  EXPECT_EQ(Settle("node-1", server), kB) << "a communicator of more members than the job has";
  wire::ProcessReport of_other_size = Rank(kB, {11, 10}, 2);
  of_other_size.set_world_size(2);
  EXPECT_EQ(Settle("node-2", of_other_size), kB);
}

TEST_F(JobNamesTest, CommunicatorsOfMpiJoinNothing) {
  wire::ProcessReport process = Rank("", {10}, 4);
  process.set_recorder(wire::RECORDER_KIND_MPI);
  EXPECT_EQ(Settle("node-0", process), "");
  EXPECT_EQ(Settle("node-1", Rank(kB, {10}, 4)), kB);
}

TEST_F(JobNamesTest, TheNextLifeKnowsWhatTheOneBeforeFoundOut) {
  wire::AgentReport of_part, of_whole;
  *of_part.add_processes() = Rank(kB, {11, 13});
  *of_whole.add_processes() = Rank(kA, {10, 12});
  *of_whole.add_processes() = Rank(kA, {11, 13});
  names_.Restore("node-0", kB, now_ns_, of_part);
  names_.Restore("node-0", kA, now_ns_, of_whole);
  names_.Restore("node-0", "train", now_ns_, of_whole);
  EXPECT_EQ(Settle("node-3", Rank(kB, {11, 13})), kA);
}

TEST_F(JobNamesTest, ForgetsWhatNobodyReports) {
  Settle("node-0", Rank(kA, {10, 12}));
  Settle("node-1", Rank("", {13}, 4));
  now_ns_ += 700 * kNanosPerSecond;
  EXPECT_EQ(Settle("node-1", Rank("", {})), "nccl-000000000000000d");
  names_.ForgetSilent(now_ns_, 600 * kNanosPerSecond);
  EXPECT_EQ(Settle("node-3", Rank(kB, {11, 12})), kB);
  EXPECT_EQ(Settle("node-1", Rank("", {})), "nccl-000000000000000d");
}

TEST_F(JobNamesTest, OneHostTakesNotAllTheRoom) {
  uint64_t id = 1'000;
  for (size_t i = 0; i <= JobNames::kMaxPerHost / JobNames::kMaxPerProcess; ++i) {
    wire::ProcessReport process = Rank("train", {});
    for (int k = 0; k < JobNames::kMaxPerProcess; ++k) process.add_communicators()->set_id(++id);
    Settle("node-9", process);
  }
  EXPECT_EQ(names_.TakeRefused(), static_cast<uint64_t>(JobNames::kMaxPerProcess));
  EXPECT_EQ(names_.TakeRefused(), 0u);
  Settle("node-0", Rank(kA, {10, 12}));
  EXPECT_EQ(Settle("node-3", Rank(kB, {11, 12})), kA);
}

wire::AgentReport ReportOf(const std::vector<std::string>& jobs) {
  wire::AgentReport report;
  for (const std::string& job : jobs) report.add_processes()->set_job(job);
  return report;
}

TEST(SentJobNamesTest, CommandsGoOutUnderTheNamesOfTheAgentAndAnswersComeBackUnderOurs) {
  SentJobNames names;
  names.Note("node-0", {kA, kB, "train"}, ReportOf({kA, kA, "train"}));
  wire::Command command;
  command.set_id(5);
  command.set_job(kA);
  wire::Command to_other = command;
  names.Address("node-0", command);
  EXPECT_EQ(command.job(), kA);
  EXPECT_THAT(command.further_jobs(), ElementsAre(kB));
  names.Address("node-1", to_other);
  EXPECT_THAT(to_other.further_jobs(), IsEmpty());

  names.Note("node-0", {kB}, ReportOf({kA}));
  wire::Command second;
  second.set_id(6);
  second.set_job(kA);
  names.Address("node-0", second);
  EXPECT_EQ(second.job(), kB);
  wire::AgentReport answer;
  answer.add_command_results()->set_id(6);
  answer.mutable_command_results(0)->set_job(kB);
  wire::AgentReport foreign = answer;
  names.TakeBack("node-1", foreign);
  EXPECT_EQ(foreign.command_results(0).job(), kB);
  names.TakeBack("node-0", answer);
  EXPECT_EQ(answer.command_results(0).job(), kA);
}

TEST(SentJobNamesTest, ForgetsTheOldestCommandsWithoutAnAnswer) {
  SentJobNames names;
  names.Note("node-0", {kB}, ReportOf({kA}));
  for (uint64_t id = 1; id <= SentJobNames::kMaxWaiting + 1; ++id) {
    wire::Command command;
    command.set_id(id);
    command.set_job(kA);
    names.Address("node-0", command);
  }
  wire::AgentReport answers;
  for (const uint64_t id : {uint64_t{1}, uint64_t{SentJobNames::kMaxWaiting + 1}}) {
    answers.add_command_results()->set_id(id);
    answers.mutable_command_results()->rbegin()->set_job(kB);
  }
  names.TakeBack("node-0", answers);
  EXPECT_EQ(answers.command_results(0).job(), kB);
  EXPECT_EQ(answers.command_results(1).job(), kA);
}

}  // namespace
}  // namespace lockstep
