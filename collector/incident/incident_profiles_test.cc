// What profiles show, as evidence of incidents: whom it joins, what it opens, how long it stays.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collector/incident/incident_book_fixture.h"
#include "collector/incident/profile_evidence.h"
#include "detector/verdict/pattern_reasons.h"

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kJob[] = "train";

// As the engine says it.
Verdict Slow(int32_t rank) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  if (rank >= 0) verdict.culprits = {Culprit{.host = "node-1", .rank = rank, .confidence = 0.9}};
  verdict.evidence = {{EvidenceKind::kLateness, InputNote{"the rank arrives last"}}};
  verdict.last_seen_ns = kLater;
  return verdict;
}

// As profiles say it: rank -1 = of all ranks.
Verdict Loader(int32_t rank, const std::string& function = "DataLoader.__next__") {
  Verdict verdict = Verdict::Accusation(VerdictScope::kSoftware, VerdictClass::kStorageStall);
  if (rank >= 0) verdict.culprits = {Culprit{.host = "node-1", .rank = rank, .confidence = 0.8}};
  verdict.evidence = {
      {EvidenceKind::kCounter, WorkTakesLonger{.work = "data loading", .ranks = {rank}, .compared = 8, .share = 0.5}},
      {EvidenceKind::kCounter, FunctionTakesLonger{.function = function, .kind = "Python", .share = 0.5}}};
  return verdict;
}

Verdict SlowKernel(int32_t rank) {
  Verdict verdict = Loader(rank, "gemm");
  verdict.scope = VerdictScope::kUnknown;
  verdict.verdict_class = VerdictClass::kComputeSlow;
  return verdict;
}

std::vector<std::string> EvidenceOf(const wire::Incident& incident) {
  std::vector<std::string> kinds;
  for (const wire::Evidence& evidence : incident.verdict().evidence()) kinds.push_back(evidence.kind());
  return kinds;
}

class IncidentProfilesTest : public IncidentBookTest {
 protected:
  // The incident of that id as it is after `events`.
  wire::Incident Newest(const std::vector<IncidentEvent>& events, uint64_t id = 1) {
    for (const IncidentEvent& event : events) {
      if (event.incident.id() == id) return event.incident;
    }
    ADD_FAILURE() << "no event of incident " << id;
    return {};
  }

  std::vector<IncidentEvent> Evaluate(std::vector<Verdict> verdicts, int64_t wall_ns, bool is_well = false) {
    return book_.Apply(kJob, Concluded(std::move(verdicts)), wall_ns, {.is_well = is_well});
  }

  IncidentBook book_ = NewBook();
};

TEST_F(IncidentProfilesTest, AFindingJoinsTheIncidentThatNamesItsRankWithNumbers) {
  Evaluate({Slow(3)}, kStart);
  const auto events = book_.AddProfile(kJob, {{Loader(3)}, {3, 4, 5}, 1}, kStart + kSecond);
  EXPECT_THAT(KindsOf(events), ElementsAre(Kind::kUpdated));
  const wire::Incident incident = Newest(events);
  EXPECT_EQ(incident.verdict().class_(), "compute_slow") << "the engine's words stay";
  EXPECT_THAT(EvidenceOf(incident), ElementsAre("lateness", "profile", "profile"));
  EXPECT_THAT(incident.verdict().evidence(1).text(), HasSubstr("data loading in 50.0%"));
  EXPECT_THAT(incident.verdict().evidence(2).text(), HasSubstr("DataLoader.__next__"));
  EXPECT_THAT(WhatsOf(incident), Contains("profiled"));
  EXPECT_EQ(incident.transitions(incident.transitions_size() - 1).why(),
            "3 ranks were profiled: 2 more pieces of evidence");
}

TEST_F(IncidentProfilesTest, WhatRestsOnProfilesAloneIsForTheLedger) {
  Evaluate({Slow(3)}, kStart);
  Verdict known = Loader(3);
  Verdict other = Loader(5);
  Verdict of_all = Loader(-1);
  of_all.verdict_class = VerdictClass::kJobRegression;
  known.cost.slowdown_fraction = 0.4;  // in the line of what it joins
  other.cost.slowdown_fraction = 0.1;
  of_all.cost.slowdown_fraction = 0.2;
  book_.AddProfile(kJob, {{known, other, of_all}, {3, 5, 6}, 1}, kStart + kSecond);
  const std::vector<IncidentBook::ProfiledCost> costs = book_.ProfiledCosts(kJob);
  ASSERT_THAT(costs, SizeIs(2));
  EXPECT_EQ(costs[0].finding, "job_regression");
  EXPECT_DOUBLE_EQ(costs[0].share, 0.2);
  EXPECT_EQ(costs[1].finding, "storage_stall rank 5 node-1");
  EXPECT_THAT(book_.ProfiledCosts("another"), IsEmpty());
  book_.AddProfile(kJob, {{}, {3, 5, 6}, 1}, kStart + 2 * kSecond);
  EXPECT_THAT(book_.ProfiledCosts(kJob), IsEmpty()) << "a newer profile shows it no more";
}

TEST_F(IncidentProfilesTest, NewerVerdictsLeaveItAndANewerProfileReplacesIt) {
  Evaluate({Slow(3)}, kStart);
  book_.AddProfile(kJob, {{Loader(3)}, {3, 4}, 1}, kStart + kSecond);
  Verdict newer = Slow(3);
  newer.evidence[0].reason = InputNote{"the rank arrives later still"};
  const auto updated = Evaluate({newer}, kStart + 20 * kSecond);
  EXPECT_THAT(EvidenceOf(Newest(updated)), ElementsAre("lateness", "profile", "profile"));
  EXPECT_THAT(Evaluate({newer}, kStart + 40 * kSecond), IsEmpty()) << "it is no news by itself";
  const auto again = book_.AddProfile(kJob, {{Loader(3, "gc.collect")}, {3, 4}, 1}, kStart + 50 * kSecond);
  EXPECT_THAT(EvidenceOf(Newest(again)), ElementsAre("lateness", "profile", "profile"));
  EXPECT_THAT(Newest(again).verdict().evidence(2).text(), HasSubstr("gc.collect"));
  const auto nothing = book_.AddProfile(kJob, {{}, {3, 4}, 1}, kStart + 60 * kSecond);
  EXPECT_THAT(KindsOf(nothing), ElementsAre(Kind::kNoted));
  EXPECT_THAT(Newest(nothing).transitions().rbegin()->why(), HasSubstr("2 ranks were profiled: nothing stands out"));
}

TEST_F(IncidentProfilesTest, TheEngineResolvesAnIncidentOfItsOwnWhateverProfilesHaveShown) {
  Evaluate({Slow(3)}, kStart);
  book_.AddProfile(kJob, {{Loader(3)}, {3, 4}, 1}, kStart + kSecond);
  Evaluate({}, kStart + 10 * kSecond);
  EXPECT_THAT(KindsOf(Evaluate({}, kStart + 20 * kSecond)), ElementsAre(Kind::kResolved));
}

TEST_F(IncidentProfilesTest, WhatNoIncidentTakesOpensOneOfSoftwareThatEndsWhenTheJobIsWell) {
  const auto events = book_.AddProfile(kJob, {{Loader(3)}, {3, 4, 5}, 0}, kStart);
  EXPECT_THAT(KindsOf(events), ElementsAre(Kind::kOpened));
  const wire::Incident incident = Newest(events);
  EXPECT_EQ(incident.verdict().scope(), "software");
  EXPECT_EQ(incident.verdict().culprits(0).rank(), 3);
  EXPECT_FALSE(incident.suspected());
  EXPECT_TRUE(RestsOnProfiles(incident));
  for (int64_t second = 1; second < 1'000; second += 7) {
    EXPECT_THAT(Evaluate({}, kStart + second * kSecond), IsEmpty()) << "the engine does not miss what it cannot see";
  }
  EXPECT_THAT(Evaluate({}, kStart + 1'000 * kSecond, /*is_well=*/true), IsEmpty());
  EXPECT_THAT(Evaluate({}, kStart + 1'030 * kSecond, /*is_well=*/false), IsEmpty());
  EXPECT_THAT(Evaluate({}, kStart + 1'060 * kSecond, /*is_well=*/true), IsEmpty()) << "it was not well for a minute";
  EXPECT_THAT(KindsOf(Evaluate({}, kStart + 1'120 * kSecond, /*is_well=*/true)), ElementsAre(Kind::kResolved));
}

TEST_F(IncidentProfilesTest, ANewerProfileOfItsRanksEndsWhatRestsOnProfiles) {
  book_.AddProfile(kJob, {{Loader(3)}, {3, 4}, 0}, kStart);
  EXPECT_THAT(KindsOf(book_.AddProfile(kJob, {{}, {4, 5}, 1}, kStart + kSecond)), ElementsAre(Kind::kNoted))
      << "its rank was not among them";
  EXPECT_THAT(KindsOf(book_.AddProfile(kJob, {{Loader(3)}, {3, 4}, 1}, kStart + 2 * kSecond)),
              ElementsAre(Kind::kUpdated));
  const auto gone = book_.AddProfile(kJob, {{}, {3, 4}, 0}, kStart + 3 * kSecond);
  EXPECT_THAT(KindsOf(gone), ElementsAre(Kind::kResolved));
  EXPECT_EQ(Newest(gone).resolution(), wire::Incident::RESOLUTION_CAUSE_GONE);
}

TEST_F(IncidentProfilesTest, ItOutlivesARestart) {
  const wire::Incident kept = Newest(book_.AddProfile(kJob, {{Loader(3)}, {3, 4}, 0}, kStart));
  IncidentBook next = NewBook();
  next.Restore({kept});
  EXPECT_THAT(next.Apply(kJob, Concluded({}), kStart + 100 * kSecond), IsEmpty());
  EXPECT_THAT(next.Apply(kJob, Concluded({}), kStart + 200 * kSecond), IsEmpty());
  EXPECT_THAT(KindsOf(next.AddProfile(kJob, {{Loader(3)}, {3, 4}, kept.id()}, kStart + 300 * kSecond)),
              ElementsAre(Kind::kUpdated));
}

TEST_F(IncidentProfilesTest, AnObservationJoinsTheIncidentThatItIsAboutAndOpensNone) {
  EXPECT_THAT(book_.AddProfile(kJob, {{SlowKernel(3)}, {3, 4}, 0}, kStart), IsEmpty());
  Evaluate({Slow(7)}, kStart);
  const auto events = book_.AddProfile(kJob, {{SlowKernel(3)}, {3, 7}, 1}, kStart + kSecond);
  EXPECT_THAT(EvidenceOf(Newest(events)), ElementsAre("lateness", "profile", "profile"));
}

TEST_F(IncidentProfilesTest, WhatIsOfAllRanksJoinsTheIncidentOfTheWholeJob) {
  Verdict regression = Verdict::Accusation(VerdictScope::kJob, VerdictClass::kJobRegression);
  regression.evidence = Slow(-1).evidence;
  regression.last_seen_ns = kLater;
  Evaluate({regression}, kStart);
  const auto events = book_.AddProfile(kJob, {{Loader(-1)}, {3, 4}, 1}, kStart + kSecond);
  EXPECT_THAT(KindsOf(events), ElementsAre(Kind::kUpdated));
  EXPECT_THAT(EvidenceOf(Newest(events)), ElementsAre("lateness", "profile", "profile"));
  Evaluate({regression, Slow(3)}, kStart + 2 * kSecond);
  const auto because_of_a_rank = book_.AddProfile(kJob, {{Loader(-1)}, {3, 4}, 2}, kStart + 3 * kSecond);
  EXPECT_THAT(EvidenceOf(Newest(because_of_a_rank, 1)), ElementsAre("lateness", "profile", "profile"));
  EXPECT_THAT(EvidenceOf(Newest(because_of_a_rank, 2)), ElementsAre("lateness")) << "it is not the cause of one";
}

TEST_F(IncidentProfilesTest, EvidenceIsBounded) {
  Evaluate({Slow(3)}, kStart);
  Verdict many = Loader(3);
  many.evidence.resize(100, many.evidence[1]);
  const wire::Incident incident = Newest(book_.AddProfile(kJob, {{many, many}, {3, 4}, 1}, kStart + kSecond));
  EXPECT_EQ(incident.verdict().evidence_size(), 1 + kMaxProfileEvidence);
}

}  // namespace
}  // namespace lockstep
