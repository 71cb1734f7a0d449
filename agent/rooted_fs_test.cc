#include "agent/rooted_fs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kPlenty = 1 << 20;

class RootedFsTest : public ::testing::Test {
 protected:
  RootedFs Open() { return *RootedFs::Open(directory_.path().string()); }

  TemporaryDirectory directory_;
};

TEST_F(RootedFsTest, ReadsAFileBelowItsRoot) {
  directory_.Write("proc/loadavg", "0.50 0.40 0.30 1/100 42\n");
  EXPECT_EQ(*Open().ReadFile("proc/loadavg", kPlenty), "0.50 0.40 0.30 1/100 42\n");
}

TEST_F(RootedFsTest, ReadsAnEmptyFileAndOneOfManyPieces) {
  const std::string large(100'000, 'x');
  directory_.Write("empty", "");
  directory_.Write("large", large);
  EXPECT_EQ(*Open().ReadFile("empty", kPlenty), "");
  EXPECT_EQ(*Open().ReadFile("large", kPlenty), large);
}

TEST_F(RootedFsTest, RefusesAFileThatIsLargerThanTheLimit) {
  directory_.Write("file", "12345");
  EXPECT_EQ(*Open().ReadFile("file", 5), "12345");
  EXPECT_THAT(Open().ReadFile("file", 4), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("longer than 4")));
}

TEST_F(RootedFsTest, TellsWhatIsMissingFromWhatIsBroken) {
  directory_.Write("folder/file", "");
  const RootedFs fs = Open();
  EXPECT_THAT(fs.ReadFile("nothing", kPlenty), StatusIs(absl::StatusCode::kNotFound, HasSubstr("nothing")));
  EXPECT_THAT(fs.ReadFile("folder/file/below", kPlenty), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(fs.ReadDir("nothing"), StatusIs(absl::StatusCode::kNotFound, _));
  const absl::StatusOr<std::string> folder = fs.ReadFile("folder", kPlenty);
  ASSERT_FALSE(folder.ok());
  EXPECT_FALSE(absl::IsNotFound(folder.status()));
}

TEST_F(RootedFsTest, RefusesPathsThatLeaveTheRoot) {
  const RootedFs fs = Open();
  for (const char* path : {"", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "a//../x"}) {
    EXPECT_THAT(fs.ReadFile(path, kPlenty), StatusIs(absl::StatusCode::kInvalidArgument, _)) << path;
    EXPECT_THAT(fs.ReadDir(path), StatusIs(absl::StatusCode::kInvalidArgument, _)) << path;
    EXPECT_THAT(fs.ReadLink(path), StatusIs(absl::StatusCode::kInvalidArgument, _)) << path;
    EXPECT_FALSE(fs.Exists(path)) << path;
  }
  EXPECT_THAT(fs.ReadFile(std::string(5000, 'a'), kPlenty), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(fs.ReadFile(absl::string_view("a\0b", 3), kPlenty), StatusIs(absl::StatusCode::kInvalidArgument, _));
}

TEST_F(RootedFsTest, AcceptsNamesThatOnlyLookLikeAnEscape) {
  directory_.Write("..a/b..", "dots");
  EXPECT_EQ(*Open().ReadFile("..a/b..", kPlenty), "dots");
}

TEST_F(RootedFsTest, ResolvesSymbolicLinksInsideTheRoot) {
  directory_.Write("devices/net/eth0/speed", "1000\n");
  std::filesystem::create_directories(directory_.path() / "class");
  std::filesystem::create_symlink("../devices/net/eth0", directory_.path() / "class/eth0");
  std::filesystem::create_symlink("/devices/net/eth0", directory_.path() / "class/absolute");
  std::filesystem::create_symlink("/etc/passwd", directory_.path() / "class/escape");
  std::filesystem::create_symlink("../../../../../../../etc/passwd", directory_.path() / "class/climb");
  const RootedFs fs = Open();
  EXPECT_EQ(*fs.ReadFile("class/eth0/speed", kPlenty), "1000\n");
  EXPECT_EQ(*fs.ReadFile("class/absolute/speed", kPlenty), "1000\n");
  EXPECT_THAT(fs.ReadFile("class/escape", kPlenty), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(fs.ReadFile("class/climb", kPlenty), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(RootedFsTest, ReadsTheTargetOfALinkAndOnlyOfALink) {
  directory_.Write("file", "");
  std::filesystem::create_symlink("../somewhere", directory_.path() / "link");
  EXPECT_EQ(*Open().ReadLink("link"), "../somewhere");
  EXPECT_THAT(Open().ReadLink("file"), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_THAT(Open().ReadLink("nothing"), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(RootedFsTest, ListsAFolderInOrder) {
  for (const char* name : {"d/mlx5_1", "d/eth0", "d/mlx5_0", "d/.hidden"}) directory_.Write(name, "");
  EXPECT_THAT(*Open().ReadDir("d"), ElementsAre(".hidden", "eth0", "mlx5_0", "mlx5_1"));
}

TEST_F(RootedFsTest, KnowsWhatExists) {
  directory_.Write("a/b", "");
  EXPECT_TRUE(Open().Exists("a"));
  EXPECT_TRUE(Open().Exists("a/b"));
  EXPECT_FALSE(Open().Exists("a/c"));
}

TEST_F(RootedFsTest, IsNotStoppedByANamedPipe) {
  ASSERT_EQ(mkfifo((directory_.path() / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(*Open().ReadFile("pipe", kPlenty), "");
}

TEST_F(RootedFsTest, StaysUsableAfterAMove) {
  directory_.Write("file", "x");
  RootedFs fs = Open();
  const RootedFs moved = std::move(fs);
  EXPECT_EQ(*moved.ReadFile("file", kPlenty), "x");
  EXPECT_EQ(moved.root(), directory_.path().string());
}

TEST_F(RootedFsTest, OpensADescriptorThatTheCallerOwns) {
  directory_.Write("file", "abc");
  const absl::StatusOr<UniqueFd> fd = Open().OpenFile("file", O_RDONLY);
  ASSERT_OK(fd);
  char text[3];
  EXPECT_EQ(read(fd->get(), text, sizeof(text)), 3);
  EXPECT_NE(fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(RootedFsLiveTest, ReadsProcAsItIs) {
  const absl::StatusOr<RootedFs> fs = RootedFs::Open("/");
  ASSERT_OK(fs);
  EXPECT_THAT(*fs->ReadFile("proc/self/stat", kPlenty), HasSubstr(std::to_string(getpid())));
}

TEST(RootedFsLiveTest, SaysWhenTheRootIsMissing) {
  EXPECT_THAT(RootedFs::Open("/no/such/folder"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/folder")));
}

}  // namespace
}  // namespace lockstep
