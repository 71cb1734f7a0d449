// A slow job of a real table of jobs is profiled by itself: who is asked, what becomes of the answers, and when nobody
// is asked. The agents are the test's.

#include "collector/profiles/self_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <optional>
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
#include "formats/testing/loading_profile.h"
#include "proto/admin.pb.h"
#include "proto/incident.pb.h"
#include "proto/ingest.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kSlowRank = 2;  // of the fixture's job

class SelfProfilesTest : public JobTableTest {
 protected:
  SelfProfilesTest() : table_(MakeTable()) {}

  void MakeSlow() {
    second_ = RunUntilSlow(table_);
    GoOn(30);
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
        .snapshots = [this] { return std::vector{table_.snapshot()}; },
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

  // Until the thread has done what it was given.
  void Settle() {
    while (worker_.progress().has_work) StopSignal().WaitFor(kNanosPerMilli);
  }

  void Look(SelfProfiles& profiles) {
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
    for (const auto& [host, command] : std::exchange(sent_, {})) {
      Answer(command, LoadingProfile(command.demand().rank() == slow ? 0.4 : 0.01).SerializeAsString(), host);
    }
    Settle();
  }

  // The incident of the slow rank, as queries see it.
  wire::Incident Incident() {
    std::optional<wire::Incident> found;
    index_.ForEach(/*open_only=*/true, "train", [&](const wire::Incident& incident) { found = incident; });
    EXPECT_TRUE(found.has_value());
    return found.value_or(wire::Incident());
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
  AuditLog audit_{"", clock_, store_, metrics_};
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
  EXPECT_FALSE(parameters.python());
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
