#include "agent/gpu_names.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

wire::ProcessReport Named(GpuNames& names, int32_t pid, const std::string& uuid = "",
                          const std::string& pci_address = "") {
  wire::AgentReport report;
  wire::ProcessReport& process = *report.add_processes();
  process.set_pid(pid);
  process.set_gpu_index(-1);
  process.set_gpu_uuid(uuid);
  process.set_gpu_pci_address(pci_address);
  names.Apply(report);
  return report.processes(0);
}

class GpuNamesTest : public testing::Test {
 protected:
  GpuNamesTest() {
    names_.Set({{0, "GPU-a", "0000:3b:00.0", {10, 12}, {}, 7},
                {1, "GPU-b", "0000:3c:00.0", {11, 12}, {}},
                {2, "", "", {13}, {}},
                {3, "GPU-d", "0000:5e:00.0", {14, 15, 16}, {{"MIG-a", {14, 16}}, {"MIG-b", {15, 16}}}, 0}});
  }

  GpuNames names_;
};

TEST_F(GpuNamesTest, AProcessIsOnTheGpuThatItsRecorderNames) {
  for (const wire::ProcessReport& process : {Named(names_, 5, "GPU-b"), Named(names_, 10, "", "0000:3c:00.0")}) {
    EXPECT_EQ(process.gpu_index(), 1);
    EXPECT_EQ(process.gpu_uuid(), "GPU-b");
    EXPECT_EQ(process.gpu_pci_address(), "0000:3c:00.0");
  }
}

TEST_F(GpuNamesTest, OrOnTheOnlyOneThatListsIt) {
  EXPECT_EQ(Named(names_, 10).gpu_uuid(), "GPU-a");
  EXPECT_EQ(Named(names_, 13).gpu_index(), 2);
  EXPECT_EQ(Named(names_, 12).gpu_index(), -1) << "it is on two";
  EXPECT_EQ(Named(names_, 5).gpu_index(), -1) << "it is on none";
  EXPECT_EQ(Named(names_, 10, "GPU-of-another-driver").gpu_index(), -1) << "its recorder knows better";
}

TEST_F(GpuNamesTest, ADeviceTellsItsGpuUnlessThatIsDivided) {
  EXPECT_EQ(names_.UuidOfMinor(7), "GPU-a");
  EXPECT_EQ(names_.UuidOfMinor(0), "") << "a part of it";
  EXPECT_EQ(names_.UuidOfMinor(1), "") << "an index is no device";
  EXPECT_EQ(names_.UuidOfMinor(-1), "") << "not even of those whose device is unknown";
}

TEST_F(GpuNamesTest, AProcessInAnInstanceIsOnItsGpuAndHasTheUuidOfTheInstance) {
  for (const wire::ProcessReport& process :
       {Named(names_, 5, "MIG-b"), Named(names_, 15), Named(names_, 5, "MIG-b", "0000:5e:00.0")}) {
    EXPECT_EQ(process.gpu_index(), 3);
    EXPECT_EQ(process.gpu_uuid(), "MIG-b");
    EXPECT_EQ(process.gpu_pci_address(), "0000:5e:00.0");
  }
  EXPECT_EQ(Named(names_, 16).gpu_uuid(), "GPU-d") << "it is in two instances";
  EXPECT_EQ(Named(names_, 5, "MIG-of-this-second").gpu_index(), -1);
  const wire::ProcessReport fresh = Named(names_, 5, "MIG-of-this-second", "0000:5e:00.0");
  EXPECT_EQ(fresh.gpu_index(), 3);
  EXPECT_EQ(fresh.gpu_uuid(), "MIG-of-this-second");
}

TEST_F(GpuNamesTest, MetricsOfAUuidAreOfItsDevice) {
  EXPECT_EQ(names_.DeviceOf("GPU-b"), "gpu1");
  EXPECT_EQ(names_.DeviceOf(""), "") << "not of one whose UUID is unknown";
  EXPECT_EQ(names_.DeviceOf("MIG-a"), "");
  EXPECT_EQ(names_.DeviceOf("GPU-d", -1), "") << "nothing is known of its instances' ids";
}

TEST_F(GpuNamesTest, AnEventHasTheNameOfTheCountersBesideItsAddress) {
  wire::AgentReport report;
  for (const char* device : {"0000:3c:00.0", "0000:99:00.0", ""}) report.add_kernel_events()->set_device(device);
  names_.Apply(report);
  EXPECT_EQ(report.kernel_events(0).device(), "gpu1");
  EXPECT_EQ(report.kernel_events(0).pci_address(), "0000:3c:00.0");
  EXPECT_EQ(report.kernel_events(1).device(), "0000:99:00.0");
  EXPECT_EQ(report.kernel_events(2).device(), "");
}

TEST_F(GpuNamesTest, AListGoesWithTheFirstReportAfterAChangeAndEveryNowAndThen) {
  const auto list = [this] {
    wire::AgentReport report;
    names_.Apply(report);
    return report.gpus_size();
  };
  wire::AgentReport first;
  names_.Apply(first);
  ASSERT_EQ(first.gpus_size(), 4);
  EXPECT_EQ(first.gpus(1).index(), 1);
  EXPECT_EQ(first.gpus(1).uuid(), "GPU-b");
  EXPECT_EQ(first.gpus(1).pci_address(), "0000:3c:00.0");
  names_.Set({{0, "GPU-a", "0000:3b:00.0", {99}, {}}, {1, "GPU-b", "0000:3c:00.0", {}, {}}});
  EXPECT_EQ(list(), 2);
  names_.Set({{0, "GPU-a", "0000:3b:00.0", {98}, {}}, {1, "GPU-b", "0000:3c:00.0", {}, {}}});
  for (int i = 1; i < GpuNames::kListEveryReports; ++i) EXPECT_EQ(list(), 0) << "other processes are no change";
  EXPECT_EQ(list(), 2);
}

}  // namespace
}  // namespace lockstep
