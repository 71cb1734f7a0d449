// What the job and the GPU of a ring are called that names neither.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_writer.h"
#include "agent/sources/rings/rings_source.h"
#include "agent/sources/rings/rings_source_fixture.h"
#include "base/clock.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

class NamelessRingTest : public RingsSourceFixture {
 protected:
  NamelessRingTest() : RingsSourceFixture("") {}
};

TEST_F(NamelessRingTest, IsReportedUnderTheNameOfItsWorld) {
  RingsSource source = MakeSource();
  const wire::AgentReport report = Collect(source, 0);
  ASSERT_EQ(report.processes_size(), 1);
  EXPECT_EQ(report.processes(0).job(), "nccl-0000000000000007");
  EXPECT_EQ(source.directory().without_job(), 0u);
}

// What the kubelet leaves on the disk of a node, of the process's pod.
class PodRingTest : public NamelessRingTest {
 protected:
  static constexpr char kUid[] = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";

  PodRingTest() {
    directory_.Write(absl::StrCat("root/proc/", pid_, "/cgroup"), absl::StrCat("0::/kubepods/pod", kUid, "/c1\n"));
    std::filesystem::create_directories(directory_.path() / "root/var/log/pods");
  }

  void ListPod() {
    std::filesystem::create_directories(directory_.path() / "root/var/log/pods" / absl::StrCat("team-a_p-0_", kUid));
  }
  void GiveGpus(const std::string& devices) {
    directory_.Write("root/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
                     absl::StrCat(R"({"Data":{"PodDeviceEntries":[{"PodUID":")", kUid,
                                  R"(","ResourceName":"nvidia.com/gpu","DeviceIDs":{"0":[)", devices, "]}}]}}"));
  }
};

TEST_F(PodRingTest, HasNamespacePodAndGpuFromTheKubelet) {
  ListPod();
  GiveGpus(R"("GPU-a")");
  RingsSource source = MakeSource();
  const wire::AgentReport report = Collect(source, 0);
  ASSERT_EQ(report.processes_size(), 1);
  EXPECT_EQ(report.processes(0).job(), "nccl-0000000000000007") << "the same in every report, whatever is known";
  EXPECT_EQ(report.processes(0).pod(), "team-a/p-0");
  EXPECT_EQ(report.processes(0).gpu_uuid(), "GPU-a");
}

TEST_F(PodRingTest, IsOnNoCertainGpuOfSeveral) {
  ListPod();
  GiveGpus(R"("GPU-a","GPU-b")");
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 0).processes(0).gpu_uuid(), "");
}

TEST_F(PodRingTest, IsOnTheOnlyGpuWhoseDeviceItsCgroupAllows) {
  gpus_->Set({{0, "GPU-a", "", {}, {}, 4}, {1, "GPU-b", "", {}, {}, 5}});
  ListPod();
  GiveGpus(R"("GPU-a","GPU-b")");
  directory_.Write(absl::StrCat("root/proc/", pid_, "/cgroup"), absl::StrCat("3:devices:/kubepods/pod", kUid, "/c1\n"));
  directory_.Write(absl::StrCat("root/sys/fs/cgroup/devices/kubepods/pod", kUid, "/c1/devices.list"),
                   "c 1:3 rwm\nc 195:5 rw\nc 195:255 rw\n");
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 0).processes(0).gpu_uuid(), "GPU-b");
  gpus_->Set({{0, "GPU-c", "", {}, {}, 5}});
  EXPECT_EQ(Collect(source, 1).processes(0).gpu_uuid(), "GPU-c") << "whatever the driver calls it now";
}

TEST_F(PodRingTest, IsFirstReportedWithItsPod) {
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 0).processes_size(), 0);
  ListPod();
  EXPECT_EQ(Collect(source, kNanosPerSecond).processes_size(), 0) << "looked for again every ten seconds";
  EXPECT_EQ(Collect(source, 10 * kNanosPerSecond).processes(0).pod(), "team-a/p-0");
}

TEST_F(PodRingTest, DoesNotWaitForeverAndLearnsItLater) {
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 59 * kNanosPerSecond).processes_size(), 0);
  const wire::AgentReport without = Collect(source, 61 * kNanosPerSecond);
  EXPECT_EQ(without.processes(0).job(), "nccl-0000000000000007");
  EXPECT_EQ(without.processes(0).pod(), "");
  ListPod();
  const wire::AgentReport with = Collect(source, 122 * kNanosPerSecond);
  EXPECT_EQ(with.processes(0).job(), "nccl-0000000000000007");
  EXPECT_EQ(with.processes(0).pod(), "team-a/p-0");
}

TEST_F(PodRingTest, DoesNotWaitWhereThereIsNoKubelet) {
  std::filesystem::remove_all(directory_.path() / "root/var");
  RingsSource source = MakeSource();
  EXPECT_EQ(Collect(source, 0).processes(0).job(), "nccl-0000000000000007");
  EXPECT_EQ(Collect(source, 0).processes(0).pod(), "");
}

TEST_F(NamelessRingTest, IsNobodysRankBeforeThat) {
  std::filesystem::remove(path_);
  ring::RingOptions options;
  options.kind = ring::RecorderKind::kMpi;
  options.directory = rings_.c_str();
  options.operation_capacity = 16;
  static ring::RingWriter writer;
  ASSERT_TRUE(writer.Open(options));
  const uint32_t world = writer.FindOrAddCommunicator({.id = 7, .size = 2, .rank = 0, .name = "world"}, now_ns_);
  writer.Finish(
      writer.Begin({.kind = ring::OperationKind::kAllReduce, .started = true, .communicator = world}, now_ns_), {},
      now_ns_ + 50);
  RingsSource source = MakeSource();
  const wire::AgentReport report = Collect(source, 1000);
  EXPECT_EQ(report.processes_size(), 0);
  EXPECT_EQ(source.directory().without_job(), 1u);
  EXPECT_EQ(source.total().without_job, 1u);
  ASSERT_EQ(report.dropped_size(), 1);
  EXPECT_EQ(report.dropped(0).reason(), "ring_operations_without_job");
}

}  // namespace
}  // namespace lockstep
