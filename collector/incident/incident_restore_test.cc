// What a book makes of the incidents of an earlier life.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "collector/incident/incident_book_fixture.h"

namespace lockstep {
namespace {

class RestoreTest : public IncidentBookTest {
 protected:
  // What a book remembers of an earlier life in which rank 3 hung.
  wire::Incident OpenIncident() {
    IncidentBook earlier = NewBook();
    return earlier.Apply("job", Concluded({Hang(3)}), kStart).at(0).incident;
  }
};

TEST_F(RestoreTest, TheSameCauseGoesOnWithoutASecondOpening) {
  const wire::Incident incident = OpenIncident();
  IncidentBook book = NewBook();
  book.Restore({incident});
  Verdict verdict = Hang(3);
  EXPECT_TRUE(book.Apply("job", Concluded({verdict}), kStart + 10 * kSecond).empty());
  verdict.cost.seconds_per_step = 1;
  const auto events = book.Apply("job", Concluded({verdict}), kStart + 11 * kSecond);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kUpdated));
  EXPECT_EQ(events[0].incident.id(), incident.id());
}

TEST_F(RestoreTest, StaysOpenUntilTheDetectorHasJudgedAllThenResolves) {
  IncidentBook book = NewBook();
  book.Restore({OpenIncident()});
  EXPECT_TRUE(book.Apply("job", NothingKnown(), kStart + 100 * kSecond).empty());
  EXPECT_TRUE(book.Apply("job", NotYetJudged({}), kStart + 101 * kSecond).empty());
  EXPECT_TRUE(book.Apply("job", NotYetJudged({}), kStart + 200 * kSecond).empty());
  EXPECT_TRUE(book.Apply("job", Concluded({}), kStart + 201 * kSecond).empty());
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({}), kStart + 204 * kSecond)), testing::ElementsAre(Kind::kResolved));
}

TEST_F(RestoreTest, WhatTheNewEngineFindsItselfResolvesAsItSays) {
  IncidentBook book = NewBook();
  book.Restore({OpenIncident()});
  EXPECT_TRUE(book.Apply("job", NotYetJudged({Hang(3)}), kStart + 100 * kSecond).empty());
  EXPECT_TRUE(book.Apply("job", NotYetJudged({}), kStart + 101 * kSecond).empty());
  EXPECT_THAT(KindsOf(book.Apply("job", NotYetJudged({}), kStart + 104 * kSecond)),
              testing::ElementsAre(Kind::kResolved));
}

TEST_F(RestoreTest, AnEngineThatBeginsAnewResolvesNothingThatItHasNotJudged) {
  IncidentBook book = NewBook();
  book.Apply("job", Concluded({Hang(3)}), kStart);
  book.Apply("other", Concluded({Hang(3)}), kStart);
  book.BeginAnew("job");
  EXPECT_TRUE(book.Apply("job", NotYetJudged({}), kStart + 10 * kSecond).empty());
  EXPECT_TRUE(book.Apply("job", NotYetJudged({}), kStart + 20 * kSecond).empty());
  EXPECT_TRUE(book.Apply("other", NotYetJudged({}), kStart + 10 * kSecond).empty());
  EXPECT_THAT(KindsOf(book.Apply("other", NotYetJudged({}), kStart + 20 * kSecond)),
              testing::ElementsAre(Kind::kResolved));
}

// The new engine may see it from its first step on, and be in no hurry.
TEST_F(RestoreTest, WhatWasFoundSlowIsGivenTimeToBeFoundAgain) {
  const Verdict slow = Hang(0, VerdictClass::kHostSlow);
  const JobSight sight = {.step_seconds = 2};
  IncidentBook earlier = NewBook();
  const wire::Incident incident = earlier.Apply("job", Concluded({slow}), kStart).at(0).incident;
  for (const bool is_found : {true, false}) {
    IncidentBook book = NewBook();
    book.Restore({incident});
    EXPECT_TRUE(book.Apply("job", Concluded({}), kStart + 10 * kSecond, sight).empty());
    EXPECT_TRUE(book.Apply("job", Concluded({}), kStart + 59 * kSecond, sight).empty());
    const auto events = book.Apply("job", Concluded(is_found ? std::vector{slow} : std::vector<Verdict>{}),
                                   kStart + 60 * kSecond, sight);
    if (!is_found) EXPECT_THAT(KindsOf(events), testing::ElementsAre(Kind::kResolved)) << "30 s and ten steps";
    if (!is_found) continue;
    EXPECT_THAT(events, testing::IsEmpty());
    book.Apply("job", Concluded({}), kStart + 61 * kSecond, sight);
    EXPECT_THAT(KindsOf(book.Apply("job", Concluded({}), kStart + 64 * kSecond, sight)),
                testing::ElementsAre(Kind::kResolved))
        << "as one of its own";
  }
}

TEST_F(RestoreTest, AResolvedOneReopens) {
  wire::Incident incident = OpenIncident();
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.set_resolved_wall_ns(kStart + 1 * kSecond);
  IncidentBook book = NewBook();
  book.Restore({incident});
  EXPECT_THAT(KindsOf(book.Apply("job", Concluded({Hang(3)}), kStart + 2 * kSecond)),
              testing::ElementsAre(Kind::kReopened));
}

TEST_F(RestoreTest, OfTwoWithOneCauseTheNewerCounts) {
  wire::Incident older = OpenIncident();
  wire::Incident newer = older;
  newer.set_id(older.id() + 1);
  IncidentBook book = NewBook();
  book.Restore({newer, older});
  EXPECT_EQ(book.size(), 1u);
  EXPECT_EQ(book.EndJob("job", kStart + kSecond, wire::Incident::RESOLUTION_JOB_ENDED, "over").at(0).incident.id(),
            newer.id());
}

// A job that stands is never judged to the end.
TEST_F(RestoreTest, WhoIsHeardAgainIsNotUnreachableWhateverTheNewEngineHasJudged) {
  Verdict silence = Hang(-1, VerdictClass::kMachineUnreachable);
  IncidentBook before = NewBook();
  const auto opened = before.Apply("job", Concluded({silence, Hang(3)}), kStart);
  ASSERT_EQ(opened.size(), 2u);
  IncidentBook book = NewBook();
  book.Restore({opened[0].incident, opened[1].incident});
  bool hears = false;
  const JobSight sight = {.hears = [&](const std::string& host) { return hears && host == "node-1"; }};
  for (int second = 1; second < 60; ++second) {
    EXPECT_THAT(book.Apply("job", NotYetJudged({}), kStart + second * kSecond, sight), testing::IsEmpty());
  }
  hears = true;
  book.Apply("job", NotYetJudged({}), kStart + 60 * kSecond, sight);
  const auto events = book.Apply("job", NotYetJudged({}), kStart + 64 * kSecond, sight);
  ASSERT_THAT(KindsOf(events), testing::ElementsAre(Kind::kResolved));
  EXPECT_EQ(events[0].incident.verdict().class_(), "machine_unreachable");
}

}  // namespace
}  // namespace lockstep
