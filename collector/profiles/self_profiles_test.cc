// A slow job of a real table of jobs is profiled by itself: who is asked, what becomes of the answers, and when nobody
// is asked. The agents are the test's.

#include "collector/profiles/self_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "collector/access/audit_log.h"
#include "collector/demands/demand_book.h"
#include "collector/incident_index.h"
#include "collector/job_table.h"
#include "collector/profiles/profile_schedule.h"
#include "collector/query_worker.h"
#include "collector/store/testing/memory_store.h"
#include "collector/testing/job_table_fixture.h"
#include "formats/testing/simple_profiles.h"
#include "proto/admin.pb.h"
#include "proto/incident.pb.h"
#include "proto/ingest.pb.h"
#include "proto/patterns.pb.h"
#include "proto/query.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kSlowRank = 2;  // of the fixture's job

class SelfProfilesTest : public JobTableTest {
 protected:
  SelfProfilesTest() : table_(MakeTable()) {}

  // One rank, of which the engine says that its program is to blame.
  void MakeSlow() {
    second_ = RunUntilSlow(table_);
    GoOn(30);
    blames_software_ = true;
  }

  // As if the engine had said of the program that it is slow on all ranks, until the job is profiled.
  void MakeSlowAsAWhole(SelfProfiles& profiles) {
    MakeSlow();
    names_nobody_ = true;
    Look(profiles);
  }

  void GoOn(int seconds) {
    for (int i = 0; i < seconds; ++i) RunSecond(table_, second_++, kSlowRank);
  }

  // Of the next life of a collector. The one before stays: answers to what it asked may still come.
  SelfProfiles* Make(bool enabled = true) {
    lives_.push_back(std::make_unique<SelfProfiles>(SelfProfiles::Parts{
        .demands = book_,
        .audit = audit_,
        .history = store_,
        .incidents = index_,
        .worker = worker_,
        .metrics = metrics_,
        .os_clock = clock_,
        .clock = clock_,
        .snapshots = [this] { return std::vector{Snapshot()}; },
        .offers = [this](const std::string& host) { return offering_.count(host) > 0; },
        .run_on_shard =
            [this](const std::string& /*job*/, const std::function<void(JobTable&)>& task) {
              task(table_);
              return true;
            },
        .enabled = enabled,
    }));
    EXPECT_OK(lives_.back()->Restore());
    return lives_.back().get();
  }

  // What the table says, with the duties of the test where it has any.
  std::shared_ptr<const JobsSnapshot> Snapshot() const {
    if (duties_.empty() || table_.snapshot()->ranks.count("train") == 0) return table_.snapshot();
    auto snapshot = std::make_shared<JobsSnapshot>(*table_.snapshot());
    auto ranks = std::make_shared<std::vector<wire::Rank>>(*snapshot->ranks.at("train"));
    for (wire::Rank& rank : *ranks) rank.set_duty(duties_.at(static_cast<size_t>(rank.rank())));
    snapshot->ranks["train"] = ranks;
    return snapshot;
  }

  // Until the thread has done what it was given.
  void Settle() {
    while (worker_.progress().has_work) StopSignal().WaitFor(kNanosPerMilli);
  }

  void Look(SelfProfiles& profiles) {
    wire::Incident open = Incident();
    if (blames_software_) open.mutable_verdict()->set_scope("software");
    if (names_nobody_) open.mutable_verdict()->clear_culprits();
    if (blames_software_) index_.Put(open);
    profiles.Look();
    Settle();
  }

  void Answer(const wire::Command& command, const std::string& payload, const std::string& host) {
    wire::DemandAnswer answer;
    answer.set_id(command.id());
    answer.set_parts(1);
    answer.set_outcome(payload.empty() ? wire::DemandAnswer::OUTCOME_FAILED : wire::DemandAnswer::OUTCOME_DONE);
    answer.set_payload(payload);
    book_.OnAnswer(host, answer);
  }

  std::vector<wire::AuditRecord> Profiled() {
    std::vector<wire::AuditRecord> profiled;
    const std::vector<wire::AuditRecord> kept = *store_.LoadAudit();
    for (const wire::AuditRecord& record : kept) {
      if (record.action() == SelfProfiles::kAction) profiled.push_back(record);
    }
    return profiled;
  }

  // All that was asked is answered: `slow` waits for its data.
  void AnswerAll(int slow) {
    AnswerEach([slow](int rank) { return LoadingProfile(rank == slow ? 0.4 : 0.01); });
  }

  void AnswerEach(const std::function<wire::RankProfile(int rank)>& profile_of) {
    for (const auto& [host, command] : std::exchange(sent_, {})) {
      Answer(command, profile_of(command.demand().rank()).SerializeAsString(), host);
    }
    Settle();
  }

  std::vector<int> SentRanks() const {
    std::vector<int> ranks;
    for (const auto& [host, command] : sent_) ranks.push_back(command.demand().rank());
    return ranks;
  }

  // The incident of the slow rank, as queries see it; none: an empty one.
  wire::Incident Incident() {
    wire::Incident found;
    index_.ForEach(/*open_only=*/true, "train", [&](const wire::Incident& incident) { found = incident; });
    return found;
  }

  double Outcomes(const std::string& outcome) {
    for (const prometheus::MetricFamily& family : metrics_.registry()->Collect()) {
      if (family.name != "lockstep_collector_self_profiles_total") continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        if (metric.label[0].value == outcome) return metric.counter.value;
      }
    }
    return -1;
  }

  MemoryStore store_;
  AuditLog audit_{"", clock_, store_, metrics_, /*max_file_bytes=*/0};
  std::set<std::string> offering_ = {"node-0", "node-1"};
  std::vector<std::pair<std::string, wire::Command>> sent_;
  DemandBook book_{[this](const std::string& host, const wire::Command& command) {
                     sent_.emplace_back(host, command);
                     return true;
                   },
                   [this](const std::string& host, absl::string_view /*kind*/) { return offering_.count(host) > 0; },
                   clock_, metrics_.demands};
  JobTable table_;
  int second_ = 0;
  bool blames_software_ = false;
  bool names_nobody_ = false;
  std::vector<int32_t> duties_;  // by rank, from 1; empty = as the table says
  std::vector<std::unique_ptr<SelfProfiles>> lives_;
  QueryWorker worker_;  // last: it ends first
};

TEST_F(SelfProfilesTest, TheFunctionAndItsNumbersJoinTheIncidentOfTheSlowRank) {
  MakeSlow();
  SelfProfiles* const profiles = Make();
  Look(*profiles);
  Look(*profiles);
  ASSERT_THAT(sent_, SizeIs(4)) << "the suspect and its peers, once";
  EXPECT_EQ(sent_[0].second.demand().rank(), kSlowRank);
  EXPECT_EQ(sent_[0].second.demand().kind(), "profile");
  wire::ProfileParameters parameters;
  ASSERT_TRUE(parameters.ParseFromString(sent_[0].second.demand().parameters()));
  EXPECT_GE(parameters.duration_ms(), 500u);
  EXPECT_FALSE(parameters.keep());
  EXPECT_TRUE(parameters.python()) << "what software does is mostly done in Python";
  ASSERT_THAT(Profiled(), SizeIs(1));
  EXPECT_EQ(Profiled()[0].of(), "train");
  EXPECT_EQ(Profiled()[0].from(), "because of incident 1, 4 ranks");

  AnswerAll(kSlowRank);
  EXPECT_EQ(Outcomes("found"), 1);
  const auto is_profiled = [](const wire::Incident& incident) {
    std::string texts;
    for (const wire::Evidence& evidence : incident.verdict().evidence()) {
      if (evidence.kind() == "profile") texts += evidence.text();
    }
    return texts;
  };
  EXPECT_THAT(is_profiled(Incident()), HasSubstr("Rank 2 waits for data loading in 40.0%"));
  EXPECT_THAT(is_profiled(Incident()), HasSubstr("_SingleProcessDataLoaderIter.__next__"));
  EXPECT_EQ(is_profiled(alerts_.events.back().incident), is_profiled(Incident())) << "receivers read it, too";
  GoOn(30);
  EXPECT_THAT(is_profiled(Incident()), HasSubstr("_SingleProcessDataLoaderIter.__next__"));
}

TEST_F(SelfProfilesTest, NotOnceMoreAfterARestartNorInTheSameHour) {
  MakeSlow();
  Look(*Make());
  AnswerAll(kSlowRank);
  for (int life = 0; life < 5; ++life) {
    SelfProfiles* const profiles = Make();
    GoOn(10);
    Look(*profiles);
    clock_.Advance(ProfileSchedule::kEveryNanos / 3);
    GoOn(10);
    Look(*profiles);
  }
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_THAT(Profiled(), SizeIs(1));
}

TEST_F(SelfProfilesTest, OneSettingTurnsItOffAndSoDoAgentsThatDoNotOfferIt) {
  MakeSlow();
  Look(*Make(/*enabled=*/false));
  offering_ = {"node-0"};  // not that of the suspect
  Look(*Make());
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_THAT(Profiled(), IsEmpty());
  offering_ = {"node-1"};
  Look(*Make());
  EXPECT_THAT(sent_, SizeIs(2)) << "peers on the host that offers it";
}

TEST_F(SelfProfilesTest, WhatAMachineExplainsIsLeftAlone) {
  MakeSlow();
  blames_software_ = false;
  ASSERT_EQ(Incident().verdict().scope(), "machine");
  Look(*Make());
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(SelfProfilesTest, WhereNobodyIsNamedAllRanksAreLookedAt) {
  MakeSlowAsAWhole(*Make());
  EXPECT_THAT(SentRanks(), ElementsAre(0, 1, 2, 3));
  ASSERT_THAT(Profiled(), SizeIs(1));
  EXPECT_THAT(Profiled()[0].from(), HasSubstr(", 4 ranks"));
  AnswerAll(kSlowRank);
  EXPECT_EQ(Outcomes("found"), 1);
}

TEST_F(SelfProfilesTest, PeersAreAskedAndComparedWithinTheDutyOfTheSuspect) {
  MakeSlow();
  for (const wire::Rank& rank : *table_.snapshot()->ranks.at("train")) {
    EXPECT_EQ(rank.duty(), 1) << "all do the same, as the operations of this job say";
  }
  duties_ = {1, 2, 2, 2};
  Look(*Make());
  EXPECT_THAT(SentRanks(), ElementsAre(kSlowRank, 1, 3)) << "and not rank 0, of another stage";
}

TEST_F(SelfProfilesTest, StagesOfAPipelineAreNotComparedWithEachOther) {
  duties_ = {1, 2, 2, 2};
  MakeSlowAsAWhole(*Make());
  ASSERT_THAT(sent_, SizeIs(4));
  AnswerEach([](int rank) { return ComputingProfile(rank == 0 ? 0.9 : 0.4); });
  EXPECT_EQ(Outcomes("nothing"), 1) << "the first stage has more to compute";
}

TEST_F(SelfProfilesTest, WithinOneDutyTheRankWithMoreToComputeStandsOut) {
  duties_ = {1, 1, 1, 1};
  MakeSlowAsAWhole(*Make());
  ASSERT_THAT(sent_, SizeIs(4));
  AnswerEach([](int rank) { return ComputingProfile(rank == 0 ? 0.9 : 0.4); });
  EXPECT_EQ(Outcomes("found"), 1);
}

TEST_F(SelfProfilesTest, AHealthyJobIsLeftAlone) {
  for (; second_ < 60; ++second_) RunSecond(table_, second_);
  Look(*Make());
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(SelfProfilesTest, NobodyIsProfiledOfWhomTheAuditCannotKeepIt) {
  MakeSlow();
  store_.set_refuses(true);
  Look(*Make());
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(Outcomes("failed"), 1);
}

TEST_F(SelfProfilesTest, AnswersThatAreNoneAreNoEvidence) {
  MakeSlow();
  SelfProfiles* const profiles = Make();
  Look(*profiles);
  ASSERT_THAT(sent_, SizeIs(4));
  Answer(sent_[0].second, "no message \xff", sent_[0].first);
  Answer(sent_[1].second, "", sent_[1].first);
  Answer(sent_[2].second, LoadingProfile(2).SerializeAsString(), sent_[2].first);  // a share above one
  clock_.Advance(FindDemandKind("profile")->patience_ns);
  book_.Expire();
  Settle();
  EXPECT_EQ(Outcomes("failed"), 1);
  const wire::Incident incident = Incident();
  for (const wire::Evidence& evidence : incident.verdict().evidence()) EXPECT_NE(evidence.kind(), "profile");
}

TEST_F(SelfProfilesTest, ProfilesThatAreAlikeAreToldOfInTheIncident) {
  MakeSlow();
  SelfProfiles* const profiles = Make();
  Look(*profiles);
  AnswerAll(/*slow=*/-1);
  EXPECT_EQ(Outcomes("nothing"), 1);
  const wire::Incident incident = Incident();
  EXPECT_EQ(incident.transitions().rbegin()->what(), "profiled");
  EXPECT_THAT(incident.transitions().rbegin()->why(), HasSubstr("4 ranks were profiled: nothing stands out"));
}

}  // namespace
}  // namespace lockstep
