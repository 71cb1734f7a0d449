#include "agent/sources/rings/process_facts.h"

#include <gtest/gtest.h>

#include <cstring>

#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/process_exit.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/sources/rings/reading_time.h"
#include "agent/sources/rings/ring_directory.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

class ProcessFactsTest : public testing::Test {
 protected:
  ProcessFactsTest() {
    ring_.job = "job";
    ring_.owner = 1000;
    ring_.process = ProcessStat{};
    ring_.process->state = 'R';
    header_.rank = 3;
    header_.pid = 17;
    header_.recorder_kind = static_cast<uint32_t>(ring::RecorderKind::kNcclProfiler);
  }

  wire::ProcessReport Facts() const {
    wire::ProcessReport report;
    AppendProcessFacts(header_, ring_, {.tick_ns = 1000, .over_ns = 1000}, report);
    return report;
  }

  ring::RingHeader header_ = {};
  FollowedRing ring_;
};

TEST_F(ProcessFactsTest, WhoItIsComesFromTheRingAndFromWhereItLies) {
  EXPECT_EQ(Facts().job(), "job");
  EXPECT_EQ(Facts().rank(), 3);
  EXPECT_EQ(Facts().uid(), 1000u);
  EXPECT_EQ(Facts().pid(), 17);
  EXPECT_EQ(Facts().communicators_size(), 0);
  ring_.host_pid = 4711;
  EXPECT_EQ(Facts().pid(), 4711) << "as the host sees it";
}

TEST_F(ProcessFactsTest, WhereTheNameIsAMeetingPlaceTheLauncherAndTheAgeTellRunsApart) {
  ring_.launcher = {4000, 77};
  header_.opened_at_ns = 400;
  EXPECT_FALSE(Facts().has_recorded_ns());
  EXPECT_EQ(Facts().launcher_pid(), 0) << "no byte for who has a name";
  for (const char* name : {"torch-node-1:29500", "slurm-7.node-1:29500"}) {
    ring_.job = name;
    EXPECT_EQ(Facts().recorded_ns(), 600) << name;
    EXPECT_EQ(Facts().launcher_pid(), 4000);
    EXPECT_EQ(Facts().launcher_start_ticks(), 77u);
  }
  for (const char* name : {"torch-run:", "a:b", "torch-run"}) {
    ring_.job = name;
    EXPECT_FALSE(Facts().has_recorded_ns()) << name;
  }
}

TEST_F(ProcessFactsTest, StatesOfProcOnesThatAreNotKnownIncluded) {
  const auto state_of = [&](char letter) {
    ring_.process->state = letter;
    return Facts().state();
  };
  EXPECT_EQ(state_of('S'), wire::PROCESS_STATE_RUNNING);
  EXPECT_EQ(state_of('D'), wire::PROCESS_STATE_UNINTERRUPTIBLE);
  EXPECT_EQ(state_of('t'), wire::PROCESS_STATE_STOPPED);
  EXPECT_EQ(state_of('Z'), wire::PROCESS_STATE_ZOMBIE);
  EXPECT_EQ(state_of('?'), wire::PROCESS_STATE_UNSPECIFIED);
  ring_.process.reset();
  EXPECT_EQ(Facts().state(), wire::PROCESS_STATE_GONE);
}

TEST_F(ProcessFactsTest, CodesThatNoReleaseKnowsAreUnspecified) {
  EXPECT_EQ(Facts().recorder(), wire::RECORDER_KIND_NCCL_PROFILER);
  header_.recorder_kind = 77;
  ring_.snapshot.state = 77;
  EXPECT_EQ(Facts().recorder(), wire::RECORDER_KIND_UNSPECIFIED);
  EXPECT_EQ(Facts().recorder_state(), wire::RECORDER_STATE_UNSPECIFIED);
}

TEST_F(ProcessFactsTest, OnlyNcclHasAStatusOfItsOwn) {
  header_.library_version = 22703;
  EXPECT_EQ(Facts().nccl().library_version(), 22703u);
  header_.recorder_kind = static_cast<uint32_t>(ring::RecorderKind::kMpi);
  EXPECT_FALSE(Facts().has_nccl());
}

TEST_F(ProcessFactsTest, AProcessThatMayUseOneGpuIsOnThatOneIfItDoesNotKnowBetter) {
  ring_.gpu_uuid = "GPU-of-devices";
  EXPECT_EQ(Facts().gpu_uuid(), "GPU-of-devices");
  ring_.pod = {};
  ring_.pod.name_space = "space";
  ring_.pod.name = "pod";
  ring_.pod.gpu_uuids = {"GPU-of-pod"};
  EXPECT_EQ(Facts().gpu_uuid(), "GPU-of-pod");
  EXPECT_EQ(Facts().pod(), "space/pod");
  std::strcpy(header_.gpu_uuid, "GPU-of-ring");
  EXPECT_EQ(Facts().gpu_uuid(), "GPU-of-ring");
}

TEST_F(ProcessFactsTest, AnEndIsAsOldAsTheTickAndNeverOlderThanTheClock) {
  EXPECT_FALSE(Facts().has_end());
  ring_.end = ProcessExit{};
  ring_.end->signal = 9;
  ring_.end->at_ns = 400;
  EXPECT_EQ(Facts().end().signal(), 9);
  EXPECT_EQ(Facts().end().age_ns(), 600);
  ring_.end->at_ns = 5000;
  EXPECT_EQ(Facts().end().age_ns(), 0);
  ring_.end->at_ns = -5;
  EXPECT_EQ(Facts().end().age_ns(), 1000);
}

}  // namespace
}  // namespace lockstep
