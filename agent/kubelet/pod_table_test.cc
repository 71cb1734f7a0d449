#include "agent/kubelet/pod_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "agent/kubelet/device_checkpoint.h"
#include "agent/kubelet/pod_uid.h"
#include "agent/rooted_fs.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kUid[] = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";
constexpr char kUnderscored[] = "1b4e28ba_2fa1_11d2_883f_0016d3cca427";
constexpr char kOther[] = "00000000-0000-0000-0000-000000000001";
constexpr char kHash[] = "0123456789abcdef0123456789abcdef";

TEST(PodUidTest, IsInTheCgroupsOfEveryVersionAndDriver) {
  const std::string texts[] = {
      // Version 1: cgroupfs, systemd.
      absl::StrCat("11:memory:/kubepods/burstable/pod", kUid, "/4f5e\n10:cpu,cpuacct:/kubepods/burstable/pod", kUid,
                   "/4f5e\n1:name=systemd:/\n"),
      absl::StrCat("1:name=systemd:/\n3:cpuset:/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod",
                   kUnderscored, ".slice/cri-containerd-4f5e.scope\n"),
      // Version 2: cgroupfs, systemd; of a guaranteed pod; seen from the namespace of another pod.
      absl::StrCat("0::/kubepods/pod", kUid, "/4f5e\n"),
      absl::StrCat("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod", kUnderscored,
                   ".slice/crio-4f5e.scope/container"),
      absl::StrCat("0::/kubepods.slice/kubepods-pod", kUnderscored, ".slice/docker-4f5e.scope\n"),
      absl::StrCat("0::/../../kubepods-burstable-pod", kUnderscored, ".slice/cri-containerd-4f5e.scope\n"),
      absl::StrCat("0::/../../pod", kUid, "/4f5e\n"),
      // A kubelet that runs in a container itself.
      absl::StrCat("0::/docker/77/kubelet/kubepods/besteffort/pod", kUid, "/4f5e\n"),
      absl::StrCat("0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod", kUnderscored, ".slice/x\n"),
  };
  for (const std::string& text : texts) EXPECT_EQ(PodUidOfCgroups(text), kUid) << text;
  EXPECT_EQ(PodUidOfCgroups(absl::StrCat("0::/kubepods/burstable/pod", kHash, "/4f5e\n")), kHash) << "a static pod";
}

TEST(PodUidTest, IsNotWhatAContainerCallsItsOwnCgroups) {
  EXPECT_EQ(PodUidOfCgroups(absl::StrCat("0::/kubepods/pod", kUid, "/4f5e/pod", kOther, "/x\n")), kUid);
  for (const std::string& text :
       {std::string(""), std::string("0::/user.slice/user-1000.slice/session-2.scope\n"),
        std::string("0::/system.slice/slurmstepd.scope/job_5/step_0\n"), std::string("0::/kubepods/pod1234/x\n"),
        std::string("no cgroups at all"), absl::StrCat("0::/kubepods/pod", kUid, "0/x\n"),
        absl::StrCat("0::/kubepods/pod../../", kUid, "/x\n"),
        absl::StrCat("0::/user.slice/x-pod", kUnderscored, ".slice\n"), absl::StrCat("pod", kUid, "\n"),
        absl::StrCat("0::/user.slice/user-7.slice/kubepods/pod", kUid, "/x\n"), std::string("::\n:\n0:\n")}) {
    EXPECT_EQ(PodUidOfCgroups(text), "") << text;
  }
}

TEST(PodLogFolderTest, HoldsNamespaceNameAndUid) {
  const auto pod = ParsePodLogFolder(absl::StrCat("team-a_train-worker-0.x_", kUid));
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->first, kUid);
  EXPECT_EQ(pod->second.name_space, "team-a");
  EXPECT_EQ(pod->second.name, "train-worker-0.x");
  for (const std::string& folder :
       {absl::StrCat("a_b_c_", kUid), absl::StrCat("a_", kUid), absl::StrCat("A_b_", kUid), absl::StrCat("_b_", kUid),
        absl::StrCat("a_b\n_", kUid), absl::StrCat("a_/_", kUid), std::string("a_b_c"), std::string(""),
        absl::StrCat(std::string(64, 'a'), "_b_", kUid), absl::StrCat("a_", std::string(254, 'b'), "_", kUid)}) {
    EXPECT_FALSE(ParsePodLogFolder(folder).has_value()) << folder;
  }
}

std::string Checkpoint(const std::string& entries) {
  return absl::StrCat(R"({"Data":{"PodDeviceEntries":[)", entries, R"(],"RegisteredDevices":{}},"Checksum":7})");
}

std::string Entry(const std::string& uid, const std::string& resource, const std::string& devices) {
  return absl::StrCat(R"({"PodUID":")", uid, R"(","ContainerName":"c","ResourceName":")", resource, R"(","DeviceIDs":)",
                      devices, R"(,"AllocResp":"Qg=="})");
}

TEST(DeviceCheckpointTest, TellsTheGpusOfEachPod) {
  const auto gpus = ParseDeviceCheckpoint(
      Checkpoint(absl::StrCat(Entry(kUid, "nvidia.com/gpu", R"({"0":["GPU-a"],"1":["GPU-b","GPU-a"]})"), ",",
                              Entry(kUid, "rdma/hca", R"({"0":["mlx5_0"]})"), ",",
                              Entry(kOther, "nvidia.com/gpu", R"(["GPU-c::1","GPU-c::2"])"), ",",
                              Entry(kHash, "nvidia.com/mig-1g.10gb", R"({"-1":["MIG-d"]})"))));
  ASSERT_OK(gpus);
  EXPECT_THAT(*gpus, ElementsAre(Pair(kOther, ElementsAre("GPU-c")), Pair(kHash, ElementsAre("MIG-d")),
                                 Pair(kUid, ElementsAre("GPU-a", "GPU-b"))));
  EXPECT_OK(ParseDeviceCheckpoint(R"({"Data":{"PodDeviceEntries":null}})")) << "nobody has any";
}

TEST(DeviceCheckpointTest, LeavesOutWhatMakesNoSense) {
  const auto gpus = ParseDeviceCheckpoint(
      Checkpoint(absl::StrCat(R"(5,null,[],{},{"PodUID":5},)", Entry("../../etc", "nvidia.com/gpu", R"(["GPU-x"])"),
                              ",", Entry(kUid, "nvidia.com/gpu", R"([1,null,"x",{"a":["GPU-y"]},["GPU-a",2]])"), ",",
                              Entry(kUid, "nvidia.com/gpu", "7"), ",", Entry(kUid, "nvidia.com/gpu", R"("GPU-z")"))));
  ASSERT_OK(gpus);
  EXPECT_THAT(*gpus, ElementsAre(Pair(kUid, ElementsAre("GPU-a", "GPU-z"))));
  for (const std::string& text :
       {std::string(""), std::string("{"), std::string("[]"), std::string(R"({"Data":[]})"),
        std::string(R"({"Data":{"PodDeviceEntries":5}})"), std::string(100'000, '['), std::string("\xff\xfe")}) {
    EXPECT_THAT(ParseDeviceCheckpoint(text), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checkpoint")));
  }
}

TEST(DeviceCheckpointTest, IsBounded) {
  std::string devices = "[", entries;
  for (size_t i = 0; i < kMaxGpusPerPod + 9; ++i) absl::StrAppend(&devices, i == 0 ? "" : ",", "\"GPU-", i, "\"");
  for (size_t i = 0; i < kMaxCheckpointPods + 9; ++i) {
    absl::StrAppend(&entries, i == 0 ? "" : ",",
                    Entry(absl::StrCat("00000000-0000-0000-0000-", absl::Dec(i, absl::kZeroPad12)), "nvidia.com/gpu",
                          i == 0 ? devices + "]" : R"(["GPU-a"])"));
  }
  const auto gpus = ParseDeviceCheckpoint(Checkpoint(entries));
  ASSERT_OK(gpus);
  EXPECT_EQ(gpus->size(), kMaxCheckpointPods);
  EXPECT_EQ(gpus->begin()->second.size(), kMaxGpusPerPod);
}

class PodTableTest : public testing::Test {
 protected:
  PodTableTest() : root_(RootedFs::Open(directory_.path().string())) {}

  void Enter(int pid, const std::string& uid) {
    directory_.Write(absl::StrCat("proc/", pid, "/cgroup"), absl::StrCat("0::/kubepods/pod", uid, "/4f5e\n"));
  }
  void ListPod(const std::string& folder) {
    std::filesystem::create_directories(directory_.path() / "var/log/pods" / folder);
  }

  TemporaryDirectory directory_;
  const absl::StatusOr<RootedFs> root_;
};

TEST_F(PodTableTest, FindsThePodOfAProcessAndItsGpus) {
  Enter(10, kUid);
  directory_.Write("proc/11/cgroup", "0::/user.slice\n");
  ListPod(absl::StrCat("team-a_p-0_", kUid));
  ListPod("something else");
  directory_.Write("var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
                   Checkpoint(Entry(kUid, "nvidia.com/gpu", R"({"0":["GPU-a"]})")));
  PodTable table(*root_);
  const PodTable::Result found = table.Find(10, 0);
  EXPECT_EQ(found.answer, PodTable::Answer::kFound);
  EXPECT_EQ(found.pod.name_space, "team-a");
  EXPECT_EQ(found.pod.name, "p-0");
  EXPECT_THAT(found.pod.gpu_uuids, ElementsAre("GPU-a"));
  EXPECT_EQ(table.Find(11, 0).answer, PodTable::Answer::kNoPod);
  EXPECT_EQ(table.Find(12, 0).answer, PodTable::Answer::kNoPod) << "there is no such process";
}

TEST_F(PodTableTest, LooksAgainForAPodThatIsNotListedYet) {
  Enter(10, kUid);
  ListPod(absl::StrCat("team-b_q_", kOther));
  PodTable table(*root_);
  EXPECT_EQ(table.Find(10, 0).answer, PodTable::Answer::kNotYet);
  ListPod(absl::StrCat("team-a_p-0_", kUid));
  EXPECT_EQ(table.Find(10, PodTable::kRescanNanos - 1).answer, PodTable::Answer::kNotYet);
  EXPECT_EQ(table.Find(10, PodTable::kRescanNanos).answer, PodTable::Answer::kFound);
}

TEST_F(PodTableTest, AMachineWithoutAKubeletHasNoPods) {
  Enter(10, kUid);
  PodTable table(*root_);
  EXPECT_EQ(table.Find(10, 0).answer, PodTable::Answer::kNoPod);
}

TEST_F(PodTableTest, ADamagedCheckpointCostsOnlyTheGpus) {
  Enter(10, kUid);
  ListPod(absl::StrCat("team-a_p-0_", kUid));
  directory_.Write("var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", "{\"Data\":");
  PodTable table(*root_);
  const PodTable::Result found = table.Find(10, 0);
  EXPECT_EQ(found.answer, PodTable::Answer::kFound);
  EXPECT_TRUE(found.pod.gpu_uuids.empty());
}

}  // namespace
}  // namespace lockstep
