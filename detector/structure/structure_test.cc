#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "detector/steps/step_profile.h"
#include "detector/structure/finding.h"
#include "detector/structure/imbalance.h"
#include "detector/structure/job_change.h"
#include "detector/structure/rotation.h"
#include "detector/structure/stage_imbalance.h"
#include "detector/structure/structural_verdicts.h"
#include "detector/verdict/job_reasons.h"
#include "detector/verdict/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kMinGain = 0.03;

struct Shape {
  int32_t stages = 2;
  int32_t replicas = 8;
  int32_t lanes = 2;
  int32_t experts = 1;  // expert index = replica modulo this
  size_t steps = 24;
};

using Factor = std::function<double(const PlaceInJob&, size_t step)>;

double One(const PlaceInJob& /*place*/, size_t /*step*/) { return 1; }

// Own time of 1 s with 1 % of noise and 0.6 % of binning, times what `factor` says for a place and step. In jobs with
// experts, 0.4 s of it are theirs, times what `routing` says.
StepProfile Profile(const Shape& shape, uint64_t seed, const Factor& factor, const Factor& routing = One) {
  Random random(seed);
  StepProfile profile{.steps = shape.steps, .microbatches = 8};
  for (int32_t stage = 0; stage < shape.stages; ++stage) {
    for (int32_t replica = 0; replica < shape.replicas; ++replica) {
      for (int32_t lane = 0; lane < shape.lanes; ++lane) {
        profile.places.push_back({stage, replica, lane});
        const double bin = 1 + 0.006 * random.Gaussian();
        for (size_t step = 0; step < shape.steps; ++step) {
          const double own = bin * (1 + 0.01 * random.Gaussian()) * factor(profile.places.back(), step);
          const double experts = shape.experts == 1 ? 0 : 0.4 * routing(profile.places.back(), step);
          const double unrouted = shape.experts == 1 ? 1 : 0.6;
          profile.own_seconds.push_back(static_cast<float>(own * (unrouted + experts)));
          if (shape.experts > 1) profile.unrouted_seconds.push_back(static_cast<float>(own * unrouted));
        }
      }
    }
  }
  for (const double model : ModelSteps(profile, profile.own_seconds)) profile.step_seconds.push_back(model + 0.1);
  return profile;
}

std::vector<VerdictClass> Classes(const StepProfile& profile) {
  std::vector<VerdictClass> classes;
  for (const Verdict& verdict : FindStructural(profile, nullptr, kMinGain)) {
    EXPECT_NE(verdict.scope, VerdictScope::kMachine);
    EXPECT_NE(verdict.scope, VerdictScope::kNetwork);
    EXPECT_TRUE(verdict.culprits.empty());
    classes.push_back(verdict.verdict_class);
  }
  return classes;
}

// A factor per replica and step that ranks of one replica share.
std::function<double(const PlaceInJob&, size_t)> Lengths(uint64_t seed, double variation, size_t steps) {
  std::vector<double> factors;
  Random random(seed);
  for (size_t i = 0; i < 64 * steps; ++i) factors.push_back(std::max(0.3, 1 + variation * random.Gaussian()));
  return [factors, steps](const PlaceInJob& place, size_t step) {
    return factors[static_cast<size_t>(place.replica) * steps + step];
  };
}

TEST(Structure, NothingIsFoundInHealthyJobs) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const Shape shape{.stages = static_cast<int32_t>(1 + random.Below(4)),
                      .replicas = static_cast<int32_t>(1 + random.Below(8)),
                      .lanes = static_cast<int32_t>(1 + random.Below(4)),
                      .experts = static_cast<int32_t>(1 + random.Below(3)),
                      .steps = 4 + random.Below(60)};
    found += static_cast<int>(Classes(Profile(shape, seed, One)).size());
  }
  EXPECT_EQ(found, 0);
}

TEST(Structure, ALongStageIsNamedInEveryReplicaAndWithItsCost) {
  const StepProfile profile = Profile({}, 1, [](const PlaceInJob& p, size_t) { return p.stage == 1 ? 1.5 : 1.0; });
  const std::vector<Verdict> verdicts = FindStructural(profile, nullptr, kMinGain);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kStageImbalance);
  EXPECT_EQ(verdicts[0].advice, Advice::kRebalance);
  // 1.5 + 1/8 against 1 + 1/8, and a tenth of a second that it does not explain.
  EXPECT_NEAR(verdicts[0].cost.slowdown_fraction, 0.5 / 1.725, 0.03);
}

TEST(Structure, OneSlowRankIsNoLongStage) {
  for (const int32_t replicas : {2, 4, 8}) {
    const auto slow = [](const PlaceInJob& p, size_t) { return p.stage == 1 && p.replica == 1 ? 2.4 : 1.0; };
    EXPECT_TRUE(Classes(Profile({.replicas = replicas}, 1, slow)).empty()) << replicas;
  }
  // And both at once are still told apart.
  const StepProfile both = Profile({}, 1, [](const PlaceInJob& p, size_t) {
    return (p.stage == 1 ? 1.5 : 1.0) * (p.replica == 3 && p.lane == 0 && p.stage == 0 ? 2.0 : 1.0);
  });
  EXPECT_EQ(Classes(both), std::vector<VerdictClass>{VerdictClass::kStageImbalance});
}

TEST(Structure, BatchesOfDifferentLengthAreNamed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Shape shape{.steps = 40};
    EXPECT_EQ(Classes(Profile(shape, seed, Lengths(seed, 0.25, shape.steps))),
              std::vector<VerdictClass>{VerdictClass::kSequenceImbalance});
  }
}

TEST(Structure, VariationThatIsNotSharedByTheReplicaIsNotItsData) {
  Random random(3);
  const StepProfile profile =
      Profile({.steps = 40}, 3, [&](const PlaceInJob&, size_t) { return 1 + 0.2 * std::abs(random.Gaussian()); });
  for (const VerdictClass found : Classes(profile)) EXPECT_NE(found, VerdictClass::kSequenceImbalance);
}

TEST(Structure, StallsThatGoRoundAreTheProgramsAndNotTheBatches) {
  Random random(5);
  const StepProfile profile =
      Profile({.steps = 40}, 5, [&](const PlaceInJob&, size_t) { return random.Below(20) == 0 ? 1.5 : 1.0; });
  const std::vector<Verdict> verdicts = FindStructural(profile, nullptr, kMinGain);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHostSlow);
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kSoftware);
  const auto one = [&](const PlaceInJob& p, size_t) {
    return p.replica == 1 && p.stage == 0 && p.lane == 0 && random.Below(3) == 0 ? 1.5 : 1.0;
  };
  EXPECT_TRUE(Classes(Profile({.steps = 40}, 5, one)).empty());
}

TEST(Structure, StallsThatGoRoundOnOneHostAreNotThePrograms) {
  // A host holds as many replicas as there are to one. A quarter of all stall, each now and then.
  const auto classes_on = [](int32_t hosts) {
    Random random(5);
    StepProfile profile = Profile({.steps = 40}, 5, [&](const PlaceInJob& place, size_t) {
      return place.replica < 2 && random.Below(6) == 0 ? 1.5 : 1.0;
    });
    for (PlaceInJob& place : profile.places) place.host = place.replica * hosts / 8;
    return Classes(profile);
  };
  EXPECT_THAT(classes_on(1), ElementsAre(VerdictClass::kHostSlow)) << "there is no other host";
  EXPECT_THAT(classes_on(4), IsEmpty()) << "its ranks take turns, and no others";
  EXPECT_THAT(classes_on(8), IsEmpty()) << "those of two hosts";
}

TEST(Structure, LanesOfOneReplicaAreNoExpertGroups) {
  // One slow host holds all lanes of a replica, and so of one expert index of its group.
  const Shape shape{.stages = 1, .replicas = 8, .lanes = 8, .experts = 4};
  const auto host = [](const PlaceInJob& p, size_t) { return p.replica == 5 ? 1.6 : 1.0; };
  EXPECT_TRUE(Classes(Profile(shape, 1, host)).empty());
  // Batches of different length are not hot experts.
  const Shape many{.stages = 2, .replicas = 16, .lanes = 4, .experts = 8, .steps = 40};
  EXPECT_EQ(Classes(Profile(many, 2, Lengths(2, 0.12, many.steps))),
            std::vector<VerdictClass>{VerdictClass::kSequenceImbalance});
}

TEST(Structure, RoutedWorkThatDiffersMoreThanOtherWorkIsHotExperts) {
  StepProfile profile = Profile({.stages = 1, .replicas = 16, .experts = 4}, 1, One);
  const auto told = [&](RoutedSpread routing) {
    profile.routing = routing;
    return FindStructural(
        profile, [](UnevenWork) { return 0.2; }, kMinGain);
  };
  const std::vector<Verdict> hot = told({.routed = 0.8, .unrouted = 0.2, .groups = 4});
  ASSERT_EQ(hot.size(), 1u);
  EXPECT_EQ(hot[0].verdict_class, VerdictClass::kExpertImbalance);
  EXPECT_NEAR(hot[0].cost.slowdown_fraction, 0.15, 1e-9) << "a quarter of it is in any work";
  EXPECT_TRUE(told({.routed = 0.45, .unrouted = 0.4, .groups = 4}).empty()) << "batches, or a slow machine";
  EXPECT_TRUE(told({.routed = 0.04, .unrouted = 0.01, .groups = 4}).empty()) << "as equal as work gets";
  EXPECT_TRUE(told({}).empty());
}

TEST(Structure, WhatRemainsBeyondThePlaceIsTheRankItself) {
  const Shape shape{.stages = 1, .replicas = 16, .lanes = 1, .experts = 4};
  const StepProfile profile = Profile(
      shape, 1, [](const PlaceInJob& p, size_t) { return p.replica == 6 ? 1.4 : 1.0; },
      [](const PlaceInJob& p, size_t) { return p.replica % 4 == 2 ? 2.0 : 1.0; });
  const std::vector<float> beyond = ExcessBeyondPlace(profile);
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    const double expected = profile.places[rank].replica == 6 ? 1.4 : 1.0;
    EXPECT_NEAR(static_cast<double>(beyond[rank * profile.steps + 7]), expected, 0.12) << rank;
  }
}

TEST(Structure, RotationEntropyTellsAnOwnerFromATraveller) {
  EXPECT_EQ(RotationEntropy({3, 3, 3, 3, 3, 3}, 8), 0);
  EXPECT_NEAR(RotationEntropy({0, 1, 2, 3}, 4), 1, 1e-12);
  EXPECT_NEAR(RotationEntropy({0, 1, 0, 1, 1, 0}, 2), 1, 1e-12);
  EXPECT_EQ(RotationEntropy({}, 4), 0);
  EXPECT_EQ(RotationEntropy({0, 0, 0}, 1), 0);
  Random random(1);
  int owned = 0, travelled = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<size_t> stays, goes;
    const size_t places = 4 + random.Below(60);
    for (int step = 0; step < 20; ++step) {
      stays.push_back(random.Below(10) == 0 ? random.Below(places) : 1);
      goes.push_back(random.Below(places));
    }
    owned += RotationEntropy(stays, places) < kGoesRound ? 1 : 0;
    travelled += RotationEntropy(goes, places) >= kGoesRound ? 1 : 0;
  }
  EXPECT_EQ(owned, 200);
  EXPECT_EQ(travelled, 200);
}

TEST(Structure, ReplicasThatStaySlowAreNotTheirBatches) {
  const Shape shape{.stages = 1, .replicas = 4, .lanes = 8, .steps = 30};
  const auto onset = [](const PlaceInJob& p, size_t step) { return p.replica == 2 && step >= 12 ? 1.5 : 1.0; };
  EXPECT_TRUE(Classes(Profile(shape, 1, onset)).empty());
  // Neither are batches of two replicas hidden by one that is slow as well.
  const auto lengths = Lengths(7, 0.2, shape.steps);
  const auto both = [&](const PlaceInJob& p, size_t step) { return lengths(p, step) * (p.replica == 2 ? 1.1 : 1.0); };
  EXPECT_EQ(Classes(Profile(shape, 1, both)), std::vector<VerdictClass>{VerdictClass::kSequenceImbalance});
}

TEST(Structure, TheReplayHasTheLastWordOnWhatUnevenWorkCosts) {
  StepProfile profile = Profile({.stages = 2, .replicas = 8, .lanes = 2, .experts = 4, .steps = 24}, 1, One);
  profile.routing = {.routed = 1, .unrouted = 0, .groups = 4};
  std::vector<UnevenWork> asked;
  const auto answer = [&](double gain) {
    return [&asked, gain](UnevenWork which) {
      asked.push_back(which);
      return gain;
    };
  };
  EXPECT_TRUE(FindStructural(profile, answer(0.01), kMinGain).empty());
  EXPECT_TRUE(FindStructural(profile, answer(-1), kMinGain).empty()) << "no step could be replayed";
  const std::vector<Verdict> verdicts = FindStructural(profile, answer(0.2), kMinGain);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_NEAR(verdicts[0].cost.slowdown_fraction, 0.2, 1e-9);
  EXPECT_EQ(asked, std::vector<UnevenWork>(3, UnevenWork::kExperts));
}

TEST(Structure, ARegressionOfAllRanksIsTheJobsAndOfOneRankNot) {
  const auto all = [](const PlaceInJob&, size_t step) { return step >= 11 ? 1.15 : 1.0; };
  const std::vector<Verdict> verdicts = FindStructural(Profile({}, 1, all), nullptr, kMinGain);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kJobRegression);
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kJob);
  EXPECT_EQ(verdicts[0].first_step, 11);
  EXPECT_NEAR(verdicts[0].cost.slowdown_fraction, 0.13, 0.01);
  const auto one = [](const PlaceInJob& p, size_t step) { return p.replica == 0 && step >= 11 ? 1.3 : 1.0; };
  EXPECT_TRUE(Classes(Profile({}, 1, one)).empty());
}

// The recording begins inside of a step, of which next to nothing is seen.
TEST(Structure, AFirstStepThatWasRecordedInPartHidesNoRegression) {
  const auto all = [](const PlaceInJob&, size_t step) { return step == 0 ? 0.01 : step >= 11 ? 1.15 : 1.0; };
  const std::vector<Verdict> verdicts = FindStructural(Profile({}, 1, all), nullptr, kMinGain);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kJobRegression);
  EXPECT_EQ(verdicts[0].first_step, 11);
}

TEST(Structure, ASlowWaveIsDriftAndNotARegression) {
  const auto wave = [](const PlaceInJob&, size_t step) {
    return 1 + 0.03 * std::sin(2 * 3.14159265 * static_cast<double>(step) / 60);
  };
  EXPECT_EQ(Classes(Profile({.steps = 60}, 1, wave)), std::vector<VerdictClass>{VerdictClass::kDrift});
}

TEST(Structure, APauseIsNamedAndPlannedIfItIsTheSchedule) {
  StepProfile profile = Profile({.steps = 40}, 1, One);
  profile.pause_seconds.assign(profile.steps, 0.0);
  profile.pause_seconds[17] = 20;
  const std::vector<Verdict> verdicts = FindStructural(profile, nullptr, kMinGain);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kPause);
  EXPECT_EQ(verdicts[0].first_step, 17);
  EXPECT_NEAR(verdicts[0].cost.steps_affected_fraction, 1.0 / 23, 1e-9) << "the steps after it are as they were";
  EXPECT_FALSE(IsPlanned(verdicts[0]));
  for (const size_t step : {7u, 27u, 37u}) profile.pause_seconds[step] = 20;
  const std::vector<Verdict> planned = FindStructural(profile, nullptr, kMinGain);
  ASSERT_EQ(planned.size(), 1u);
  EXPECT_TRUE(IsPlanned(planned[0]));
  EXPECT_TRUE(FindStructural(profile, nullptr, 0.99).empty()) << "planned breaks that take less are not worth a word";
}

TEST(Structure, APauseIsNearerToAStepThanToNone) {
  StepProfile profile = Profile({.steps = 40}, 1, One);
  const double step_seconds = profile.step_seconds[10];
  for (const double steps : {0.4, 0.6}) {
    profile.pause_seconds.assign(profile.steps, 0.0);
    for (const size_t step : {7u, 17u, 27u, 37u}) profile.pause_seconds[step] = steps * step_seconds;
    EXPECT_EQ(FindStructural(profile, nullptr, kMinGain).size(), steps > 0.5 ? 1u : 0u) << steps;
  }
}

TEST(Structure, StartingUpIsNoPause) {
  StepProfile profile = Profile({.steps = 40}, 1, One);
  profile.pause_seconds.assign(profile.steps, 0.0);
  profile.pause_seconds[0] = 60;
  profile.pause_seconds[1] = 20;
  EXPECT_TRUE(FindStructural(profile, nullptr, kMinGain).empty());
}

TEST(Structure, LevelShiftAgreesWithTryingEverySplit) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    std::vector<double> series(8 + random.Below(20));
    for (double& value : series) value = random.Gaussian();
    double least = HUGE_VAL;
    for (size_t at = 3; at + 3 <= series.size(); ++at) {
      double left = 0;
      for (const bool first : {true, false}) {
        const size_t from = first ? 0 : at;
        const size_t to = first ? at : series.size();
        double mean = 0;
        for (size_t i = from; i < to; ++i) mean += series[i] / static_cast<double>(to - from);
        for (size_t i = from; i < to; ++i) left += (series[i] - mean) * (series[i] - mean);
      }
      least = std::min(least, left);
    }
    EXPECT_NEAR(FindLevelShift(series, 3).left, least, 1e-9) << "seed " << seed;
  }
}

TEST(Structure, AStageOfWhichNothingIsKnownIsLeftOut) {
  StepProfile profile =
      Profile({.stages = 3}, 1, [](const PlaceInJob& place, size_t) { return place.stage == 2 ? 1.5 : 1; });
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    if (profile.places[rank].stage != 0) continue;
    for (size_t step = 0; step < profile.steps; ++step) profile.own_seconds[rank * profile.steps + step] = NAN;
  }
  EXPECT_EQ(Classes(profile), std::vector<VerdictClass>{VerdictClass::kStageImbalance});
}

TEST(Structure, WhatBecomesLongerInTheMiddleIsNoLayout) {
  constexpr size_t kOnset = 10;
  const auto times = [](double layout) {
    return [layout](const PlaceInJob& place, size_t step) {
      const double since = step >= kOnset ? 1.5 : 1;
      return place.stage == 1 ? layout * since : 1.0;
    };
  };
  EXPECT_TRUE(FindStageImbalance(Profile({}, 1, times(1)), kMinGain).empty()) << "a host that is the stage";
  const std::vector<StructuralFinding> both = FindStageImbalance(Profile({}, 1, times(1.3)), kMinGain);
  ASSERT_EQ(both.size(), 1u);
  const auto* const stage = both[0].reason.As<LongStage>();
  ASSERT_NE(stage, nullptr);
  EXPECT_NEAR(stage->times, 1.3, 0.02) << "before it";
  const auto recovers = [&times](const PlaceInJob& place, size_t step) { return times(1)(place, 23 - step); };
  EXPECT_TRUE(FindStageImbalance(Profile({}, 1, recovers), kMinGain).empty()) << "it was slow and is not any more";
}

TEST(Structure, ADriftIsThatOfNearlyAllRanks) {
  const auto wave_of = [](int32_t replicas) {
    return [replicas](const PlaceInJob& place, size_t step) {
      return place.replica < replicas ? 1 + 0.12 * std::sin(static_cast<double>(step) / 10) : 1;
    };
  };
  EXPECT_FALSE(FindDrift(Profile({.steps = 60}, 1, wave_of(8))).empty());
  EXPECT_TRUE(FindDrift(Profile({.steps = 60}, 1, wave_of(5))).empty()) << "some ranks stand out";
}

TEST(Structure, UnknownOwnTimesAreNoEvidence) {
  StepProfile profile = Profile({}, 1, One);
  std::fill(profile.own_seconds.begin(), profile.own_seconds.end(), std::nanf(""));
  EXPECT_TRUE(FindStructural(profile, nullptr, kMinGain).empty());
}

}  // namespace
}  // namespace lockstep
