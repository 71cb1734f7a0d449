#include "collector/incident/incident_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "collector/incident/incident_book_fixture.h"
#include "collector/incident/verdict_proto.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST_F(IncidentBookTest, AnAbstentionOpensNoIncident) {
  IncidentBook book = NewBook();
  EXPECT_TRUE(book.Apply("job", Concluded({Verdict::Abstention(NoRecords{})}), kStart).empty());
  EXPECT_EQ(book.Apply("job", Concluded({Verdict::Observation(VerdictClass::kCounterOutlier)}), kStart).size(), 1u);
}

TEST_F(IncidentBookTest, SlownessWithoutAKnownCauseIsAnIncidentOfItsOwnThatAccusesNobody) {
  IncidentBook book = NewBook();
  Verdict slow = Verdict::Abstention(
      SlowWithoutCause{.first_step = 40, .before_seconds = 1, .after_seconds = 1.2, .unexplained_seconds = 0.2});
  const Verdict seldom = Verdict::Abstention(SlowWithoutCause{.before_seconds = 1, .after_seconds = 2, .share = 0.1});
  EXPECT_TRUE(book.Apply("job", Concluded({seldom}), kStart).empty()) << "its step times vary";
  const auto opened = book.Apply("job", Concluded({Verdict::Abstention(NoRecords{}), slow}), kStart);
  ASSERT_EQ(opened.size(), 1u);
  EXPECT_EQ(opened[0].kind, Kind::kOpened);
  const wire::Verdict& told = opened[0].incident.verdict();
  EXPECT_EQ(told.class_(), "slow_unexplained");
  EXPECT_EQ(told.scope(), "unknown");
  EXPECT_EQ(told.culprits_size(), 0);
  EXPECT_EQ(told.advice(), "observe");
  EXPECT_NEAR(told.cost().slowdown_fraction(), 0.2 / 1.2, 1e-9);
  EXPECT_EQ(told.cost().seconds_per_step(), 0.2);
  EXPECT_THAT(told.evidence(0).text(), testing::HasSubstr("the cause is unknown"));
  slow.evidence[0].reason = SlowWithoutCause{.first_step = 40, .before_seconds = 1, .after_seconds = 1.3};
  EXPECT_THAT(book.Apply("job", Concluded({slow}), kStart + kSecond), testing::SizeIs(testing::Le(1)));
  book.Apply("job", Concluded({}), kStart + 2 * kSecond);
  const auto resolved = book.Apply("job", Concluded({}), kStart + 100 * kSecond);
  EXPECT_THAT(KindsOf(resolved), testing::ElementsAre(Kind::kResolved));
}

TEST_F(IncidentBookTest, CulpritsHaveAllNamesOfTheirGpusWhereverTheyAreTold) {
  int asked = 0;
  IncidentBook book(
      {}, [this] { return ++last_id_; }, nullptr,
      [&asked](const std::string& job, wire::Verdict& verdict) {
        EXPECT_EQ(job, "job");
        ++asked;
        verdict.mutable_culprits(0)->set_gpu_uuid("GPU-7");
      });
  EXPECT_EQ(book.Apply("job", Concluded({Hang(3)}), kStart)[0].incident.verdict().culprits(0).gpu_uuid(), "GPU-7");
  book.Apply("job", Concluded({Hang(3)}), kStart + kSecond);
  book.Apply("job", Concluded({}), kStart + 2 * kSecond);
  book.Apply("job", Concluded({}), kStart + 10 * kSecond);
  const auto reopened = book.Apply("job", Concluded({Hang(3)}), kStart + 11 * kSecond);
  ASSERT_THAT(KindsOf(reopened), testing::ElementsAre(Kind::kReopened));
  EXPECT_EQ(reopened[0].incident.verdict().culprits(0).gpu_uuid(), "GPU-7");
  EXPECT_EQ(asked, 3);
}

TEST_F(IncidentBookTest, OpensWithTheVerdictItsReasonAndTheTime) {
  IncidentBook book = NewBook();
  const auto events = book.Apply("job", Concluded({Hang(3)}), kStart);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kOpened));
  const wire::Incident& incident = events[0].incident;
  EXPECT_EQ(incident.id(), 1u);
  EXPECT_EQ(incident.job(), "job");
  EXPECT_EQ(incident.key(), CauseKey(Hang(3)));
  EXPECT_EQ(incident.state(), wire::Incident::STATE_OPEN);
  EXPECT_EQ(incident.opened_wall_ns(), kStart);
  EXPECT_EQ(incident.resolved_wall_ns(), 0);
  EXPECT_EQ(incident.verdict().SerializeAsString(), ToProto(Hang(3)).SerializeAsString());
  ASSERT_THAT(WhatsOf(incident), testing::ElementsAre("opened"));
  EXPECT_EQ(incident.transitions(0).why(), "rank has not entered operation 7");
}

TEST_F(IncidentBookTest, ACauseThatIsNamedMoreExactlyGoesOnAsTheSameIncident) {
  IncidentBook book = NewBook();
  const auto opened = book.Apply("job", Concluded({Hang(-1, VerdictClass::kGpuFault)}), kStart);
  ASSERT_THAT(KindsOf(opened), testing::ElementsAre(Kind::kOpened));
  const auto events = book.Apply("job", Concluded({Hang(3, VerdictClass::kGpuFault)}), kStart + 4 * kSecond);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kUpdated));
  EXPECT_EQ(events[0].incident.id(), opened[0].incident.id());
  EXPECT_EQ(events[0].incident.key(), CauseKey(Hang(3)));
  EXPECT_EQ(events[0].incident.verdict().culprits(0).rank(), 3);
  // Another rank of the host is another cause.
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({Hang(3, VerdictClass::kGpuFault), Hang(4)}), kStart + 5 * kSecond)),
              testing::Contains(Kind::kOpened));
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({}), kStart + 60 * kSecond)), testing::IsEmpty());
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({}), kStart + 90 * kSecond)),
              testing::ElementsAre(Kind::kResolved, Kind::kResolved));
}

TEST_F(IncidentBookTest, OneOfSeveralThatHangGoesOnAsTheSameIncident) {
  Verdict all = Hang(3, VerdictClass::kHangInCommunication);
  all.culprits.push_back(Culprit{.host = "node-2", .rank = 4});
  IncidentBook book = NewBook();
  book.Apply("job", Concluded({all}), kStart);
  const auto one = book.Apply("job", Concluded({Hang(3)}), kStart + kSecond);
  ASSERT_THAT(KindsOf(one), testing::ElementsAre(Kind::kUpdated));
  EXPECT_EQ(one[0].incident.key(), CauseKey(Hang(3)));
  EXPECT_EQ(one[0].incident.id(), 1u);
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({Hang(3), Hang(5)}), kStart + 2 * kSecond)),
              testing::ElementsAre(Kind::kOpened))
      << "who was not among them";
}

TEST_F(IncidentBookTest, WhatNamesNoRankIsOfTheOpenIncidentThatDoes) {
  const auto of_gpu = [](const char* device) {
    Verdict verdict = Hang(-1, VerdictClass::kGpuFault);
    verdict.culprits[0].device = device;
    return verdict;
  };
  Verdict rank = Hang(3, VerdictClass::kGpuFault);
  rank.culprits[0].gpu = 1;
  IncidentBook book = NewBook();
  book.Apply("job", Concluded({rank}), kStart);
  EXPECT_THAT(book.Apply("job", Concluded({of_gpu("gpu1")}), kStart + 10 * kSecond), testing::IsEmpty());
  EXPECT_THAT(book.Apply("job", Concluded({Hang(-1)}), kStart + 20 * kSecond), testing::IsEmpty());
  EXPECT_THAT(book.Apply("job", Concluded({rank}), kStart + 30 * kSecond), testing::IsEmpty());
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({rank, of_gpu("gpu2")}), kStart + 31 * kSecond)),
              testing::ElementsAre(Kind::kOpened))
      << "another GPU of the host";
  Verdict elsewhere = Hang(-1);
  elsewhere.culprits[0].host = "node-2";
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({rank, of_gpu("gpu2"), elsewhere}), kStart + 32 * kSecond)),
              testing::ElementsAre(Kind::kOpened));
  book.Apply("job", Concluded({}), kStart + 40 * kSecond);
  EXPECT_THAT(book.Apply("job", Concluded({}), kStart + 50 * kSecond), testing::SizeIs(3)) << "all are over";
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({of_gpu("gpu1")}), kStart + 60 * kSecond)),
              testing::ElementsAre(Kind::kOpened));
}

TEST_F(IncidentBookTest, WhatStoppedAJobHoldsWhileSomeOfItIsNotHeard) {
  Verdict silence = Hang(-1, VerdictClass::kMachineUnreachable);
  silence.culprits[0].host = "node-2";
  IncidentBook book = NewBook();
  book.Apply("job", Concluded({Hang(3)}), kStart);
  const JobSight blind = {.is_blind = true};
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({silence}), kStart + kSecond, blind)),
              testing::ElementsAre(Kind::kOpened));
  EXPECT_THAT(book.Apply("job", Concluded({silence}), kStart + 60 * kSecond, blind), testing::IsEmpty());
  EXPECT_THAT(book.Apply("job", Concluded({Hang(3)}), kStart + 61 * kSecond, blind), testing::IsEmpty());
  const auto heard = book.Apply("job", Concluded({Hang(3)}), kStart + 65 * kSecond, blind);
  ASSERT_THAT(KindsOf(heard), testing::ElementsAre(Kind::kResolved));
  EXPECT_EQ(heard[0].incident.verdict().class_(), "machine_unreachable") << "who is heard again is not awaited";
  book.Apply("job", Concluded({}), kStart + 70 * kSecond);
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({}), kStart + 74 * kSecond)), testing::ElementsAre(Kind::kResolved));
}

TEST_F(IncidentBookTest, SameVerdictAgainIsNoEvent) {
  IncidentBook book = NewBook();
  Verdict verdict = Hang(3);
  book.Apply("job", Concluded({verdict}), kStart);
  verdict.last_seen_ns += 60 * kSecond;
  verdict.first_step += 5;
  verdict.last_step += 10;
  EXPECT_THAT(book.Apply("job", Concluded({verdict}), kStart + 60 * kSecond), testing::IsEmpty());
}

TEST_F(IncidentBookTest, NewNumbersArePublishedAtTheUpdateRateAndAreNoTransition) {
  IncidentBook book = NewBook();
  Verdict verdict = Hang(3);
  book.Apply("job", Concluded({verdict}), kStart);
  int updates = 0;
  for (int second = 1; second <= 20; ++second) {
    verdict.cost.seconds_per_step = second;
    const auto events = book.Apply("job", Concluded({verdict}), kStart + second * kSecond);
    updates += static_cast<int>(events.size());
    for (const IncidentEvent& event : events) {
      EXPECT_EQ(event.kind, Kind::kUpdated);
      EXPECT_EQ(event.incident.verdict().cost().seconds_per_step(), second);
      EXPECT_THAT(WhatsOf(event.incident), testing::ElementsAre("opened"));
    }
  }
  EXPECT_EQ(updates, 4);
}

TEST_F(IncidentBookTest, NewsHeldBackIsPublishedLaterEvenIfNothingElseChanges) {
  IncidentBook book = NewBook();
  Verdict verdict = Hang(3);
  book.Apply("job", Concluded({verdict}), kStart);
  verdict.cost.seconds_per_step = 2;
  EXPECT_TRUE(book.Apply("job", Concluded({verdict}), kStart + kSecond).empty());
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({verdict}), kStart + 5 * kSecond)),
              testing::ElementsAre(Kind::kUpdated));
}

TEST_F(IncidentBookTest, ChangeOfClassWithinTheCauseIsATransitionAndNotRateLimited) {
  ASSERT_EQ(CauseKey(Hang(3)), CauseKey(Hang(3, VerdictClass::kHangInCommunication)));
  IncidentBook book = NewBook();
  book.Apply("job", Concluded({Hang(3)}), kStart);
  const auto events = book.Apply("job", Concluded({Hang(3, VerdictClass::kHangInCommunication)}), kStart + 1);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kUpdated));
  EXPECT_EQ(events[0].incident.id(), 1u);
  ASSERT_THAT(WhatsOf(events[0].incident), testing::ElementsAre("opened", "updated"));
  EXPECT_THAT(events[0].incident.transitions(1).why(),
              testing::HasSubstr("class changed from hang_not_entered to hang_in_communication"));
}

TEST_F(IncidentBookTest, ResolvesOnlyAfterAbsenceOfTheWholeTime) {
  IncidentBook book = NewBook();
  book.Apply("job", Concluded({Hang(3)}), kStart);
  EXPECT_TRUE(book.Apply("job", Concluded({}), kStart + 1 * kSecond).empty());
  EXPECT_TRUE(book.Apply("job", Concluded({}), kStart + 3 * kSecond).empty());
  const auto events = book.Apply("job", Concluded({}), kStart + 4 * kSecond);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kResolved));
  EXPECT_EQ(events[0].incident.state(), wire::Incident::STATE_RESOLVED);
  EXPECT_EQ(events[0].incident.resolved_wall_ns(), kStart + 4 * kSecond);
  EXPECT_TRUE(book.Apply("job", Concluded({}), kStart + 9 * kSecond).empty());
}

TEST_F(IncidentBookTest, ReturnOfTheCauseRestartsTheAbsence) {
  IncidentBook book = NewBook();
  book.Apply("job", Concluded({Hang(3)}), kStart);
  book.Apply("job", Concluded({}), kStart + 1 * kSecond);
  book.Apply("job", Concluded({Hang(3)}), kStart + 2 * kSecond);
  EXPECT_TRUE(book.Apply("job", Concluded({}), kStart + 5 * kSecond).empty());
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({}), kStart + 8 * kSecond)), testing::ElementsAre(Kind::kResolved));
}

TEST_F(IncidentBookTest, MissingDataNeverResolves) {
  IncidentBook book = NewBook();
  book.Apply("job", Concluded({Hang(3)}), kStart);
  for (int second = 1; second < 100; ++second) {
    EXPECT_TRUE(book.Apply("job", NothingKnown(), kStart + second * kSecond).empty());
  }
}

TEST_F(IncidentBookTest, JobsDoNotTouchEachOther) {
  IncidentBook book = NewBook();
  book.Apply("a", Concluded({Hang(3)}), kStart);
  EXPECT_THAT(KindsOf(book.Apply("b", Concluded({Hang(3)}), kStart)), testing::ElementsAre(Kind::kOpened));
  book.Apply("b", Concluded({}), kStart + 1 * kSecond);
  const auto events = book.Apply("b", Concluded({}), kStart + 60 * kSecond);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kResolved));
  EXPECT_EQ(events[0].incident.job(), "b");
  EXPECT_EQ(book.EndJob("a", kStart + 61 * kSecond, wire::Incident::RESOLUTION_JOB_ENDED, "ended").size(), 1u);
}

class ReopenTest : public IncidentBookTest {
 protected:
  // A book whose only incident was resolved at kStart + 4 s.
  IncidentBook ResolvedBook() {
    IncidentBook book = NewBook();
    book.Apply("job", Concluded({Hang(3)}), kStart);
    book.Apply("job", Concluded({}), kStart + 1 * kSecond);
    EXPECT_EQ(book.Apply("job", Concluded({}), kStart + 4 * kSecond).size(), 1u);
    return book;
  }
};

TEST_F(ReopenTest, WithinTheTimeItIsTheSameIncident) {
  IncidentBook book = ResolvedBook();
  const auto events = book.Apply("job", Concluded({Hang(3)}), kStart + 604 * kSecond);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kReopened));
  EXPECT_EQ(events[0].incident.id(), 1u);
  EXPECT_EQ(events[0].incident.reopened(), 1u);
  EXPECT_EQ(events[0].incident.resolved_wall_ns(), 0);
  EXPECT_EQ(events[0].incident.opened_wall_ns(), kStart);
  EXPECT_THAT(WhatsOf(events[0].incident), testing::ElementsAre("opened", "resolved", "reopened"));
}

TEST_F(ReopenTest, EvidenceFromBeforeTheEndIsNoReturn) {
  IncidentBook book = ResolvedBook();
  const int64_t end = kStart + 4 * kSecond;
  Verdict verdict = Hang(3);
  verdict.last_seen_ns = end;
  EXPECT_TRUE(book.Apply("job", Concluded({verdict}), end + 10 * kSecond).empty());
  verdict.last_seen_ns = end + 1;
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({verdict}), end + 11 * kSecond)),
              testing::ElementsAre(Kind::kReopened));
}

TEST_F(ReopenTest, LaterItIsANewOne) {
  IncidentBook book = ResolvedBook();
  const auto events = book.Apply("job", Concluded({Hang(3)}), kStart + 605 * kSecond);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kOpened));
  EXPECT_EQ(events[0].incident.id(), 2u);
  EXPECT_EQ(book.size(), 1u);
}

TEST_F(IncidentBookTest, WhoHasAnOpenIncidentInHandIsKeptUntilItIsTakenBackOrReopened) {
  IncidentBook book = NewBook();
  const uint64_t id = book.Apply("job", Concluded({Hang(3)}), kStart)[0].incident.id();
  const IncidentAction take = {.what = IncidentAction::What::kAcknowledge, .by = "alice", .text = "drained"};
  const IncidentAction give_back = {.what = IncidentAction::What::kUnacknowledge, .by = "bob"};
  const auto taken = book.Act("job", id, take, kStart + 5);
  ASSERT_OK(taken);
  ASSERT_TRUE(taken->event.has_value());
  EXPECT_EQ(taken->event->kind, Kind::kAcknowledged);
  EXPECT_FALSE(taken->event->is_for_receivers());
  EXPECT_EQ(taken->incident.state(), wire::Incident::STATE_OPEN);
  EXPECT_EQ(taken->incident.acknowledgement().wall_ns(), kStart + 5);
  EXPECT_EQ(taken->incident.transitions().rbegin()->why(), "by alice: drained");
  const auto again = book.Act("job", id, take, kStart + 6);
  ASSERT_OK(again);
  EXPECT_FALSE(again->event.has_value());
  EXPECT_EQ(again->incident.SerializeAsString(), taken->incident.SerializeAsString());

  // It stays with what happens to the incident otherwise, and through a restart.
  IncidentBook next_life = NewBook();
  next_life.Restore({taken->incident});
  const auto changed =
      next_life.Apply("job", Concluded({Hang(3, VerdictClass::kHangInCommunication)}), kStart + 10 * kSecond);
  ASSERT_THAT(KindsOf(changed), ::testing::ElementsAre(Kind::kUpdated));
  EXPECT_EQ(changed[0].incident.acknowledgement().by(), "alice");

  const auto back = next_life.Act("job", id, give_back, kStart + 11 * kSecond);
  ASSERT_OK(back);
  EXPECT_FALSE(back->incident.has_acknowledgement());
  EXPECT_EQ(back->incident.transitions().rbegin()->why(), "by bob, it was in the hands of alice");
  EXPECT_THAT(next_life.Act("job", id, give_back, kStart + 12 * kSecond).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nobody has acknowledged")));

  ASSERT_OK(next_life.Act("job", id, take, kStart + 13 * kSecond));
  for (int64_t second = 20; second < 25; ++second) next_life.Apply("job", Concluded({}), kStart + second * kSecond);
  EXPECT_THAT(next_life.Act("job", id, take, kStart + 26 * kSecond).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is resolved")));
  const auto reopened = next_life.Apply("job", Concluded({Hang(3)}), kStart + 30 * kSecond);
  ASSERT_THAT(KindsOf(reopened), ::testing::ElementsAre(Kind::kReopened));
  EXPECT_FALSE(reopened[0].incident.has_acknowledgement());
  EXPECT_THAT(next_life.Act("other", id, take, kStart).status(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("")));
}

TEST_F(IncidentBookTest, TransitionsAreBoundedAndTheNewestStay) {
  IncidentBook book = NewBook();
  wire::Incident last;
  for (int i = 0; i < 2 * kMaxTransitions; ++i) {
    const auto verdict = Hang(3, i % 2 == 0 ? VerdictClass::kHangNotEntered : VerdictClass::kHangInCommunication);
    last = book.Apply("job", Concluded({verdict}), kStart + i).at(0).incident;
  }
  EXPECT_EQ(last.transitions_size(), kMaxTransitions);
  EXPECT_EQ(last.transitions().rbegin()->wall_ns(), kStart + 2 * kMaxTransitions - 1);
}

TEST_F(IncidentBookTest, EndOfTheJobResolvesWhatIsOpenAndSaysWhy) {
  IncidentBook book = NewBook();
  book.Apply("job", Concluded({Hang(1), Hang(2)}), kStart);
  const auto events = book.EndJob("job", kStart + kSecond, wire::Incident::RESOLUTION_JOB_ENDED, "all ranks finalized");
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kResolved, Kind::kResolved));
  EXPECT_EQ(events[0].incident.transitions(1).why(), "all ranks finalized");
  EXPECT_EQ(events[0].incident.resolution(), wire::Incident::RESOLUTION_JOB_ENDED);
  EXPECT_TRUE(book.EndJob("job", kStart + 2 * kSecond, wire::Incident::RESOLUTION_JOB_ENDED, "again").empty());
}

TEST_F(IncidentBookTest, OnlyACauseThatIsNotFoundAnyMoreIsGone) {
  IncidentBook book = NewBook();
  book.Apply("job", Concluded({Hang(1)}), kStart);
  EXPECT_EQ(book.Apply("job", Concluded({}), kStart + kSecond).size(), 0u);
  auto events = book.Apply("job", Concluded({}), kStart + 10 * kSecond);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kResolved));
  EXPECT_EQ(events[0].incident.resolution(), wire::Incident::RESOLUTION_CAUSE_GONE);
  events = book.Apply("job", Concluded({Hang(1)}), kStart + 20 * kSecond);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kReopened));
  EXPECT_EQ(events[0].incident.resolution(), wire::Incident::RESOLUTION_UNSPECIFIED);
}

TEST_F(IncidentBookTest, AFullBookForgetsTheOldestResolvedFirst) {
  IncidentBook book = NewBook({.max_incidents = 2});
  book.Apply("a", Concluded({Hang(1)}), kStart);
  book.EndJob("a", kStart + 1, wire::Incident::RESOLUTION_JOB_ENDED, "over");
  book.Apply("b", Concluded({Hang(1)}), kStart + 2);
  book.Apply("c", Concluded({Hang(1)}), kStart + 3);
  EXPECT_EQ(book.size(), 2u);
  EXPECT_THAT(KindsOf(book.Apply("a", Concluded({}), kStart + 4)), testing::IsEmpty());
}

TEST_F(IncidentBookTest, ABookFullOfOpenIncidentsRefusesAndCounts) {
  IncidentBook book = NewBook({.max_incidents = 2});
  EXPECT_EQ(book.Apply("a", Concluded({Hang(1), Hang(2), Hang(3)}), kStart).size(), 2u);
  EXPECT_EQ(book.refused(), 1u);
  EXPECT_EQ(book.size(), 2u);
}

}  // namespace
}  // namespace lockstep
