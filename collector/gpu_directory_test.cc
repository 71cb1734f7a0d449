#include "collector/gpu_directory.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/incident.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kNow = 1'000'000'000'000;

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
  directory.Observe("node-1", report, kNow);
  const wire::Culprit culprit = Named(directory, "job", "node-1", 17, -1);
  EXPECT_EQ(culprit.gpu(), 3);
  EXPECT_EQ(culprit.gpu_uuid(), "MIG-x");
  EXPECT_EQ(culprit.gpu_pci_address(), "0000:13:00.0");
  EXPECT_EQ(Named(directory, "other", "node-1", 17, -1).gpu_uuid(), "") << "the same rank of another job";
  EXPECT_EQ(Named(directory, "job", "node-2", 17, -1).gpu_uuid(), "");
}

TEST(GpuDirectoryTest, AGpuOfCountersAndOfTheKernelLogHasAllItsNames) {
  GpuDirectory directory;
  directory.Observe("node-1", EightGpus(), kNow);
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
  directory.Observe("node-1", EightGpus(), kNow);
  directory.Observe("node-1", RankOn("job", 17, 5), kNow);
  directory.Observe("node-1", RankOn("other", 2, 5), kNow);
  EXPECT_EQ(Named(directory, "job", "node-1", -1, 5, "gpu5").rank(), 17);
  EXPECT_EQ(Named(directory, "job", "node-1", -1, 5, "gpu5").gpu_uuid(), "GPU-5");
  directory.Observe("node-1", RankOn("job", 18, 5), kNow);
  EXPECT_EQ(Named(directory, "job", "node-1", -1, 5, "gpu5").rank(), -1);
}

TEST(GpuDirectoryTest, ANewListReplacesTheOldAndRanksThatAreToldOfNoMoreAreForgotten) {
  GpuDirectory directory;
  directory.Observe("node-1", EightGpus(), kNow);
  directory.Observe("node-1", RankOn("job", 17, 5, "GPU-5"), kNow);
  wire::AgentReport fewer = EightGpus();
  fewer.mutable_gpus()->RemoveLast();
  directory.Observe("node-1", fewer, kNow + GpuDirectory::kKeepNanos);
  EXPECT_EQ(Named(directory, "", "node-1", -1, 7, "gpu7").gpu_uuid(), "");
  EXPECT_EQ(Named(directory, "job", "node-1", 17, -1).gpu_uuid(), "GPU-5") << "a dead rank is what a verdict is about";
  directory.Observe("node-1", fewer, kNow + 2 * GpuDirectory::kKeepNanos);
  EXPECT_EQ(Named(directory, "job", "node-1", 17, -1).gpu_uuid(), "");
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
  directory.Observe("node-1", hostile, kNow);
  EXPECT_EQ(directory.TakeRefused(), 5u);
  for (size_t i = 0; i <= GpuDirectory::kMaxRanksPerHost; ++i) {
    directory.Observe("node-1", RankOn("job", static_cast<int32_t>(i), 0), kNow);
  }
  EXPECT_EQ(directory.TakeRefused(), 1u);
  EXPECT_EQ(directory.TakeRefused(), 0u);
}

}  // namespace
}  // namespace lockstep
