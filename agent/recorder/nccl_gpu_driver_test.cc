#include "agent/recorder/nccl_gpu_driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

namespace lockstep::ring {
namespace {

std::string FakeDriver() {
  return std::string(getenv("TEST_SRCDIR")) + "/lockstep/agent/recorder/libfake-gpu-driver.so";
}

TEST(NcclGpuDriver, TellsWhichGpuOfTheMachineAProcessSees) {
  EXPECT_EQ(CurrentDevice(), -1) << "no driver in this process yet";
  EXPECT_STREQ(IdentifyCurrentGpu().uuid, "");
  EXPECT_STREQ(IdentifyCurrentGpu().pci_address, "");

  setenv("CUDA_VISIBLE_DEVICES", "GPU-00000000-0000-0000-0000-000000000007", 1);
  EXPECT_STREQ(IdentifyCurrentGpu().uuid, "GPU-00000000-0000-0000-0000-000000000007") << "the only one it may use";
  EXPECT_STREQ(IdentifyCurrentGpu().pci_address, "");

  setenv("CUDA_VISIBLE_DEVICES", "2", 1);
  EXPECT_STREQ(IdentifyCurrentGpu().uuid, "") << "an index is the process's own";
  void* const driver = dlopen(FakeDriver().c_str(), RTLD_NOW);
  ASSERT_NE(driver, nullptr) << dlerror();
  EXPECT_EQ(CurrentDevice(), 0) << "the first of those that it sees";
  const GpuIdentity gpu = IdentifyCurrentGpu();
  EXPECT_STREQ(gpu.uuid, "GPU-00000000-0000-0000-0000-000000000002");
  EXPECT_STREQ(gpu.pci_address, "0000:3D:00.0");

  setenv("CUDA_VISIBLE_DEVICES", "MIG-00000000-0000-0000-0001-000000000002", 1);
  const GpuIdentity instance = IdentifyCurrentGpu();
  EXPECT_STREQ(instance.uuid, "MIG-00000000-0000-0000-0001-000000000002") << "as NVML names it";
  EXPECT_STREQ(instance.pci_address, "0000:3C:00.0") << "of the GPU that it is a part of";
  dlclose(driver);
}

}  // namespace
}  // namespace lockstep::ring
