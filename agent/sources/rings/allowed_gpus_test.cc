#include "agent/sources/rings/allowed_gpus.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/unique_fd.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(GpusOfDevicesListTest, AreTheDevicesThatMayBeReadAndWritten) {
  const std::string others = "c 1:3 rwm\nb 195:1 rwm\nc 195:255 rwm\nc 195:254 rw\nc 136:* rwm\n";
  EXPECT_THAT(GpusOfDevicesList(others + "c 195:3 rw\nc 195:0 rwm\nc 195:2 m\nc 195:4 r\n"),
              Optional(ElementsAre(0, 3)));
  EXPECT_THAT(GpusOfDevicesList(others), Optional(IsEmpty()));
  EXPECT_THAT(GpusOfDevicesList("c 195:zero rwm\nc 195\nc 195:-1 rwm\nc 195:1:2 rwm\n\nnonsense"), Optional(IsEmpty()));
  for (const char* all : {"a *:* rwm\n", "c 195:0 rwm\nc 195:* rwm\n", "c *:* rw"}) {
    EXPECT_FALSE(GpusOfDevicesList(all).has_value()) << all;
  }
}

TEST(DevicesCgroupTest, IsThatOfItsController) {
  EXPECT_EQ(DevicesCgroup("5:memory:/a\n4:cpu,devices:/b:c/d\n0::/e\n"), "/b:c/d");
  EXPECT_EQ(DevicesCgroup("5:memory:/devices:/a\n0::/e\n"), "");
  EXPECT_EQ(DevicesCgroup("devices"), "");
}

TEST(IsTmpfsTest, OfTheMountWithThatNumber) {
  const char mounts[] =
      "36 35 98:0 / / rw master:1 - ext4 /dev/root rw\n"
      "37 36 0:25 / /dev rw,nosuid master:2 shared:3 - tmpfs tmpfs rw\n"
      "38 36 0:26 / /tmpfs rw\n"
      "39 36 0:27 / /a rw - devtmpfs tmpfs rw\n";
  EXPECT_TRUE(IsTmpfs(mounts, 37));
  for (const uint64_t other : {36, 38, 39, 3, 0}) EXPECT_FALSE(IsTmpfs(mounts, other)) << other;
}

class AllowedGpusTest : public testing::Test {
 protected:
  // Of nobody.
  static constexpr int32_t kPid = 1 << 30;

  std::vector<int32_t> WithList(const std::string& cgroups, const std::string& list) {
    directory_.Write(absl::StrCat("proc/", kPid, "/cgroup"), cgroups);
    directory_.Write("sys/fs/cgroup/devices/docker/x/devices.list", list);
    const auto fs = RootedFs::Open(directory_.path().string());
    EXPECT_OK(fs);
    return AllowedGpus(*fs, kPid, 1);
  }

  TemporaryDirectory directory_;
};

TEST_F(AllowedGpusTest, AreThoseOfItsCgroup) {
  EXPECT_THAT(WithList("4:devices:/docker/x\n", "c 195:3 rwm\n"), ElementsAre(3));
  EXPECT_THAT(WithList("4:devices:/docker/x\n", "a *:* rwm\n"), IsEmpty());
  EXPECT_THAT(WithList("4:devices:/elsewhere\n", "c 195:3 rwm\n"), IsEmpty());
  EXPECT_THAT(WithList("4:devices:/docker/x/../x\n", "c 195:3 rwm\n"), IsEmpty()) << "a path of another namespace";
  EXPECT_THAT(WithList("0::/docker/x\n", "c 195:3 rwm\n"), IsEmpty()) << "of version 2";
  EXPECT_THAT(WithList("4:devices:/docker/x\n", std::string(kMaxDevicesTextBytes, '\n') + "c 195:3 rwm\n"), IsEmpty());
}

// A /dev in a namespace of mounts of its own, whose devices are other ones than GPUs: 1:3 is /dev/null, 1:5 is
// /dev/zero.
class DeviceFolderTest : public testing::Test {
 protected:
  static constexpr uint32_t kMemoryMajor = 1;
  static constexpr int kNotAllowed = 77;

  // What is found after `prepare` in a child process, as a text; "skipped" where there are no namespaces for us.
  std::string FoundAfter(const std::function<bool()>& prepare) {
    std::filesystem::create_directory(dev_);
    const std::string result = (directory_.path() / "result").string();
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // what waits for a file system that does not answer ends here
      if (!Separate() || !prepare()) _exit(kNotAllowed);
      std::stringstream mounts;
      mounts << std::ifstream("/proc/self/mountinfo").rdbuf();
      const UniqueFd root(open(directory_.path().c_str(), O_PATH | O_DIRECTORY));
      const std::string found = absl::StrJoin(GpusInDeviceFolder(root.get(), mounts.str(), kMemoryMajor), ",");
      const UniqueFd to(open(result.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
      const bool written = write(to.get(), found.data(), found.size()) == static_cast<ssize_t>(found.size());
      _exit(written ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotAllowed) return "skipped";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    std::stringstream text;
    text << std::ifstream(result).rdbuf();
    return text.str();
  }

  static bool Separate() {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }
  bool MountTmpfs() const { return mount("none", dev_.c_str(), "tmpfs", 0, nullptr) == 0; }
  bool Put(const char* device, const std::string& name) const {
    const std::string path = absl::StrCat(dev_, "/", name);
    const UniqueFd made(open(path.c_str(), O_CREAT | O_CLOEXEC, 0600));
    return made.valid() && mount(device, path.c_str(), nullptr, MS_BIND, nullptr) == 0;
  }
  // A file system that nobody answers for.
  static bool MountSilent(const std::string& path, mode_t mode) {
    const int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);  // ends with the process
    const std::string data = absl::StrCat("fd=", fuse, ",rootmode=", mode == S_IFDIR ? "40000" : "20000",
                                          ",user_id=", getuid(), ",group_id=", getgid());
    return fuse >= 0 && mount("none", path.c_str(), "fuse", MS_NODEV | MS_NOSUID, data.c_str()) == 0;
  }

  TemporaryDirectory directory_;
  const std::string dev_ = (directory_.path() / "dev").string();
};

TEST_F(DeviceFolderTest, DevicesOfATmpfsAreFound) {
  const std::string one = FoundAfter([&] { return MountTmpfs() && Put("/dev/null", "nvidia3"); });
  if (one == "skipped") GTEST_SKIP() << "no namespace of mounts for us";
  EXPECT_EQ(one, "3");
  EXPECT_EQ(FoundAfter([&] { return MountTmpfs() && Put("/dev/null", "nvidia3") && Put("/dev/zero", "nvidia5"); }),
            "3,5");
  EXPECT_EQ(FoundAfter([&] { return MountTmpfs() && Put("/dev/null", "nvidiactl"); }), "");
}

TEST_F(DeviceFolderTest, WhereSomethingElseHasTheNameOfOneNoneIsBelieved) {
  const std::string link = absl::StrCat(dev_, "/nvidia5");
  const std::string linked = FoundAfter(
      [&] { return MountTmpfs() && Put("/dev/null", "nvidia3") && symlink("/dev/zero", link.c_str()) == 0; });
  if (linked == "skipped") GTEST_SKIP() << "no namespace of mounts for us";
  EXPECT_EQ(linked, "");
  EXPECT_EQ(FoundAfter([&] { return MountTmpfs() && Put("/dev/null", "nvidia3") && Put("/dev/zero", "nvidia4"); }), "");
}

TEST_F(DeviceFolderTest, AFolderThatIsNoTmpfsOrALinkSaysNothing) {
  const std::string on_disk = FoundAfter([&] { return Put("/dev/null", "nvidia3"); });
  if (on_disk == "skipped") GTEST_SKIP() << "no namespace of mounts for us";
  EXPECT_EQ(on_disk, "");
  const std::string other = (directory_.path() / "other").string();
  EXPECT_EQ(FoundAfter([&] {
              return MountTmpfs() && Put("/dev/null", "nvidia3") && mkdir(other.c_str(), 0700) == 0 &&
                     mount(dev_.c_str(), other.c_str(), nullptr, MS_MOVE, nullptr) == 0 &&
                     std::filesystem::remove_all(dev_) > 0 && symlink(other.c_str(), dev_.c_str()) == 0;
            }),
            "");
}

TEST_F(DeviceFolderTest, NobodyWaitsForAFileSystemOfTheJobs) {
  const std::string folder = FoundAfter([&] { return MountSilent(dev_, S_IFDIR); });
  if (folder == "skipped") GTEST_SKIP() << "no file systems of users for us";
  EXPECT_EQ(folder, "");
  EXPECT_EQ(FoundAfter([&] {
              const std::string device = absl::StrCat(dev_, "/nvidia3");
              return MountTmpfs() && Put("/dev/null", "nvidia3") && MountSilent(device, S_IFCHR);
            }),
            "");
}

// A process with a root of its own, as a container has; needs the right to make devices.
TEST_F(DeviceFolderTest, OfAProcessWithARootOfItsOwn) {
  std::filesystem::create_directory(dev_);
  int ready[2] = {};
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string gpu = absl::StrCat(dev_, "/nvidia2");
    const bool made = Separate() && MountTmpfs() && mknod(gpu.c_str(), S_IFCHR | 0600, makedev(kNvidiaMajor, 2)) == 0 &&
                      chroot(directory_.path().c_str()) == 0;
    if (write(ready[1], made ? "y" : "n", 1) == 1) pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  const auto fs = RootedFs::Open("/");
  ASSERT_OK(fs);
  const auto stat = ReadProcessStat(*fs, child);
  ASSERT_OK(stat);
  const std::vector<int32_t> found = AllowedGpus(*fs, child, stat->start_ticks);
  const std::vector<int32_t> of_another = AllowedGpus(*fs, child, stat->start_ticks + 1);
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  if (answer == 'n') GTEST_SKIP() << "no devices for us";
  EXPECT_THAT(found, ElementsAre(2));
  EXPECT_THAT(of_another, IsEmpty()) << "the pid is another process's by now";
}

}  // namespace
}  // namespace lockstep
