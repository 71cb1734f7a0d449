// A job that falls silent as a whole, beside a fleet that goes on, falls silent with it, or comes back.

#include "detector/engine/silent_job.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "detector/engine/job_engine.h"
#include "detector/model/fleet_sight.h"
#include "detector/model/input.h"
#include "detector/testing/job_generator.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr double kSilentFrom = 20;
constexpr FleetSight kGoesOn = {.reporting = 3, .silent = 1};

struct Told {
  std::map<std::string, double> first;  // by cause, at which second
  std::vector<Verdict> last;
  bool concluded = false;  // at the last look
  JobState state = JobState::kUnknown;
};

// Two looks a second at a job whose hosts are heard while `is_heard` says so; the fleet is `fleet` to those looks at
// which the job is not.
Told Watch(const JobGeneratorOptions& options, double until, const std::function<bool(double)>& is_heard,
           const std::function<FleetSight(double)>& fleet, const std::function<bool(double)>& looks = nullptr) {
  JobGenerator generator(options);
  JobEngine engine({});
  Told told;
  double heard = 0;
  while (generator.NowSeconds() < until) {
    const std::vector<HostReport> reports = generator.NextReports();
    const double now = generator.NowSeconds();
    if (is_heard(now)) {
      for (const HostReport& report : reports) engine.Observe(report);
      heard = now;
    }
    if (looks != nullptr && !looks(now)) continue;
    for (const int64_t later_ns : {int64_t{0}, kNanosPerSecond / 2}) {
      const JobEngine::Conclusion conclusion =
          engine.Evaluate(generator.NowNanos() + later_ns, now - heard >= 5 ? fleet(now) : FleetSight());
      for (const Verdict& verdict : conclusion.verdicts) told.first.try_emplace(CauseKey(verdict), now);
      told.last = conclusion.verdicts;
      told.concluded = conclusion.can_conclude;
    }
  }
  told.state = engine.summary().state;
  return told;
}

bool UntilSilent(double now) { return now < kSilentFrom; }

TEST(SilentJobTest, TheHostOfAJobThatFellSilentAloneIsNamedAndAccusedOfNothing) {
  const Told told = Watch({}, 70, UntilSilent, [](double) { return kGoesOn; });
  ASSERT_EQ(told.first.size(), 1u);
  EXPECT_EQ(told.first.begin()->first, "hang:node-0");
  EXPECT_GE(told.first.begin()->second - kSilentFrom, 24) << "an agent may be upgraded";
  EXPECT_LE(told.first.begin()->second - kSilentFrom, 32);
  ASSERT_EQ(told.last.size(), 1u);
  EXPECT_EQ(told.last[0].verdict_class, VerdictClass::kMachineUnreachable);
  EXPECT_EQ(told.last[0].type(), FindingType::kObservation);
  EXPECT_FALSE(AccusesNode(told.last[0]));
  EXPECT_NE(told.last[0].evidence.at(0).text().find("3 other hosts of the fleet report"), std::string::npos);
  EXPECT_FALSE(told.concluded) << "nothing that held has been seen to go";
  EXPECT_EQ(told.state, JobState::kUnknown);
}

TEST(SilentJobTest, EachHostOfAJobThatFellSilentIsNamed) {
  const Told told =
      Watch({.ranks_per_host = 2}, 70, UntilSilent, [](double) { return FleetSight{.reporting = 2, .silent = 2}; });
  ASSERT_EQ(told.last.size(), 2u);
  EXPECT_EQ(CauseKey(told.last[0]), "hang:node-0");
  EXPECT_EQ(CauseKey(told.last[1]), "hang:node-1");
}

TEST(SilentJobTest, ACollectorThatHearsNobodyOrTheLesserPartNamesNobody) {
  for (const FleetSight fleet :
       {FleetSight(), FleetSight{.reporting = 0, .silent = 4}, FleetSight{.reporting = 3, .silent = 4}}) {
    const Told told = Watch({}, 120, UntilSilent, [fleet](double) { return fleet; });
    EXPECT_TRUE(told.first.empty()) << fleet.reporting << " of " << fleet.silent;
  }
}

TEST(SilentJobTest, AFleetThatComesBackGivesTheJobTimeToDoSoToo) {
  const auto fleet = [](double now) { return now < 80 ? FleetSight{.reporting = 0, .silent = 4} : kGoesOn; };
  const Told back = Watch(
      {}, 140, [](double now) { return now < kSilentFrom || now > 100; }, fleet);
  EXPECT_TRUE(back.first.empty());
  EXPECT_TRUE(back.concluded);
  const Told gone = Watch({}, 140, UntilSilent, fleet);
  ASSERT_EQ(gone.first.size(), 1u);
  EXPECT_GE(gone.first.begin()->second, 80 + 24);
}

TEST(SilentJobTest, WhoDidNotLookForLongHasHeardNobody) {
  const auto looks = [](double now) { return now < kSilentFrom || now > 100; };
  const Told told = Watch(
      {}, 120, UntilSilent, [](double) { return kGoesOn; }, looks);
  EXPECT_TRUE(told.first.empty());
}

TEST(SilentJobTest, AfterARestartTheFleetIsWatchedAnew) {
  JobGenerator generator({});
  JobEngine engine({});
  for (int i = 0; i < 20; ++i) {
    for (const HostReport& report : generator.NextReports()) engine.Observe(report);
    engine.Evaluate(generator.NowNanos());
  }
  int64_t now_ns = generator.NowNanos();
  const auto look = [&](int seconds) {
    size_t verdicts = 0;
    for (int i = 0; i < seconds; ++i) verdicts = engine.Evaluate(now_ns += kNanosPerSecond, kGoesOn).verdicts.size();
    return verdicts;
  };
  EXPECT_EQ(look(23), 0u);
  engine.Resume(now_ns);
  EXPECT_EQ(look(23), 0u);
  EXPECT_EQ(look(3), 1u);
}

TEST(SilentJobTest, AJobThatEndedInOrderIsNotMissed) {
  const Told told = Watch({.ends_at = 15}, 120, UntilSilent, [](double) { return kGoesOn; });
  EXPECT_TRUE(told.first.empty()) << told.first.begin()->first;
  EXPECT_EQ(told.state, JobState::kEnded);
}

TEST(SilentJobTest, AHostThatIsHeardAgainIsNamedNoMore) {
  const Told told = Watch(
      {}, 100, [](double now) { return now < kSilentFrom || now > 70; }, [](double) { return kGoesOn; });
  EXPECT_EQ(told.first.size(), 1u);
  EXPECT_TRUE(told.last.empty());
  EXPECT_TRUE(told.concluded);
}

}  // namespace
}  // namespace lockstep
