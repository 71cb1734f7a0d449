#include "collector/tenant_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(TenantShareTest, OfADeviceGpusAndTheirPartsBelongToWhoseRanksUseThem) {
  const HostShare share{.gpus = {1}};
  for (const char* own : {"gpu1", "gpu1/mig0", "", "eth0", "mlx5_0/1", "gpus"}) EXPECT_TRUE(share.Has(own)) << own;
  for (const char* foreign : {"gpu0", "gpu11", "gpu0/mig1", "gpu10/mig1"}) EXPECT_FALSE(share.Has(foreign)) << foreign;
  EXPECT_TRUE(HostShare{.whole = true}.Has("gpu0"));
}

TEST(TenantShareTest, AGpuIsSeenUnderAnIndexWhichItHadWhileItWasTheTenants) {
  const HostShare share{.span = {100, 200}, .gpus = {1}};
  wire::Gpu gpu;
  gpu.set_index(1);
  EXPECT_TRUE(share.Has(gpu));
  gpu.set_to_wall_ns(150);
  EXPECT_TRUE(share.Has(gpu));
  gpu.set_to_wall_ns(100);
  EXPECT_FALSE(share.Has(gpu)) << "before";
  gpu.set_to_wall_ns(0);
  gpu.set_index(2);
  EXPECT_FALSE(share.Has(gpu)) << "another's";
}

void AddEvent(wire::KernelEvent::Kind kind, const std::string& device, int32_t pid, const std::string& text,
              wire::AgentReport& report) {
  wire::KernelEvent& event = *report.add_kernel_events();
  event.set_kind(kind);
  event.set_device(device);
  event.set_pid(pid);
  event.set_text(text);
}

TEST(TenantShareTest, AnInputKeepsWhatIsOfItsProcessesAndOfTheMachine) {
  wire::CaptureInput input;
  wire::AgentReport& report = *input.mutable_report();
  report.add_processes()->set_pid(100);
  report.mutable_processes(0)->set_gpu_index(1);
  report.add_processes()->set_pid(101);
  report.mutable_processes(1)->set_gpu_index(-1);
  for (const char* device : {"", "gpu0", "gpu1", "eth0", "gpu1/mig1", "gpu2/mig1"}) {
    report.add_metrics()->set_device(device);
  }
  AddEvent(wire::KernelEvent::KIND_XID, "gpu1", 0, "own GPU", report);
  AddEvent(wire::KernelEvent::KIND_XID, "gpu0", 0, "foreign GPU", report);
  AddEvent(wire::KernelEvent::KIND_XID, "gpu0", 101, "own process", report);
  AddEvent(wire::KernelEvent::KIND_XID, "0000:3b:00.0", 0, "some GPU", report);
  AddEvent(wire::KernelEvent::KIND_NVML, "gpu0", 0, "foreign GPU", report);
  AddEvent(wire::KernelEvent::KIND_PCIE_AER, "gpu0", 0, "foreign GPU", report);
  AddEvent(wire::KernelEvent::KIND_PCIE_AER, "0000:5e:00.0", 0, "an adapter", report);
  AddEvent(wire::KernelEvent::KIND_OUT_OF_MEMORY, "", 100, "own process killed", report);
  AddEvent(wire::KernelEvent::KIND_OUT_OF_MEMORY, "", 200, "foreign process killed", report);
  AddEvent(wire::KernelEvent::KIND_CRASH, "", 200, "foreign crash", report);
  AddEvent(wire::KernelEvent::KIND_EDAC, "mc0", 0, "memory", report);
  KeepOwnShare(input);
  std::vector<std::string> devices;
  for (const wire::MetricBlock& block : report.metrics()) devices.push_back(block.device());
  EXPECT_THAT(devices, ElementsAre("", "gpu1", "eth0", "gpu1/mig1"));
  std::vector<std::string> texts;
  for (const wire::KernelEvent& event : report.kernel_events()) texts.push_back(event.text());
  EXPECT_THAT(texts, ElementsAre("own GPU", "own process", "an adapter", "own process killed", "memory"));
  EXPECT_EQ(report.processes_size(), 2);
}

}  // namespace
}  // namespace lockstep
