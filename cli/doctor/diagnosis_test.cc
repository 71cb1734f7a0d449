#include "cli/doctor/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr char kPlugin[] = "/usr/lib/lockstep/libnccl-profiler-lockstep.so";

RecordedProcess WithNccl() {
  RecordedProcess process;
  process.libraries.nccl = "/usr/lib/libnccl.so.2";
  return process;
}

RingFacts Ring(ring::RecorderState state) {
  RingFacts ring;
  ring.path = "/dev/shm/lockstep/1-2-0.ring";
  ring.state = state;
  return ring;
}

TEST(DoctorDiagnosisTest, SaysWhyTheNcclRecorderIsNotThere) {
  RecordedProcess process = WithNccl();
  EXPECT_STREQ(Diagnose(process).cause, "not_enabled");
  EXPECT_THAT(Diagnose(process).text, HasSubstr("lockstep enable-nccl"));
  process.plugin_in_conf = kPlugin;
  EXPECT_STREQ(Diagnose(process).cause, "missing_file");
  EXPECT_THAT(Diagnose(process).text, HasSubstr("nccl.conf"));
  process.plugin_file_exists = true;
  EXPECT_STREQ(Diagnose(process).cause, "not_loaded");
  process.plugin_variable = "inspector";
  EXPECT_STREQ(Diagnose(process).cause, "other_profiler") << "the environment wins";
  process.plugin_variable = "lockstep";
  EXPECT_STREQ(Diagnose(process).cause, "not_loaded") << "a bare name is looked for by the loader";
}

TEST(DoctorDiagnosisTest, SaysWhyARecorderHasNoRing) {
  RecordedProcess process = WithNccl();
  process.libraries.profiler = kPlugin;
  EXPECT_STREQ(Diagnose(process).cause, "no_ring");
  process.rings_deleted = 1;
  EXPECT_STREQ(Diagnose(process).cause, "ring_deleted");
  process = WithNccl();
  process.libraries.preload = "/usr/lib/lockstep/liblockstep-preload.so";
  EXPECT_THAT(Diagnose(process).text, HasSubstr("looks NCCL's functions up by itself"));
}

TEST(DoctorDiagnosisTest, ARingThatRecordsCountsMoreThanOneThatGaveUp) {
  RecordedProcess process = WithNccl();
  process.rings = {Ring(ring::RecorderState::kDisabled)};
  process.rings[0].disabled = ring::DisabledReason::kUnknownAbi;
  EXPECT_STREQ(Diagnose(process).cause, "disabled");
  EXPECT_THAT(Diagnose(process).text, HasSubstr("interface"));
  process.rings.push_back(Ring(ring::RecorderState::kActive));
  const RecordingDiagnosis diagnosis = Diagnose(process);
  EXPECT_TRUE(diagnosis.is_recorded);
  EXPECT_EQ(diagnosis.ring, &process.rings[1]);
  process.rings = {Ring(ring::RecorderState::kFinalized)};
  EXPECT_STREQ(Diagnose(process).cause, "finalized");
  process.rings[0].refused = "newer layout";
  EXPECT_STREQ(Diagnose(process).cause, "ring_unreadable");
}

TEST(DoctorDiagnosisTest, MpiAndNothing) {
  RecordedProcess process;
  EXPECT_STREQ(Diagnose(process).cause, "nothing_to_record");
  process.libraries.mpi = "/usr/lib/libmpi.so.40";
  EXPECT_STREQ(Diagnose(process).cause, "not_enabled");
  process.libraries.recorder_of_mpi = "/usr/lib/lockstep/liblockstep-mpi.so";
  EXPECT_STREQ(Diagnose(process).cause, "no_ring");
}

TEST(DoctorDiagnosisTest, NamesEveryNumberAndSurvivesNewOnes) {
  EXPECT_EQ(NameOf(ring::RecorderKind::kNcclPreload), "nccl-preload");
  EXPECT_EQ(NameOf(ring::TimingQuality::kHostEnqueue), "host enqueue");
  EXPECT_EQ(NameOf(static_cast<ring::RecorderState>(77)), "unknown");
  EXPECT_EQ(NameOf(static_cast<ring::DisabledReason>(77)), "unknown");
  RingFacts ring;
  EXPECT_EQ(UsualTiming(ring), ring::TimingQuality::kUnknown);
  ring.timing = {1, 5, 0, 0, 2, 0};
  EXPECT_EQ(UsualTiming(ring), ring::TimingQuality::kGpuTimer);
}

TEST(DoctorDiagnosisTest, OverheadIsTheTimeInsideCallbacks) {
  RingFacts ring;
  ring.opened_at_ns = 1'000;
  EXPECT_LT(OverheadRatio(ring, 2'000), 0) << "a recorder that does not measure itself";
  ring.nccl.callbacks = 10;
  ring.nccl.callback_ns = 50;
  EXPECT_DOUBLE_EQ(OverheadRatio(ring, 2'000), 0.05);
  EXPECT_LT(OverheadRatio(ring, 500), 0);
}

}  // namespace
}  // namespace lockstep
