// What an incident goes through beside opened and resolved: suspicion, silence, maintenance, an end by hand, flapping,
// storms. Who is called for what is the point of all of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/testing/status_matchers.h"
#include "collector/incident/incident_book.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using What = IncidentAction::What;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'000'000 * kSecond;

Verdict About(Verdict verdict, const std::string& host, int64_t last_seen_ns) {
  verdict.culprits = {Culprit{.host = host, .rank = 3, .confidence = 0.9}};
  verdict.last_seen_ns = last_seen_ns;
  return verdict;
}

class LifecycleTest : public ::testing::Test {
 protected:
  IncidentBook NewBook() {
    return IncidentBook(
        options_, [this] { return ++last_id_; },
        [this](const wire::Incident& incident, int64_t /*wall_ns*/) -> uint64_t {
          return worked_on_.contains(incident.verdict().culprits(0).host()) ? 5 : 0;
        },
        nullptr,
        [this](const wire::Incident& incident, int64_t /*wall_ns*/) {
          return lemons_.contains(incident.verdict().culprits(0).host());
        });
  }

  static Verdict Slow(const std::string& host, int64_t second) {
    return About(Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow), host,
                 kStart + second * kSecond);
  }
  static Verdict Hang(const std::string& host, int64_t second) {
    return About(Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kHangNotEntered), host,
                 kStart + second * kSecond);
  }
  static Verdict Odd(const std::string& host, int64_t second) {
    return About(Verdict::Observation(VerdictClass::kComputeSlow), host, kStart + second * kSecond);
  }

  // Everything that happens in that second, in which exactly these hold.
  std::vector<IncidentEvent> Second(IncidentBook& book, int64_t second, std::vector<Verdict> verdicts) {
    const int64_t wall_ns = kStart + second * kSecond;
    const JobEngine::Conclusion conclusion = {
        .verdicts = std::move(verdicts), .can_conclude = true, .has_judged = true};
    std::vector<IncidentEvent> events = book.Apply("job", conclusion, wall_ns);
    for (IncidentEvent& event : book.Tick(wall_ns)) events.push_back(std::move(event));
    for (const IncidentEvent& event : events) stored_[event.incident.id()] = event.incident;
    return events;
  }

  absl::StatusOr<ActedIncident> Act(IncidentBook& book, What what, int64_t second, const std::string& text = "",
                                    int64_t until_second = 0) {
    const IncidentAction action = {
        .what = what, .by = "alice", .text = text, .until_wall_ns = kStart + until_second * kSecond};
    absl::StatusOr<ActedIncident> acted = book.Act("job", 1, action, kStart + second * kSecond);
    if (acted.ok()) stored_[1] = acted->incident;
    return acted;
  }

  // As a new life of the collector finds it in history.
  IncidentBook Restarted() {
    IncidentBook book = NewBook();
    std::vector<wire::Incident> incidents;
    for (const auto& [id, incident] : stored_) incidents.push_back(incident);
    book.Restore(incidents);
    return book;
  }

  // What receivers of alerts are told, as "opened 1".
  static std::vector<std::string> Told(const std::vector<IncidentEvent>& events) {
    static constexpr const char* kNames[] = {"opened", "updated", "resolved", "reopened"};
    std::vector<std::string> told;
    for (const IncidentEvent& event : events) {
      if (!event.is_for_receivers()) continue;
      told.push_back(std::string(kNames[static_cast<size_t>(event.kind)]) + " " + std::to_string(event.incident.id()));
    }
    return told;
  }

  IncidentBookOptions options_;
  std::set<std::string> worked_on_;
  std::set<std::string> lemons_;
  std::map<uint64_t, wire::Incident> stored_;
  uint64_t last_id_ = 0;
};

TEST_F(LifecycleTest, AnObservationIsASuspicionUntilItBecomesAnAccusation) {
  IncidentBook book = NewBook();
  ASSERT_EQ(CauseKey(Odd("a", 0)), CauseKey(Slow("a", 0)));
  const auto suspected = Second(book, 0, {Odd("a", 0)});
  ASSERT_EQ(suspected.size(), 1u);
  EXPECT_TRUE(suspected[0].incident.suspected());
  EXPECT_EQ(StateWord(suspected[0].incident), "suspected");
  EXPECT_EQ(suspected[0].incident.transitions(0).what(), "suspected");
  EXPECT_THAT(Told(suspected), ElementsAre());
  EXPECT_THAT(Told(Second(book, 1, {Slow("a", 1)})), ElementsAre("opened 1"));
  EXPECT_EQ(StateWord(stored_[1]), "open");
  EXPECT_EQ(stored_[1].transitions().rbegin()->what(), "opened");
  EXPECT_THAT(Told(Second(book, 9, {Odd("a", 9)})), ElementsAre("updated 1"));
  EXPECT_EQ(StateWord(stored_[1]), "open") << "what was proven once is no suspicion any more";
}

TEST_F(LifecycleTest, WhatIsNotProvenIsToldOfAHostThatOthersBlamedAndOfNoOther) {
  lemons_ = {"lemon"};
  IncidentBook book = NewBook();
  EXPECT_THAT(Told(Second(book, 0, {Odd("lemon", 0), Odd("pear", 0)})), ElementsAre("opened 1"));
  EXPECT_EQ(StateWord(stored_[1]), "open");
  EXPECT_EQ(stored_[1].verdict().scope(), "unknown") << "an observation is still none that accuses";
  EXPECT_THAT(stored_[1].transitions(0).why(), HasSubstr("unproven"));
  EXPECT_EQ(StateWord(stored_[2]), "suspected");
  Second(book, 10, {});
  EXPECT_THAT(Told(Second(book, 20, {})), ElementsAre("resolved 1"));
  EXPECT_THAT(Told(Second(book, 30, {Odd("lemon", 30), Odd("pear", 30)})), ElementsAre("reopened 1"));
}

TEST_F(LifecycleTest, ASuspicionIsToldOnceOthersBlameItsHost) {
  IncidentBook book = NewBook();
  EXPECT_THAT(Told(Second(book, 0, {Odd("lemon", 0)})), ElementsAre());
  lemons_ = {"lemon"};
  EXPECT_THAT(Told(Second(book, 1, {Odd("lemon", 1)})), ElementsAre()) << "histories are looked at every few seconds";
  EXPECT_THAT(Told(Second(book, 6, {Odd("lemon", 6)})), ElementsAre("opened 1"));
  lemons_.clear();
  Second(book, 12, {Odd("lemon", 12)});
  EXPECT_EQ(StateWord(stored_[1]), "open") << "what was told stays so";
}

TEST_F(LifecycleTest, ASuspicionThatGoesAwayIsToldToNobody) {
  IncidentBook book = NewBook();
  EXPECT_THAT(Told(Second(book, 0, {Odd("a", 0)})), ElementsAre());
  Second(book, 1, {});
  const auto gone = Second(book, 9, {});
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].kind, Kind::kResolved);
  EXPECT_THAT(Told(gone), ElementsAre());
}

TEST_F(LifecycleTest, AnObservationThatStopsTheJobIsOpenAtOnce) {
  IncidentBook book = NewBook();
  Verdict hang = About(Verdict::Observation(VerdictClass::kHangInCommunication), "a", kStart);
  EXPECT_THAT(Told(Second(book, 0, {hang})), ElementsAre("opened 1"));
}

TEST_F(LifecycleTest, NobodyIsCalledInASilenceAndWhatStillHoldsIsToldWhenItEnds) {
  IncidentBook book = NewBook();
  EXPECT_THAT(Told(Second(book, 0, {Slow("a", 0)})), ElementsAre("opened 1"));
  const auto silenced = Act(book, What::kSilence, 1, "we know", /*until_second=*/60);
  ASSERT_OK(silenced);
  EXPECT_FALSE(silenced->event->is_for_receivers());
  EXPECT_THAT(silenced->incident.transitions().rbegin()->why(), HasSubstr("UTC by alice: we know"));
  EXPECT_FALSE(Act(book, What::kSilence, 2, "we know", 60)->event.has_value()) << "the same again";
  Verdict worse = Slow("a", 30);
  worse.cost.seconds_per_step = 2;
  EXPECT_THAT(Told(Second(book, 30, {worse})), ElementsAre());
  IncidentBook next_life = Restarted();
  EXPECT_THAT(Told(Second(next_life, 59, {worse})), ElementsAre());
  EXPECT_THAT(Told(Second(next_life, 60, {worse})), ElementsAre("opened 1"));
  EXPECT_FALSE(stored_[1].has_silence());
  EXPECT_EQ(stored_[1].transitions().rbegin()->why(), "its time is over");
}

TEST_F(LifecycleTest, TheEndOfWhatReceiversKnowIsToldAlsoInASilenceAndNothingElse) {
  IncidentBook book = NewBook();
  Second(book, 0, {Slow("a", 0)});
  ASSERT_OK(Act(book, What::kSilence, 1, "", 100));
  Second(book, 2, {});
  EXPECT_THAT(Told(Second(book, 6, {})), ElementsAre("resolved 1"));
  EXPECT_TRUE(stored_[1].has_silence()) << "it may come back";
  EXPECT_THAT(Told(Second(book, 8, {Slow("a", 8)})), ElementsAre());
  EXPECT_TRUE(stored_[1].withheld());
  Second(book, 9, {});
  EXPECT_THAT(Told(Second(book, 13, {})), ElementsAre()) << "they do not know that it came back";
  EXPECT_THAT(Act(book, What::kSilence, 14, "", 200).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is resolved")));
  EXPECT_THAT(Told(Second(book, 101, {})), ElementsAre());
  EXPECT_FALSE(stored_[1].has_silence());
}

TEST_F(LifecycleTest, ASilenceThatSomebodyEndsIsOverAtOnce) {
  IncidentBook book = NewBook();
  Second(book, 0, {Slow("a", 0)});
  ASSERT_OK(Act(book, What::kSilence, 1, "", 100));
  const auto ended = Act(book, What::kUnsilence, 2);
  ASSERT_OK(ended);
  EXPECT_THAT(Told({*ended->event}), ElementsAre("opened 1"));
  EXPECT_THAT(Act(book, What::kUnsilence, 3).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nobody has silenced")));
}

TEST_F(LifecycleTest, WhatIsInMaintenanceIsRecordedAndToldWhenThatIsOver) {
  IncidentBook book = NewBook();
  worked_on_ = {"a"};
  EXPECT_THAT(Told(Second(book, 0, {Slow("a", 0), Slow("b", 0)})), ElementsAre("opened 2"));
  EXPECT_EQ(stored_[1].maintenance(), 5u);
  EXPECT_EQ(StateWord(stored_[1]), "maintenance");
  IncidentBook next_life = Restarted();
  worked_on_ = {};
  EXPECT_THAT(Told(Second(next_life, 1, {Slow("a", 1), Slow("b", 1)})), ElementsAre("opened 1"));
  worked_on_ = {"b"};
  Second(next_life, 2, {Slow("a", 2), Slow("b", 2)});
  EXPECT_EQ(StateWord(stored_[2]), "maintenance") << "a window that begins while it is open";
  Second(next_life, 3, {Slow("a", 3)});
  EXPECT_THAT(Told(Second(next_life, 7, {Slow("a", 7)})), ElementsAre("resolved 2")) << "it was told before";
}

TEST_F(LifecycleTest, WhatSomebodyResolvedComesBackWithEvidenceFromLaterOnly) {
  options_.by_hand_grace_ns = 300 * kSecond;
  options_.reopen_within_ns = 60 * kSecond;
  IncidentBook book = NewBook();
  Second(book, 0, {Slow("a", 0)});
  const auto resolved = Act(book, What::kResolve, 10, "replaced the GPU");
  ASSERT_OK(resolved);
  EXPECT_THAT(Told({*resolved->event}), ElementsAre("resolved 1"));
  EXPECT_EQ(resolved->incident.resolution(), wire::Incident::RESOLUTION_BY_HAND);
  EXPECT_EQ(resolved->incident.resolved_by().by(), "alice");
  EXPECT_EQ(resolved->incident.transitions().rbegin()->why(), "by alice: replaced the GPU");
  EXPECT_FALSE(Act(book, What::kResolve, 11, "replaced the GPU")->event.has_value()) << "the same again";
  IncidentBook next_life = Restarted();
  EXPECT_TRUE(Second(next_life, 200, {Slow("a", 200)}).empty());
  EXPECT_TRUE(Second(next_life, 400, {Slow("a", 310)}).empty()) << "the evidence is of before";
  EXPECT_THAT(Told(Second(next_life, 320, {Slow("a", 311)})), ElementsAre("reopened 1"));
  EXPECT_FALSE(stored_[1].has_resolved_by());
}

TEST_F(LifecycleTest, CommentsStayAndTheSameOneTwiceIsOne) {
  IncidentBook book = NewBook();
  Second(book, 0, {Slow("a", 0)});
  ASSERT_OK(Act(book, What::kComment, 1, "fan is loud"));
  EXPECT_FALSE(Act(book, What::kComment, 2, "fan is loud")->event.has_value());
  Second(book, 3, {});
  Second(book, 7, {});
  const auto later = Act(book, What::kComment, 8, "fan was replaced");
  ASSERT_OK(later) << "also of one that is resolved";
  EXPECT_FALSE(later->event->is_for_receivers());
  ASSERT_EQ(later->incident.comments_size(), 2);
  EXPECT_EQ(later->incident.comments(0).text(), "fan is loud");
  EXPECT_EQ(later->incident.comments(0).wall_ns(), kStart + kSecond);
  for (int i = 2; i < kMaxComments; ++i) ASSERT_OK(Act(book, What::kComment, 9, std::to_string(i)));
  EXPECT_THAT(Act(book, What::kComment, 10, "one more").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("64 comments")));
}

TEST_F(LifecycleTest, WhatComesAndGoesTooOftenStaysOpenUntilItIsQuietForLonger) {
  options_.flap_reopenings = 3;
  options_.flap_quiet_ns = 60 * kSecond;
  IncidentBook book = NewBook();
  std::vector<std::string> told;
  int64_t second = 0;
  for (int turn = 0; turn < 6; ++turn) {
    for (const auto& verdicts : {std::vector<Verdict>{Slow("a", second)}, {}, {}}) {
      for (std::string& one : Told(Second(book, second, verdicts))) told.push_back(one);
      second += 4;
    }
  }
  EXPECT_THAT(told, ElementsAre("opened 1", "resolved 1", "reopened 1", "resolved 1", "reopened 1", "resolved 1",
                                "reopened 1"));
  EXPECT_TRUE(stored_[1].flapping());
  EXPECT_THAT(stored_[1].transitions().rbegin()->why(), HasSubstr("came back 3 times within 1800 s"));
  IncidentBook next_life = Restarted();
  Second(next_life, second, {});
  EXPECT_TRUE(Second(next_life, second + 59, {}).empty());
  EXPECT_THAT(Told(Second(next_life, second + 60, {})), ElementsAre("resolved 1"));
  EXPECT_FALSE(stored_[1].flapping());
  EXPECT_THAT(Told(Second(next_life, second + 90, {Slow("a", second + 90)})), ElementsAre("reopened 1"));
  EXPECT_TRUE(stored_[1].flapping()) << "it is not forgotten so soon";
}

class StormTest : public LifecycleTest {
 protected:
  StormTest() { options_.storm_incidents = 3; }

  // Hosts "0", "1" and so on.
  static std::vector<Verdict> SlowHosts(int from, int to, int64_t second) {
    std::vector<Verdict> verdicts;
    for (int host = from; host < to; ++host) verdicts.push_back(Slow(std::to_string(host), second));
    return verdicts;
  }
};

TEST_F(StormTest, FurtherIncidentsOfOneJobAreFoldedUnderTheFirstAndToldToNobody) {
  IncidentBook book = NewBook();
  EXPECT_THAT(Told(Second(book, 0, SlowHosts(0, 9, 0))), ElementsAre("opened 1", "opened 2", "opened 3"));
  for (uint64_t id = 4; id <= 9; ++id) EXPECT_EQ(stored_[id].folded_under(), 1u) << id;
  EXPECT_EQ(StateWord(stored_[9]), "folded");
  EXPECT_THAT(Told(Second(book, 5, SlowHosts(0, 9, 5))), ElementsAre("updated 1")) << "with the count";
  EXPECT_EQ(stored_[1].folds(), 6u);
  EXPECT_THAT(Told(Second(book, 6, SlowHosts(0, 8, 6))), ElementsAre());
  EXPECT_THAT(Told(Second(book, 10, SlowHosts(0, 8, 10))), ElementsAre()) << "the end of a folded one";
  EXPECT_EQ(stored_[9].state(), wire::Incident::STATE_RESOLVED);
  EXPECT_THAT(Told(Second(book, 90, SlowHosts(0, 10, 90))), ElementsAre("reopened 9", "opened 10"))
      << "the storm is over";
}

TEST_F(StormTest, WhatStopsTheJobIsNeverFoldedUnderWhatDoesNot) {
  IncidentBook book = NewBook();
  Second(book, 0, SlowHosts(0, 6, 0));
  std::vector<Verdict> verdicts = SlowHosts(0, 6, 1);
  verdicts.push_back(Hang("h", 1));
  EXPECT_THAT(Told(Second(book, 1, verdicts)), ElementsAre("opened 7"));
  verdicts.push_back(
      About(Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kGpuFault), "g", kStart + 2 * kSecond));
  EXPECT_THAT(Told(Second(book, 2, verdicts)), ElementsAre("opened 8")) << "a fault of a GPU stops it as well";
}

TEST_F(StormTest, WhenTheOneThatStandsForTheOthersEndsTheOldestOfThemFollows) {
  IncidentBook book = NewBook();
  Second(book, 0, SlowHosts(0, 6, 0));
  IncidentBook next_life = Restarted();
  Second(next_life, 1, SlowHosts(1, 6, 1));
  const auto events = Second(next_life, 31, SlowHosts(1, 6, 31));
  EXPECT_THAT(Told(events), ElementsAre("resolved 1", "opened 4"));
  EXPECT_EQ(stored_[4].folds(), 2u);
  EXPECT_EQ(stored_[5].folded_under(), 4u);
  EXPECT_EQ(stored_[6].folded_under(), 4u);
  EXPECT_THAT(stored_[4].transitions().rbegin()->why(), HasSubstr("incident 1 does not stand for it any more"));
}

TEST_F(StormTest, SuspicionsThatBecomeAccusationsAtOnceAreAStormToo) {
  IncidentBook book = NewBook();
  std::vector<Verdict> odd;
  for (int host = 0; host < 6; ++host) odd.push_back(Odd(std::to_string(host), 0));
  EXPECT_THAT(Told(Second(book, 0, odd)), ElementsAre());
  EXPECT_THAT(Told(Second(book, 1, SlowHosts(0, 6, 1))), ElementsAre("opened 1", "opened 2", "opened 3"));
  EXPECT_EQ(stored_[6].folded_under(), 1u);
}

TEST_F(StormTest, WhatIsInMaintenanceItselfNeedsNobodyToStandForIt) {
  IncidentBook book = NewBook();
  Second(book, 0, SlowHosts(0, 5, 0));
  worked_on_ = {"0", "3", "4"};
  EXPECT_THAT(Told(Second(book, 1, SlowHosts(0, 5, 1))), ElementsAre());
  EXPECT_EQ(stored_[4].folded_under(), 0u);
  EXPECT_TRUE(Second(book, 2, SlowHosts(0, 5, 2)).empty()) << "it is said once";
  worked_on_ = {};
  EXPECT_THAT(Told(Second(book, 3, SlowHosts(0, 5, 3))), ElementsAre("opened 1", "opened 4", "opened 5"));
}

TEST_F(StormTest, WhoseLeaderGoesIntoMaintenanceIsNotForgotten) {
  IncidentBook book = NewBook();
  Second(book, 0, SlowHosts(0, 5, 0));
  worked_on_ = {"0"};
  EXPECT_THAT(Told(Second(book, 1, SlowHosts(0, 5, 1))), ElementsAre("opened 4"));
}

}  // namespace
}  // namespace lockstep
