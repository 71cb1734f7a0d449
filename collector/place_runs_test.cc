#include "collector/place_runs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

constexpr char kPlace[] = "torch-node-0:29500";
constexpr char kFirst[] = "torch-node-0:29500-20260102T030405Z";
constexpr int64_t kFirstWallNanos = 1'767'323'045 * kNanosPerSecond;  // 2026-01-02T03:04:05Z
constexpr int32_t kTorchrun = 4'000;

class PlaceRunsTest : public testing::Test {
 protected:
  // Of a process that its host has followed since `since_seconds`.
  struct Rank {
    const char* host = "node-0";
    int32_t pid = 7;
    int64_t since_seconds = 0;
    int32_t launcher = kTorchrun;
    uint32_t uid = 1'000;
    int64_t gone_since_seconds = -1;
    const char* job = kPlace;
    const char* pod = "";
  };

  static wire::AgentReport ReportOf(const Rank& rank, int64_t at_seconds) {
    wire::AgentReport report;
    wire::ProcessReport& process = *report.add_processes();
    process.set_job(rank.job);
    process.set_pid(rank.pid);
    process.set_process_start_ticks(static_cast<uint64_t>(rank.pid));
    process.set_uid(rank.uid);
    process.set_pod(rank.pod);
    process.set_recorded_ns((at_seconds - rank.since_seconds) * kNanosPerSecond);
    process.set_launcher_pid(rank.launcher);
    process.set_launcher_start_ticks(static_cast<uint64_t>(rank.launcher));
    process.set_state(wire::PROCESS_STATE_RUNNING);
    if (rank.gone_since_seconds >= 0) {
      process.set_state(wire::PROCESS_STATE_GONE);
      process.mutable_end()->set_age_ns((at_seconds - rank.gone_since_seconds) * kNanosPerSecond);
    }
    return report;
  }

  static int64_t WallOf(int64_t seconds) { return kFirstWallNanos + seconds * kNanosPerSecond; }

  // What the process is called in a report that was made at that second.
  std::string At(int64_t seconds, const Rank& rank) {
    wire::AgentReport report = ReportOf(rank, seconds);
    runs_.Settle(rank.host, WallOf(seconds), report);
    return report.processes(0).job();
  }

  PlaceRuns runs_;
};

TEST_F(PlaceRunsTest, TheNextJobAtAnAddressIsAnotherJob) {
  EXPECT_EQ(At(5, {}), kFirst);
  EXPECT_EQ(At(100, {}), kFirst) << "a process keeps its name";
  EXPECT_EQ(At(101, {.gone_since_seconds = 101}), kFirst);
  EXPECT_EQ(At(103, {.pid = 8, .since_seconds = 102, .launcher = 5'000}), "torch-node-0:29500-20260102T030547Z");
  EXPECT_EQ(At(104, {.gone_since_seconds = 101}), kFirst);
}

TEST_F(PlaceRunsTest, OneJobOnManyHostsIsOneWhoeverIsHeardFirst) {
  EXPECT_EQ(At(5, {}), kFirst);
  EXPECT_EQ(At(5, {.host = "node-1", .since_seconds = 3, .launcher = 5'000}), kFirst);
  EXPECT_EQ(At(6, {.host = "node-2", .since_seconds = -60, .launcher = 6'000}), kFirst)
      << "it has waited for the others";
  EXPECT_EQ(At(49, {}), kFirst);
  EXPECT_EQ(At(50, {.host = "node-3", .since_seconds = 49, .launcher = 7'000}), kFirst) << "it has joined a living job";
}

TEST_F(PlaceRunsTest, WhatALauncherStartsAgainIsTheSameJob) {
  EXPECT_EQ(At(5, {}), kFirst);
  EXPECT_EQ(At(5, {.host = "node-1"}), kFirst);
  EXPECT_EQ(At(10, {.gone_since_seconds = 9}), kFirst);
  EXPECT_EQ(At(10, {.host = "node-1", .gone_since_seconds = 9}), kFirst);
  EXPECT_EQ(At(40, {.pid = 8, .since_seconds = 39}), kFirst);
  EXPECT_EQ(At(40, {.host = "node-9", .pid = 8, .since_seconds = 39, .launcher = 5'000}), kFirst)
      << "in place of a host that is gone";
}

TEST_F(PlaceRunsTest, WhoHasLostHisLauncherHasNoneInCommonWithOthers) {
  EXPECT_EQ(At(5, {.launcher = 1}), kFirst);
  EXPECT_EQ(At(10, {.launcher = 1, .gone_since_seconds = 9}), kFirst);
  EXPECT_NE(At(40, {.pid = 8, .since_seconds = 39, .launcher = 1}), kFirst);
  EXPECT_EQ(At(41, {.launcher = 0, .gone_since_seconds = 9}), kFirst);
  EXPECT_NE(At(60, {.pid = 9, .since_seconds = 59, .launcher = 0, .uid = 7}), kFirst);
}

TEST_F(PlaceRunsTest, AJobWhoseMachineIsSilentIsTakenToLiveForAWhile) {
  EXPECT_EQ(At(5, {}), kFirst);
  EXPECT_EQ(At(16, {.host = "node-1", .since_seconds = 15, .launcher = 5'000}), kFirst);
  EXPECT_NE(At(60, {.host = "node-2", .since_seconds = 45, .launcher = 6'000}), kFirst);
}

TEST_F(PlaceRunsTest, WhatComesLateIsOfTheRunOfItsTime) {
  EXPECT_EQ(At(5, {}), kFirst);
  EXPECT_EQ(At(10, {.gone_since_seconds = 9}), kFirst);
  const std::string next = At(30, {.pid = 8, .since_seconds = 29, .launcher = 5'000});
  EXPECT_NE(next, kFirst);
  // What another host has kept on its disk.
  EXPECT_EQ(At(6, {.host = "node-1", .since_seconds = 2, .launcher = 6'000}), kFirst);
  EXPECT_EQ(At(31, {.host = "node-1", .pid = 8, .since_seconds = 28, .launcher = 7'000}), next);
}

TEST_F(PlaceRunsTest, OwnersOfOnePlaceAreToldApart) {
  EXPECT_EQ(At(5, {}), kFirst);
  EXPECT_NE(At(20, {.pid = 8, .since_seconds = 20, .uid = 1'001}), kFirst);
  const std::string pod = At(30, {.host = "node-1", .since_seconds = 30, .job = "torch-team-a/m:29500"});
  EXPECT_EQ(At(31, {.host = "node-2", .since_seconds = 31, .launcher = 9, .uid = 1'001, .job = "torch-team-a/m:29500"}),
            pod)
      << "users of pods differ from node to node";
}

TEST_F(PlaceRunsTest, NamesThatSayMoreAndThoseOfOlderAgentsStay) {
  EXPECT_EQ(At(5, {.job = "torch-my-run"}), "torch-my-run");
  wire::AgentReport report = ReportOf({}, 5);
  report.mutable_processes(0)->clear_recorded_ns();
  runs_.Settle("node-0", WallOf(5), report);
  EXPECT_EQ(report.processes(0).job(), kPlace);
}

TEST_F(PlaceRunsTest, TheNextLifeOfTheCollectorCallsARunAsTheOneBefore) {
  wire::AgentReport logged = ReportOf({.job = kFirst}, 100);
  runs_.Restore("node-0", kFirst, WallOf(100), logged);
  logged = ReportOf({.host = "node-1", .job = "torch-10.0.0.1:29500"}, 100);
  runs_.Restore("node-1", "torch-10.0.0.1:29500", WallOf(100), logged);
  EXPECT_EQ(At(130, {}), kFirst);
  EXPECT_EQ(At(131, {.pid = 8, .since_seconds = 129}), kFirst) << "of the same launcher";
  EXPECT_EQ(At(131, {.host = "node-1", .job = "torch-10.0.0.1:29500"}), "torch-10.0.0.1:29500")
      << "as a collector before this one has called it";
}

TEST_F(PlaceRunsTest, ForgetsWhoIsSilent) {
  EXPECT_EQ(At(5, {}), kFirst);
  runs_.ForgetSilent(WallOf(600), 600 * kNanosPerSecond);
  EXPECT_EQ(At(600, {.pid = 8, .since_seconds = 600}), kFirst) << "its launcher is known";
  runs_.ForgetSilent(WallOf(1'300), 600 * kNanosPerSecond);
  EXPECT_NE(At(1'300, {.pid = 9, .since_seconds = 1'300}), kFirst);
}

}  // namespace
}  // namespace lockstep
