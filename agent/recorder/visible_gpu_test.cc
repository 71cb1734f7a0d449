#include "agent/recorder/visible_gpu.h"

#include <gtest/gtest.h>

namespace lockstep::ring {
namespace {

constexpr char kGpu[] = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";
constexpr char kInstance[] = "MIG-C8932937-d72c-4106-c12f-20bd9faed9f6";

TEST(UuidOfOnlyGpuTest, IsTheOneThatIsListedAlone) {
  EXPECT_STREQ(UuidOfOnlyGpu(kGpu), kGpu);
  EXPECT_STREQ(UuidOfOnlyGpu(kInstance), kInstance);
}

TEST(UuidOfOnlyGpuTest, NothingElseNamesAGpuOfTheMachine) {
  for (const char* other :
       {"", "0", "3", "-1", "0,1", "NoDevFiles", "GPU-", "GPU-8932f937", "8932f937-d72c-4106-c12f-20bd9faed9f6",
        "GPU-8932f937-d72c-4106-c12f-20bd9faed9f", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 ",
        "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,1", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,",
        "GPU-8932f937xd72c-4106-c12f-20bd9faed9f6", "GPU-8932f93g-d72c-4106-c12f-20bd9faed9f6",
        "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0"}) {
    EXPECT_STREQ(UuidOfOnlyGpu(other), "") << other;
  }
  EXPECT_STREQ(UuidOfOnlyGpu(nullptr), "");
}

}  // namespace
}  // namespace lockstep::ring
