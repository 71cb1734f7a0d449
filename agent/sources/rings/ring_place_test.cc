#include "agent/sources/rings/ring_place.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

constexpr uid_t kSomebody = 65534;

class RingPlaceTest : public ::testing::Test {
 protected:
  RingPlaceTest() { place_.Keep(); }

  bool IsRight() const {
    struct stat status;
    return lstat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && (status.st_mode & 07777) == 01777 &&
           status.st_uid == geteuid();
  }
  void ExpectMended(RingPlaceFault fault) {
    const uint64_t before = place_.mended()[static_cast<size_t>(fault)];
    EXPECT_FALSE(IsRight()) << "nothing is to be mended";
    place_.Keep();
    EXPECT_TRUE(IsRight());
    EXPECT_EQ(place_.fault(), RingPlaceFault::kNone);
    EXPECT_EQ(place_.mended()[static_cast<size_t>(fault)], before + 1);
    place_.Keep();
    EXPECT_EQ(place_.mended()[static_cast<size_t>(fault)], before + 1) << "once";
  }
  // Root alone may give something away.
  bool GiveAway(const std::string& path) const { return lchown(path.c_str(), kSomebody, kSomebody) == 0; }

  TemporaryDirectory directory_;
  const std::string path_ = (directory_.path() / "rings").string();
  RingPlace place_{path_};
};

TEST_F(RingPlaceTest, IsMadeAndMadeAgain) {
  EXPECT_TRUE(IsRight());
  EXPECT_EQ(place_.mended()[static_cast<size_t>(RingPlaceFault::kMissing)], 1u);
  std::filesystem::remove(path_);
  ExpectMended(RingPlaceFault::kMissing);
}

TEST_F(RingPlaceTest, ItsModeIsMendedWhateverTheUmask) {
  const mode_t before = umask(0077);
  for (const mode_t mode : {0755, 0777, 0400, 01770}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    ExpectMended(RingPlaceFault::kMode);
  }
  std::filesystem::remove(path_);
  ExpectMended(RingPlaceFault::kMissing);
  umask(before);
}

TEST_F(RingPlaceTest, AFileInItsPlaceIsMovedAside) {
  for (const char* const text : {"first", "second"}) {
    std::filesystem::remove(path_);
    directory_.Write("rings", text);
    ExpectMended(RingPlaceFault::kNotAFolder);
    EXPECT_EQ(std::filesystem::file_size(path_ + ".aside"), std::string(text).size());
  }
}

TEST_F(RingPlaceTest, ALinkIsMovedAsideUnlessItIsRoots) {
  std::filesystem::rename(path_, path_ + "-elsewhere");
  std::filesystem::create_directory_symlink(path_ + "-elsewhere", path_);
  if (geteuid() == 0) {
    place_.Keep();
    EXPECT_EQ(place_.fault(), RingPlaceFault::kNone);
    EXPECT_TRUE(std::filesystem::is_symlink(path_));
    ASSERT_TRUE(GiveAway(path_));
  }
  ExpectMended(RingPlaceFault::kNotAFolder);
  EXPECT_TRUE(std::filesystem::is_symlink(path_ + ".aside"));
  EXPECT_TRUE(std::filesystem::is_directory(path_ + "-elsewhere"));
}

TEST_F(RingPlaceTest, RootTakesItBackFromAnother) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_TRUE(GiveAway(path_));
  ExpectMended(RingPlaceFault::kOwner);
}

TEST_F(RingPlaceTest, WhatCannotBeMendedIsSaidAndMendedLater) {
  std::filesystem::remove(path_);
  directory_.Write("rings", "in the way");
  std::filesystem::create_directory(path_ + ".aside");
  for (int look = 0; look < 2; ++look) {
    place_.Keep();
    EXPECT_EQ(place_.fault(), RingPlaceFault::kNotAFolder);
  }
  std::filesystem::remove(path_ + ".aside");
  ExpectMended(RingPlaceFault::kNotAFolder);
  RingPlace nowhere((directory_.path() / "no" / "rings").string());
  nowhere.Keep();
  EXPECT_EQ(nowhere.fault(), RingPlaceFault::kMissing);
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "no")) << "only the folder itself is ours";
}

}  // namespace
}  // namespace lockstep
