// When jobs are profiled by themselves, in virtual time.

#include "collector/profiles/profile_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kStart = 1'700'000'000 * kSecond;
constexpr int64_t kHour = ProfileSchedule::kEveryNanos;
constexpr int64_t kSettled = ProfileSchedule::kSettleNanos;

wire::Incident Slow(uint64_t id, int64_t opened_ns, const std::string& scope = "software") {
  wire::Incident incident;
  incident.set_id(id);
  incident.set_job("train");
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.set_opened_wall_ns(opened_ns);
  incident.mutable_verdict()->set_scope(scope);
  incident.mutable_verdict()->set_class_("compute_slow");
  incident.mutable_verdict()->add_evidence()->set_kind("lateness");
  return incident;
}

wire::Job Job(const std::string& state, double unexplained_seconds = 0) {
  wire::Job job;
  job.set_job("train");
  job.set_state(state);
  job.mutable_ledger()->set_reference_seconds(1);
  job.mutable_ledger()->set_measured_seconds(1 + unexplained_seconds);
  job.mutable_ledger()->set_unexplained_seconds(unexplained_seconds);
  return job;
}

class ProfileScheduleTest : public ::testing::Test {
 protected:
  // The id of the incident because of which the job is profiled; -1 = it is not. What is due is begun.
  int64_t Turn(const wire::Job& job, const std::vector<wire::Incident>& incidents, int64_t now_ns) {
    const std::optional<ProfileReason> reason = schedule_.Due(job, incidents, now_ns);
    if (!reason.has_value()) return -1;
    schedule_.Begin(job.job(), now_ns);
    return static_cast<int64_t>(reason->incident);
  }

  // How often the job is profiled in `span_ns`, if somebody looks every five seconds.
  int CountIn(const wire::Job& job, const std::vector<wire::Incident>& incidents, int64_t from_ns, int64_t span_ns) {
    int times = 0;
    for (int64_t now_ns = from_ns; now_ns < from_ns + span_ns; now_ns += 5 * kSecond) {
      times += Turn(job, incidents, now_ns) >= 0 ? 1 : 0;
    }
    return times;
  }

  ProfileSchedule schedule_;
};

TEST_F(ProfileScheduleTest, OnceForAnIncidentThatHasHeldForAWhile) {
  const std::vector<wire::Incident> incidents = {Slow(7, kStart)};
  EXPECT_EQ(Turn(Job("slow"), incidents, kStart), -1);
  EXPECT_EQ(Turn(Job("slow"), incidents, kStart + kSettled - 1), -1);
  EXPECT_EQ(Turn(Job("slow"), incidents, kStart + kSettled), 7);
  EXPECT_EQ(CountIn(Job("slow"), incidents, kStart + kSettled, 5 * kHour), 0);
}

TEST_F(ProfileScheduleTest, AJobThatIsNotSlowIsLeftAlone) {
  for (const char* state : {"healthy", "unknown", "hung", "ended", "stopped", "failed", "gone", "of a newer release"}) {
    EXPECT_EQ(Turn(Job(state, 0.5), {Slow(7, kStart)}, kStart + kHour), -1) << state;
  }
  EXPECT_EQ(Turn(Job("irregular"), {Slow(7, kStart)}, kStart + kHour), 7);
}

TEST_F(ProfileScheduleTest, ANewIncidentWaitsForTheHourToBeOver) {
  EXPECT_EQ(Turn(Job("slow"), {Slow(7, kStart - kHour)}, kStart), 7);
  const std::vector<wire::Incident> two = {Slow(7, kStart - kHour), Slow(8, kStart + 60 * kSecond)};
  EXPECT_EQ(Turn(Job("slow"), two, kStart + kHour - 1), -1);
  EXPECT_EQ(Turn(Job("slow"), two, kStart + kHour), 8);
}

TEST_F(ProfileScheduleTest, HoweverManyIncidentsOpenThereIsOneProfilePerHour) {
  int times = 0;
  std::vector<wire::Incident> incidents;
  for (int64_t minute = 0; minute < 10 * 60; ++minute) {
    incidents.push_back(Slow(static_cast<uint64_t>(minute + 1), kStart + minute * 60 * kSecond));
    times += Turn(Job("slow", 0.5), incidents, kStart + (minute + 1) * 60 * kSecond) >= 0 ? 1 : 0;
  }
  EXPECT_EQ(times, 10);
}

TEST_F(ProfileScheduleTest, WhatAMachineOrTheNetworkExplainsIsNoReason) {
  for (const char* scope : {"machine", "network", "job", "unknown"}) {
    EXPECT_EQ(Turn(Job("slow"), {Slow(7, kStart, scope)}, kStart + kHour), -1) << scope;
  }
  wire::Incident of_job = Slow(8, kStart, "job");
  of_job.mutable_verdict()->set_advice("check_software");
  EXPECT_EQ(Turn(Job("slow"), {of_job}, kStart + kHour), 8);
}

TEST_F(ProfileScheduleTest, OfSoftwareTheDearestIncidentIsTheReason) {
  std::vector<wire::Incident> incidents = {Slow(1, kStart), Slow(2, kStart), Slow(3, kStart, "machine")};
  incidents[1].mutable_verdict()->mutable_cost()->set_seconds_per_step(0.5);
  incidents[2].mutable_verdict()->mutable_cost()->set_seconds_per_step(5);
  EXPECT_EQ(schedule_.Due(Job("slow"), incidents, kStart + kHour)->incident, 2u);
  EXPECT_EQ(schedule_.Due(Job("slow"), incidents, kStart + kHour)->text, "incident 2");
}

TEST_F(ProfileScheduleTest, WhatNothingExplainsIsAboutTheDearestIncident) {
  std::vector<wire::Incident> incidents = {Slow(1, kStart, "machine"), Slow(2, kStart, "network")};
  incidents[1].mutable_verdict()->mutable_cost()->set_seconds_per_step(0.5);
  EXPECT_EQ(schedule_.Due(Job("slow", 0.2), incidents, kStart), std::nullopt);
  const std::optional<ProfileReason> reason = schedule_.Due(Job("slow", 0.2), incidents, kStart + kSettled);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->incident, 2u);
  EXPECT_EQ(reason->text, "a part of its time that nothing explains");
}

TEST_F(ProfileScheduleTest, WhatNothingExplainsIsAReasonOncePerTimeThatItBegins) {
  EXPECT_EQ(Turn(Job("slow", 0.2), {}, kStart), -1) << "it has to hold";
  EXPECT_EQ(Turn(Job("slow", 0.2), {}, kStart + kSettled), 0);
  EXPECT_EQ(CountIn(Job("slow", 0.2), {}, kStart + kSettled, 5 * kHour), 0);
  EXPECT_EQ(Turn(Job("healthy"), {}, kStart + 6 * kHour), -1);
  EXPECT_EQ(CountIn(Job("slow", 0.2), {}, kStart + 6 * kHour, 5 * kHour), 1);
}

TEST_F(ProfileScheduleTest, ASmallOrUncertainPartIsNone) {
  EXPECT_FALSE(HasUnexplainedPart(Job("slow", 0.04)));
  EXPECT_TRUE(HasUnexplainedPart(Job("slow", 0.06)));
  wire::Job uncertain = Job("slow", 0.2);
  uncertain.mutable_ledger()->set_error_seconds(0.11);
  EXPECT_FALSE(HasUnexplainedPart(uncertain));
  EXPECT_FALSE(HasUnexplainedPart(Job("slow", -0.2)));
  EXPECT_FALSE(HasUnexplainedPart(wire::Job()));
}

TEST_F(ProfileScheduleTest, WhatRestsOnProfilesIsLookedAtAgainEveryHour) {
  wire::Incident incident = Slow(7, kStart);
  incident.mutable_verdict()->mutable_evidence(0)->set_kind("profile");
  EXPECT_EQ(CountIn(Job("slow"), {incident}, kStart + kSettled, 5 * kHour), 5);
}

TEST_F(ProfileScheduleTest, ARestartIsNoReason) {
  schedule_.Restore("train", kStart - 2 * kHour);
  schedule_.Restore("train", kStart);
  schedule_.Restore("train", kStart - 3 * kHour);
  wire::Incident newer = Slow(8, kStart + kSecond);
  EXPECT_EQ(Turn(Job("slow", 0.2), {Slow(7, kStart - kHour), newer}, kStart + kHour - 1), -1);
  EXPECT_EQ(Turn(Job("unknown"), {}, kStart + kHour), -1);
  EXPECT_EQ(CountIn(Job("slow", 0.2), {Slow(7, kStart - kHour)}, kStart + kHour, 3 * kHour), 0)
      << "both reasons are those of the earlier life";
  EXPECT_EQ(Turn(Job("slow", 0.2), {newer}, kStart + 4 * kHour), 8);
}

TEST_F(ProfileScheduleTest, AnIncidentRemembersThatItWasProfiled) {
  wire::Incident incident = Slow(7, kStart);
  incident.add_transitions()->set_what("profiled");
  EXPECT_EQ(CountIn(Job("slow"), {incident}, kStart + kSettled, 5 * kHour), 0);
}

TEST_F(ProfileScheduleTest, JobsThatAreGoneAreForgotten) {
  for (int i = 0; i < 100; ++i) {
    wire::Job job = Job("slow");
    job.set_job("job-" + std::to_string(i));
    Turn(job, {}, kStart);
  }
  schedule_.Begin("job-0", kStart);
  schedule_.Forget({"job-1"}, kStart + kHour);
  EXPECT_EQ(schedule_.jobs(), 2u);
  schedule_.Forget({}, kStart + ProfileSchedule::kRememberNanos);
  EXPECT_EQ(schedule_.jobs(), 0u);
}

TEST(MayBeProfiledTest, OnlyWhatCostsStepsAndIsCertainAndNotWorkedOn) {
  EXPECT_TRUE(MayBeProfiled(Slow(7, kStart)));
  for (const char* verdict_class : {"hang_not_entered", "process_dead", "gpu_fault", "counter_outlier", "unknown"}) {
    wire::Incident incident = Slow(7, kStart);
    incident.mutable_verdict()->set_class_(verdict_class);
    EXPECT_FALSE(MayBeProfiled(incident)) << verdict_class;
  }
  wire::Incident suspected = Slow(7, kStart);
  suspected.set_suspected(true);
  EXPECT_FALSE(MayBeProfiled(suspected));
  wire::Incident in_maintenance = Slow(7, kStart);
  in_maintenance.set_maintenance(3);
  EXPECT_FALSE(MayBeProfiled(in_maintenance));
  wire::Incident resolved = Slow(7, kStart);
  resolved.set_state(wire::Incident::STATE_RESOLVED);
  EXPECT_FALSE(MayBeProfiled(resolved));
}

}  // namespace
}  // namespace lockstep
