#include "collector/gpu_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kNow = 1'000'000'000'000;
constexpr int64_t kWall = 5'000'000'000'000;

wire::AgentReport EightGpus() {
  wire::AgentReport report;
  for (int i = 0; i < 8; ++i) {
    wire::GpuIdentity& gpu = *report.add_gpus();
    gpu.set_index(i);
    gpu.set_uuid(absl::StrCat("GPU-", i));
    gpu.set_pci_address(absl::StrCat("0000:", 10 + i, ":00.0"));
  }
  return report;
}

wire::AgentReport RankOn(const std::string& job, int32_t rank, int32_t gpu, const std::string& uuid = "") {
  wire::AgentReport report;
  wire::ProcessReport& process = *report.add_processes();
  process.set_job(job);
  process.set_rank(rank);
  process.set_gpu_index(gpu);
  process.set_gpu_uuid(uuid);
  return report;
}

// What becomes of a verdict about `job` that accuses one culprit.
wire::Culprit Named(const GpuDirectory& directory, const std::string& job, const std::string& host, int32_t rank,
                    int32_t gpu, const std::string& device = "") {
  wire::Verdict verdict;
  wire::Culprit& culprit = *verdict.add_culprits();
  culprit.set_host(host);
  culprit.set_rank(rank);
  culprit.set_gpu(gpu);
  culprit.set_device(device);
  directory.Name(job, verdict);
  return verdict.culprits(0);
}

TEST(GpuDirectoryTest, ARankHasTheGpuOfItsProcess) {
  GpuDirectory directory;
  wire::AgentReport report = RankOn("job", 17, 3, "MIG-x");
  report.mutable_processes(0)->set_gpu_pci_address("0000:13:00.0");
  directory.Observe("node-1", report, kNow, kWall);
  const wire::Culprit culprit = Named(directory, "job", "node-1", 17, -1);
  EXPECT_EQ(culprit.gpu(), 3);
  EXPECT_EQ(culprit.gpu_uuid(), "MIG-x");
  EXPECT_EQ(culprit.gpu_pci_address(), "0000:13:00.0");
  EXPECT_EQ(Named(directory, "other", "node-1", 17, -1).gpu_uuid(), "") << "the same rank of another job";
  EXPECT_EQ(Named(directory, "job", "node-2", 17, -1).gpu_uuid(), "");
}

TEST(GpuDirectoryTest, AGpuOfCountersAndOfTheKernelLogHasAllItsNames) {
  GpuDirectory directory;
  directory.Observe("node-1", EightGpus(), kNow, kWall);
  for (const wire::Culprit& culprit :
       {Named(directory, "", "node-1", -1, 5, "gpu5"), Named(directory, "", "node-1", -1, -1, "0000:15:00.0")}) {
    EXPECT_EQ(culprit.gpu(), 5);
    EXPECT_EQ(culprit.gpu_uuid(), "GPU-5");
    EXPECT_EQ(culprit.gpu_pci_address(), "0000:15:00.0");
    EXPECT_EQ(culprit.rank(), -1);
  }
  const wire::Culprit host = Named(directory, "", "node-1", -1, -1);
  EXPECT_EQ(host.gpu(), -1) << "the whole host is no GPU";
  EXPECT_EQ(host.gpu_uuid(), "");
  const wire::Culprit adapter = Named(directory, "", "node-1", -1, -1, "mlx5_3/1");
  EXPECT_EQ(adapter.gpu_uuid(), "");
}

TEST(GpuDirectoryTest, AndTheRankIfOnlyOneOfTheJobIsOnIt) {
  GpuDirectory directory;
  directory.Observe("node-1", EightGpus(), kNow, kWall);
  directory.Observe("node-1", RankOn("job", 17, 5), kNow, kWall);
  directory.Observe("node-1", RankOn("other", 2, 5), kNow, kWall);
  EXPECT_EQ(Named(directory, "job", "node-1", -1, 5, "gpu5").rank(), 17);
  EXPECT_EQ(Named(directory, "job", "node-1", -1, 5, "gpu5").gpu_uuid(), "GPU-5");
  directory.Observe("node-1", RankOn("job", 18, 5), kNow, kWall);
  EXPECT_EQ(Named(directory, "job", "node-1", -1, 5, "gpu5").rank(), -1);
}

TEST(GpuDirectoryTest, ANewListReplacesTheOldAndRanksThatAreToldOfNoMoreAreForgotten) {
  GpuDirectory directory;
  directory.Observe("node-1", EightGpus(), kNow, kWall);
  directory.Observe("node-1", RankOn("job", 17, 5, "GPU-5"), kNow, kWall);
  wire::AgentReport fewer = EightGpus();
  fewer.mutable_gpus()->RemoveLast();
  directory.Observe("node-1", fewer, kNow + GpuDirectory::kKeepNanos, kWall);
  EXPECT_EQ(Named(directory, "", "node-1", -1, 7, "gpu7").gpu_uuid(), "");
  EXPECT_EQ(Named(directory, "job", "node-1", 17, -1).gpu_uuid(), "GPU-5") << "a dead rank is what a verdict is about";
  directory.Observe("node-1", fewer, kNow + 2 * GpuDirectory::kKeepNanos, kWall);
  EXPECT_EQ(Named(directory, "job", "node-1", 17, -1).gpu_uuid(), "");
}

// "HOST/INDEX UUID FROM-TO RANKS" of each, times relative to kWall but for 0.
std::vector<std::string> Listed(const GpuDirectory& directory, const std::vector<std::string>& hosts,
                                const std::string& wanted = "") {
  wire::ListGpusRequest request;
  for (const std::string& host : hosts) request.add_hosts(host);
  request.set_gpu(wanted);
  std::vector<std::string> listed;
  directory.ForEach(request, [&](const wire::Gpu& gpu) {
    const auto time = [](int64_t wall_ns) { return wall_ns == 0 ? "" : absl::StrCat(wall_ns - kWall); };
    std::string& row = listed.emplace_back(absl::StrCat(gpu.host(), "/", gpu.index(), " ", gpu.uuid(), " ",
                                                        time(gpu.from_wall_ns()), "-", time(gpu.to_wall_ns())));
    for (const wire::GpuRank& rank : gpu.ranks()) absl::StrAppend(&row, " ", rank.job(), ":", rank.rank());
  });
  return listed;
}

// Of a host: UUIDs by rising index, and addresses "0000:10:00.0" and so on; "" = nothing has that index.
wire::AgentReport Gpus(const std::vector<std::string>& uuids) {
  wire::AgentReport report;
  for (size_t i = 0; i < uuids.size(); ++i) {
    if (uuids[i].empty()) continue;
    wire::GpuIdentity& gpu = *report.add_gpus();
    gpu.set_index(static_cast<int32_t>(i));
    gpu.set_uuid(uuids[i] == "lost" ? "" : uuids[i]);
    gpu.set_pci_address(absl::StrCat("0000:", 10 + i, ":00.0"));
  }
  return report;
}

TEST(GpuDirectoryTest, WhoAsksLearnsWhichGpusHostsHaveByAllNames) {
  GpuDirectory directory;
  directory.Observe("node-2", Gpus({"GPU-C"}), kNow, kWall);
  directory.Observe("node-1", Gpus({"GPU-A", "GPU-B"}), kNow, kWall);
  directory.Observe("node-1", RankOn("job", 17, 1, "MIG-x"), kNow, kWall);
  EXPECT_THAT(Listed(directory, {}), ElementsAre("node-1/0 GPU-A -", "node-1/1 GPU-B - job:17", "node-2/0 GPU-C -"));
  EXPECT_THAT(Listed(directory, {"node-2", "no-host"}), ElementsAre("node-2/0 GPU-C -"));
  EXPECT_THAT(Listed(directory, {}, "GPU-A"), ElementsAre("node-1/0 GPU-A -"));
  EXPECT_THAT(Listed(directory, {}, "0000:10:00.0"), ElementsAre("node-1/0 GPU-A -", "node-2/0 GPU-C -"));
  EXPECT_THAT(Listed(directory, {}, "MIG-x"), ElementsAre("node-1/1 GPU-B - job:17")) << "a rank's instance";
}

TEST(GpuDirectoryTest, AnIndexThatHasBecomeAnotherGpuIsToldWithItsTime) {
  GpuDirectory directory;
  directory.Observe("node-1", Gpus({"GPU-A", "GPU-B", "GPU-C"}), kNow, kWall);
  directory.Observe("node-1", Gpus({"GPU-A", "GPU-B", "GPU-C"}), kNow, kWall + 10);
  EXPECT_THAT(Listed(directory, {}, "GPU-B"), ElementsAre("node-1/1 GPU-B -")) << "nothing has changed";
  directory.Observe("node-1", Gpus({"GPU-A", "GPU-C"}), kNow, kWall + 20);  // B has fallen off the bus
  EXPECT_THAT(Listed(directory, {}),
              ElementsAre("node-1/0 GPU-A -", "node-1/1 GPU-B -20", "node-1/1 GPU-C 20-", "node-1/2 GPU-C -20"));
  directory.Observe("node-1", Gpus({"GPU-A", "GPU-D", "GPU-C"}), kNow, kWall + 30);  // and was replaced
  EXPECT_THAT(Listed(directory, {}, "GPU-C"), ElementsAre("node-1/1 GPU-C 20-30", "node-1/2 GPU-C -"))
      << "nothing else had the last index meanwhile";
  EXPECT_THAT(Listed(directory, {}, "GPU-D"), ElementsAre("node-1/1 GPU-D 30-"));
}

TEST(GpuDirectoryTest, AGpuThatIsLostIsNoOther) {
  GpuDirectory directory;
  directory.Observe("node-1", Gpus({"GPU-A", "GPU-B"}), kNow, kWall);
  directory.Observe("node-1", Gpus({"GPU-A", "lost"}), kNow, kWall + 10);
  EXPECT_THAT(Listed(directory, {}), ElementsAre("node-1/0 GPU-A -", "node-1/1 GPU-B -"));
}

TEST(GpuDirectoryTest, TheNextLifeKnowsWhatThisOneHasStored) {
  GpuDirectory directory;
  directory.Observe("node-1", Gpus({"GPU-A", "GPU-B", "GPU-C"}), kNow, kWall);
  directory.Observe("node-2", Gpus({"GPU-D"}), kNow, kWall);
  directory.TakeChanged();
  directory.Observe("node-1", Gpus({"GPU-A", "GPU-B", "GPU-C"}), kNow, kWall + 5);
  EXPECT_TRUE(directory.TakeChanged().empty()) << "the same list again";
  directory.Observe("node-1", Gpus({"GPU-A", "GPU-C"}), kNow, kWall + 10);
  const std::vector<wire::HostGpus> changed = directory.TakeChanged();
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_TRUE(directory.TakeChanged().empty());
  directory.NotStored(changed);
  EXPECT_EQ(directory.TakeChanged().size(), 1u) << "the store has refused it";

  GpuDirectory next;
  next.Restore(changed);
  EXPECT_EQ(Listed(next, {}), Listed(directory, {"node-1"}));
  next.Observe("node-1", Gpus({"GPU-A", "GPU-C"}), kNow, kWall + 20);
  EXPECT_TRUE(next.TakeChanged().empty()) << "as it was";
  next.Observe("node-1", Gpus({"GPU-C"}), kNow, kWall + 30);
  EXPECT_THAT(Listed(next, {}, "GPU-C"),
              ElementsAre("node-1/0 GPU-C 30-", "node-1/1 GPU-C 10-30", "node-1/2 GPU-C -10"));
}

TEST(GpuDirectoryTest, OfTheGpusBeforeTheOldestGoFirst) {
  GpuDirectory directory;
  for (size_t i = 0; i <= GpuDirectory::kMaxFormerPerHost + 1; ++i) {
    directory.Observe("node-1", Gpus({absl::StrCat("GPU-", i)}), kNow, kWall + static_cast<int64_t>(i));
  }
  EXPECT_EQ(directory.TakeRefused(), 1u);
  EXPECT_THAT(Listed(directory, {}, "GPU-0"), ElementsAre());
  EXPECT_THAT(Listed(directory, {}, "GPU-1"), ElementsAre("node-1/0 GPU-1 1-2"));
}

TEST(GpuDirectoryTest, WhereBytesAreScarceWhatWasBeforeGoesFirst) {
  constexpr size_t kBytes = 90;  // a GPU has 21 here, its index other than 0 has 2, and each of its times 8
  GpuDirectory directory(kBytes);
  directory.Observe("node-1", Gpus({"GPU-A"}), kNow, kWall);
  directory.Observe("node-1", Gpus({"GPU-B"}), kNow, kWall + 10);
  EXPECT_EQ(directory.TakeRefused(), 0u);
  directory.Observe("node-2", Gpus({"GPU-C", "GPU-D", "GPU-E"}), kNow, kWall);
  EXPECT_EQ(directory.TakeRefused(), 2u);
  EXPECT_THAT(Listed(directory, {}), ElementsAre("node-1/0 GPU-A -10", "node-1/0 GPU-B 10-", "node-2/0 GPU-C -"));
  directory.Observe("node-1", Gpus({"GPU-F"}), kNow, kWall + 20);
  EXPECT_EQ(directory.TakeRefused(), 1u);
  EXPECT_THAT(Listed(directory, {"node-1"}), ElementsAre("node-1/0 GPU-B 10-20", "node-1/0 GPU-F 20-"));
  const auto kept = directory.TakeChanged();
  EXPECT_EQ(kept.size(), 2u);
  directory.Observe("node-2", Gpus({"GPU-C", "GPU-D", "GPU-E"}), kNow, kWall + 25);
  EXPECT_TRUE(directory.TakeChanged().empty()) << "what does not fit is no change with each report";
  EXPECT_EQ(directory.TakeRefused(), 2u);

  GpuDirectory next(kBytes);
  next.Restore(kept);
  EXPECT_EQ(Listed(next, {}), Listed(directory, {}));

  directory.Forget("node-1");
  directory.Observe("node-2", Gpus({"GPU-C", "GPU-D", "GPU-E"}), kNow, kWall + 30);
  EXPECT_EQ(directory.TakeRefused(), 0u) << "what is forgotten leaves its room";
}

TEST(GpuDirectoryTest, WhatDoesNotFitIsCounted) {
  GpuDirectory directory;
  wire::AgentReport hostile;
  for (size_t i = 0; i < GpuDirectory::kMaxGpusPerHost + 3; ++i) {
    hostile.add_gpus()->set_index(static_cast<int32_t>(i));
  }
  hostile.add_gpus()->set_uuid(std::string(GpuDirectory::kMaxNameBytes + 1, 'x'));
  hostile.mutable_gpus()->rbegin()->set_index(1);
  hostile.add_gpus()->set_index(-7);
  directory.Observe("node-1", hostile, kNow, kWall);
  EXPECT_EQ(directory.TakeRefused(), 5u);
  for (size_t i = 0; i <= GpuDirectory::kMaxRanksPerHost; ++i) {
    directory.Observe("node-1", RankOn("job", static_cast<int32_t>(i), 0), kNow, kWall);
  }
  EXPECT_EQ(directory.TakeRefused(), 1u);
  EXPECT_EQ(directory.TakeRefused(), 0u);
}

}  // namespace
}  // namespace lockstep
