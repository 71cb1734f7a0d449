// The real kernel log, where a test may read it: found as the standard input, without the path.

#include "agent/sources/kernel_log/kmsg_device.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "agent/rooted_fs.h"
#include "agent/unique_fd.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

class KmsgDeviceTest : public testing::Test {
 protected:
  ~KmsgDeviceTest() override { dup2(before_.get(), STDIN_FILENO); }

  static bool UseAsStandardInput(const char* path) {
    const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
    return fd.get() >= 0 && dup2(fd.get(), STDIN_FILENO) == STDIN_FILENO;
  }

  // A machine without /dev/kmsg.
  std::unique_ptr<KmsgDevice> MakeDevice() { return MakeKmsgDevice(*RootedFs::Open(directory_.path().string())); }

  const UniqueFd before_{dup(STDIN_FILENO)};
  TemporaryDirectory directory_;
};

TEST_F(KmsgDeviceTest, TheStandardInputMayBeTheLog) {
  if (!UseAsStandardInput("/dev/kmsg")) GTEST_SKIP() << "this machine does not show its kernel log";
  const std::unique_ptr<KmsgDevice> device = MakeDevice();
  EXPECT_OK(device->Open());
  std::string record;
  const auto read = device->Read(record);
  ASSERT_OK(read);
  EXPECT_NE(*read, KmsgRead::kUnreadable);
}

TEST_F(KmsgDeviceTest, AnyOtherStandardInputIsNotRead) {
  ASSERT_TRUE(UseAsStandardInput("/dev/zero"));
  EXPECT_FALSE(MakeDevice()->Open().ok());
  directory_.Write("dev/kmsg", "6,1,1,-;a plain file\n");
  EXPECT_FALSE(MakeDevice()->Open().ok());
}

}  // namespace
}  // namespace lockstep
