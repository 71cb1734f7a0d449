// What a repair leaves of the audit's file.

#include "collector/repair_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/rocks_store.h"
#include "daemon/exit_codes.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string TextOf(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(RepairRunTest, TheFileOfTheAuditIsRenamedAsTheSettingsSay) {
  const TemporaryDirectory directory;
  const RocksStoreOptions options{.directory = (directory.path() / "history").string()};
  const auto damage = [&options] {
    ASSERT_OK(OpenRocksStore(options, RealClock()));
    ASSERT_TRUE(std::filesystem::remove(std::filesystem::path(options.directory) / "CURRENT"));
  };
  const std::filesystem::path file = directory.Write("audit.log", std::string(2'000, 'x') + "\n");
  const std::filesystem::path former = file.string() + ".1";
  damage();
  EXPECT_EQ(RunRepair(options, file.string(), /*audit_file_max_bytes=*/0), kExitOk);
  EXPECT_FALSE(std::filesystem::exists(former)) << "somebody else rotates it";
  EXPECT_THAT(TextOf(file), HasSubstr("action=repair"));
  damage();
  EXPECT_EQ(RunRepair(options, file.string(), /*audit_file_max_bytes=*/1'000), kExitOk);
  EXPECT_THAT(TextOf(former), StartsWith("xxx"));
  EXPECT_THAT(TextOf(file), HasSubstr("action=repair"));
}

}  // namespace
}  // namespace lockstep
