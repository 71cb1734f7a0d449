// What a job may put where a trace is expected. The process is this test.

#include "agent/profiles/trace_folder.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/process_stat.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class TraceFolderTest : public ::testing::Test {
 protected:
  static DemandedProcess Self() {
    const RootedFs root = *RootedFs::Open("/");
    return {.job = "job",
            .rank = 0,
            .pid = getpid(),
            .start_ticks = ReadProcessStat(root, getpid())->start_ticks,
            .uid = getuid()};
  }

  std::string Path() const { return std::filesystem::canonical(directory_.path()).string(); }

  TraceFolder Folder(const DemandedProcess& process = Self()) const { return *TraceFolder::Open(process, Path()); }

  absl::Status Opened(const std::string& name) const { return Folder().OpenFile(name).status(); }

  const TemporaryDirectory directory_;
};

TEST_F(TraceFolderTest, AFileOfTheProcessIsOpenedAndRemoved) {
  directory_.Write("trace", "{}");
  const TraceFolder folder = Folder();
  const absl::StatusOr<OpenTrace> trace = folder.OpenFile("trace");
  ASSERT_OK(trace);
  EXPECT_EQ(trace->bytes, 2);
  char bytes[3] = {};
  EXPECT_EQ(read(trace->fd.get(), bytes, 3), 2);
  EXPECT_STREQ(bytes, "{}");
  EXPECT_OK(folder.Remove("trace"));
  EXPECT_THAT(folder.OpenFile("trace"), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_THAT(folder.Remove("trace"), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
}

TEST_F(TraceFolderTest, AFolderThatSomebodyElseHasMadeIsNotTrusted) {
  EXPECT_TRUE(Folder().IsTrusted());
  if (getuid() != 0) GTEST_SKIP() << "only root gives folders away";
  constexpr uid_t kSomebody = 12'345;
  ASSERT_EQ(chown(Path().c_str(), kSomebody, kSomebody), 0);
  EXPECT_FALSE(Folder().IsTrusted());
  DemandedProcess his = Self();
  his.uid = kSomebody;
  EXPECT_TRUE(Folder(his).IsTrusted());
  ASSERT_EQ(chown(Path().c_str(), 0, 0), 0);
}

// As the packaged agent: it is neither root nor the owner of the trace, but owns the sticky folder.
TEST_F(TraceFolderTest, TheOwnerOfAStickyFolderRemovesWhatOthersLeftInIt) {
  if (getuid() != 0) GTEST_SKIP() << "only root plays two users";
  constexpr uid_t kAgent = 12'345;
  constexpr uid_t kUser = 12'346;
  directory_.Write("trace", "{}");
  ASSERT_EQ(chown((Path() + "/trace").c_str(), kUser, kUser), 0);
  DemandedProcess his = Self();
  his.uid = kUser;
  const TraceFolder folder = Folder(his);
  for (const uid_t owner : {uid_t{0}, kAgent}) {
    ASSERT_EQ(chown(Path().c_str(), owner, owner), 0);
    ASSERT_EQ(chmod(Path().c_str(), 01733), 0);
    const pid_t child = fork();
    if (child == 0) {
      const bool is_agent = setgroups(0, nullptr) == 0 && setgid(kAgent) == 0 && setuid(kAgent) == 0;
      _exit(!is_agent ? 2 : folder.Remove("trace").ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), owner == kAgent ? 0 : 1);
  }
  EXPECT_THAT(folder.OpenFile("trace"), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  ASSERT_EQ(chown(Path().c_str(), 0, 0), 0);
}

TEST_F(TraceFolderTest, LinksAreNotFollowed) {
  const std::filesystem::path target = directory_.Write("target", "secret");
  std::filesystem::create_symlink(target, directory_.path() / "link");
  EXPECT_THAT(Opened("link"), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a link")));
  EXPECT_THAT(Folder().Remove("link"), StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
  std::filesystem::create_directory_symlink(directory_.path(), directory_.path() / "folder");
  EXPECT_THAT(TraceFolder::Open(Self(), Path() + "/folder"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("folder is no folder, or a link")));
  EXPECT_THAT(TraceFolder::Open(Self(), Path() + "/../x"),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
  EXPECT_THAT(TraceFolder::Open(Self(), Path() + "/none"), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_TRUE(std::filesystem::exists(target));
}

TEST_F(TraceFolderTest, PipesFoldersAndDevicesAreNotOpened) {
  ASSERT_EQ(mkfifo((directory_.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(Opened("pipe"), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no regular file")));
  std::filesystem::create_directory(directory_.path() / "inner");
  EXPECT_THAT(Opened("inner"), StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
  const absl::StatusOr<TraceFolder> devices = TraceFolder::Open(Self(), "/dev");
  ASSERT_OK(devices);
  EXPECT_THAT(devices->OpenFile("null"), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no regular file")));
}

TEST_F(TraceFolderTest, AnotherUsersFileIsNotOpened) {
  directory_.Write("trace", "{}");
  DemandedProcess other = Self();
  other.uid = getuid() + 1;
  EXPECT_THAT(Folder(other).OpenFile("trace"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another user's")));
  EXPECT_THAT(Folder(other).Remove("trace"), StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "trace"));
}

TEST_F(TraceFolderTest, AnotherProcessWithThePidIsNotLookedAt) {
  DemandedProcess earlier = Self();
  --earlier.start_ticks;
  EXPECT_THAT(TraceFolder::Open(earlier, Path()), StatusIs(absl::StatusCode::kNotFound, HasSubstr("has ended")));
}

}  // namespace
}  // namespace lockstep
