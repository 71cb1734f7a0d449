#include "detector/engine/counter_outliers.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int kLearningSeconds = 60;

// Hosts of one metric, of which those of one rack draw less power from a moment on, one after the other.
struct Fleet {
  int hosts = 40;
  int lone_host = -1;  // draws less as well, and stands elsewhere
  int hosts_per_rack = 4;
  int odd_rack = 2;        // -1 = none
  int stragglers = 0;      // of the odd rack that fall back 10 s later
  int odd_seconds = 1000;  // after which all is well again
  bool has_places = true;
  bool may_accuse = false;  // no operation record judges the job
  int learning_seconds = kLearningSeconds;
  int slow_second = -1;  // from when on the whole job does a tenth less; -1 = never
  int silent_host = -1;  // tells nothing from the end of learning on; -1 = none

  double job_pace(int64_t second) const { return slow_second >= 0 && second >= slow_second ? 0.9 : 1; }
};

class Play {
 public:
  explicit Play(const Fleet& fleet) : fleet_(fleet) {
    for (int host = 0; host < fleet.hosts; ++host) {
      roster_.TouchHost(Name(host), kNanosPerSecond);
      if (fleet.has_places) places_.of_host[Name(host)][0] = absl::StrCat("r", host / fleet.hosts_per_rack);
    }
  }

  // The observations after one more second.
  std::vector<Verdict> Second() {
    ++second_;
    for (int host = 0; host < fleet_.hosts; ++host) {
      if (host == fleet_.silent_host && second_ >= fleet_.learning_seconds) continue;
      const double value = (300 + 10 * random_.Gaussian()) * (IsOdd(host) ? 0.6 : 1);
      const int64_t now_ns = second_ * kNanosPerSecond;
      counters_.Observe(host,
                        {.host = Name(host),
                         .received_ns = now_ns,
                         .host_ns = now_ns,
                         .samples = {{"gpu0", Metric::kGpuPowerWatts, now_ns, value * fleet_.job_pace(second_)}}},
                        /*compared=*/true);
    }
    outliers_.Find({.counters = counters_,
                    .roster = roster_,
                    .places = places_,
                    .may_accuse = fleet_.may_accuse,
                    .watermark_ns = second_ * kNanosPerSecond + 1000});
    std::vector<Verdict> verdicts;
    outliers_.AddTo(&verdicts);
    return verdicts;
  }

  std::vector<Verdict> After(int64_t seconds) {
    while (second_ + 1 < seconds) Second();
    return Second();
  }

  const CounterOutliers& outliers() const { return outliers_; }

 private:
  static std::string Name(int host) { return absl::StrCat("node-", host); }

  bool IsOdd(int host) const {
    const int since = static_cast<int>(second_) - fleet_.learning_seconds;
    if (host == fleet_.lone_host && since >= 0) return true;
    if (host / fleet_.hosts_per_rack != fleet_.odd_rack || since < 0 || since >= fleet_.odd_seconds) return false;
    return since >= 10 || host % fleet_.hosts_per_rack >= fleet_.stragglers;
  }

  const Fleet fleet_;
  Random random_{7};
  Roster roster_{{}};
  PlaceTable places_;
  CounterStream counters_{1'000'000};
  CounterOutliers outliers_;
  int64_t second_ = 0;
};

TEST(CounterOutliersTest, NamesTheRackAndNoMachineOfIt) {
  // A tenth of the machines stands out one by one; a fifth is too many and set aside, but for what they share.
  for (const int hosts_per_rack : {4, 8}) {
    Play play({.hosts_per_rack = hosts_per_rack});
    const std::vector<Verdict> verdicts = play.After(kLearningSeconds + 30);
    ASSERT_EQ(verdicts.size(), 1u) << hosts_per_rack;
    EXPECT_EQ(verdicts[0].scope, VerdictScope::kUnknown);
    EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kCounterOutlier);
    EXPECT_EQ(verdicts[0].culprits.size(), static_cast<size_t>(hosts_per_rack));
    EXPECT_TRUE(absl::StrContains(verdicts[0].evidence.at(0).text(),
                                  absl::StrCat(hosts_per_rack, " machines of rack r2 stand out together, 0 of the")))
        << verdicts[0].evidence[0].text();
  }
}

TEST(CounterOutliersTest, MachinesOfAPlaceDoNotCrowdOutOneThatStandsForItself) {
  Play play({.hosts = 200, .lone_host = 199, .hosts_per_rack = 20});
  const std::vector<Verdict> verdicts = play.After(kLearningSeconds + 30);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_GT(verdicts[0].culprits.size(), CounterOutliers::kMaxOutliers);
  ASSERT_EQ(verdicts[1].culprits.size(), 1u);
  EXPECT_EQ(verdicts[1].culprits[0].host, "node-199");
}

TEST(CounterOutliersTest, WithoutPlacesEachMachineStandsForItself) {
  Play play({.has_places = false});
  const std::vector<Verdict> verdicts = play.After(kLearningSeconds + 30);
  EXPECT_EQ(verdicts.size(), 4u);
  for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.culprits.size(), 1u);
}

// Without operation records the gate decides: who stands out while the job is degraded is accused, else observed.
TEST(CounterOutliersTest, AccusesWhereNoRecordTellsAndTheJobIsDegraded) {
  constexpr int kOdd = 240;
  for (const bool may_accuse : {false, true}) {
    for (const int slow_second : {-1, kOdd}) {
      Play play({.lone_host = 7,
                 .odd_rack = -1,
                 .has_places = false,
                 .may_accuse = may_accuse,
                 .learning_seconds = kOdd,
                 .slow_second = slow_second});
      std::vector<Verdict> verdicts = play.After(kOdd + 60);
      ASSERT_EQ(verdicts.size(), 1u);
      ASSERT_EQ(verdicts[0].culprits.size(), 1u);
      EXPECT_EQ(verdicts[0].culprits[0].host, "node-7");
      const bool accused = may_accuse && slow_second >= 0;
      EXPECT_EQ(verdicts[0].scope, accused ? VerdictScope::kMachine : VerdictScope::kUnknown);
      EXPECT_EQ(verdicts[0].verdict_class == VerdictClass::kCounterOutlier, !accused);
      EXPECT_EQ(verdicts[0].advice, accused ? Advice::kCordonAndReplace : Advice::kObserve);
    }
  }
}

// An agent may have been stopped: silence accuses only where nothing but counters judges the job, and it is degraded.
TEST(CounterOutliersTest, ASilentMachineIsUnreachableOnlyWhereNoRecordTellsAndTheJobIsDegraded) {
  constexpr int kSilent = 240;
  for (const bool may_accuse : {false, true}) {
    for (const int slow_second : {-1, kSilent}) {
      Play play({.odd_rack = -1,
                 .has_places = false,
                 .may_accuse = may_accuse,
                 .learning_seconds = kSilent,
                 .slow_second = slow_second,
                 .silent_host = 7});
      const std::vector<Verdict> verdicts = play.After(kSilent + 90);
      const bool accused = may_accuse && slow_second >= 0;
      ASSERT_EQ(verdicts.size(), accused ? 1u : 0u) << may_accuse << slow_second;
      if (!accused) continue;
      EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kMachineUnreachable);
      EXPECT_EQ(verdicts[0].scope, VerdictScope::kMachine);
      ASSERT_EQ(verdicts[0].culprits.size(), 1u);
      EXPECT_EQ(verdicts[0].culprits[0].host, "node-7");
    }
  }
}

TEST(CounterOutliersTest, AMachineThatRecordsBlameGetsItsCountersAsEvidence) {
  Play play({.lone_host = 7, .odd_rack = -1, .has_places = false});
  std::vector<Verdict> verdicts = {Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow)};
  verdicts[0].culprits = {{.host = "node-7", .rank = 3, .confidence = 0.8}};
  play.After(kLearningSeconds + 30);
  play.outliers().AddTo(&verdicts);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_NEAR(verdicts[0].culprits[0].confidence, 0.9, 1e-9);
  ASSERT_FALSE(verdicts[0].evidence.empty());
  EXPECT_EQ(verdicts[0].evidence[0].kind, EvidenceKind::kCounter);
}

TEST(CounterOutliersTest, AHealthyFleetHasNoPlaceAstray) {
  Play play({.odd_rack = -1});
  for (int second = 0; second < 3 * kLearningSeconds; ++second) EXPECT_TRUE(play.Second().empty());
}

TEST(CounterOutliersTest, APlaceIsOneCauseWhoeverJoinsAndEndsSoonAfterItIsWell) {
  Play play({.hosts_per_rack = 5, .stragglers = 1, .odd_seconds = 40});
  std::set<std::string> causes;
  int last = 0;
  for (int second = 0; second < kLearningSeconds + 200; ++second) {
    for (const Verdict& verdict : play.Second()) {
      if (verdict.culprits.size() == 1) continue;  // before there are enough of them
      causes.insert(CauseKey(verdict));
      last = second;
    }
  }
  EXPECT_EQ(causes.size(), 1u);
  EXPECT_GT(last, kLearningSeconds + 40);
  EXPECT_LT(last, kLearningSeconds + 40 + 120);
}

}  // namespace
}  // namespace lockstep
