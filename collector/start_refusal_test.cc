// The real binary in front of a data directory that it must not touch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/families.h"
#include "collector/store/rocks_database.h"
#include "collector/store/rocks_store.h"
#include "collector/store/values.h"
#include "daemon/exit_codes.h"
#include "rocksdb/write_batch.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class StartRefusalTest : public testing::Test {
 protected:
  // Runs until it exits, which a refusal does at once.
  int ExitCodeOfCollector(const std::string& flag = "") const {
    const std::string command =
        "collector/lockstep-collector --listen-address=127.0.0.1:0 --http-listen-address=127.0.0.1:0 " + flag +
        " --data-directory=" + options_.directory + " 2>" + (directory_.path() / "log").string();
    // One that starts all the same is ended.
    const int status = std::system(("timeout 5 " + command).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // What it said, line by line.
  std::vector<std::string> Log() const {
    std::ifstream file(directory_.path() / "log");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  static std::set<std::string> Names(const fs::path& directory) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
    return names;
  }

  TemporaryDirectory directory_;
  const Clock& clock_ = RealClock();
  RocksStoreOptions options_{.directory = (directory_.path() / "history").string()};
};

TEST_F(StartRefusalTest, HistoryOfANewerSchemaHasAnExitCodeOfItsOwnEveryTime) {
  {
    const auto database = RocksDatabase::Open(options_, clock_);
    ASSERT_OK(database);
    rocksdb::WriteBatch batch;
    (*database)->Put(batch, Family::kMeta, "schema_version", EncodeSchemaVersion(RocksDatabase::kSchemaVersion + 1));
    ASSERT_OK((*database)->Write(batch, /*sync=*/true));
  }
  EXPECT_EQ(ExitCodeOfCollector(), kExitNewerSchema);
  EXPECT_EQ(ExitCodeOfCollector(), kExitNewerSchema) << "the first start must have left it as it was";
}

struct Damage {
  const char* name;
  void (*damage)(const fs::path& directory);
  const char* said;
};

fs::path Only(const fs::path& directory, const std::string& beginning, const std::string& end) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(beginning) && name.ends_with(end)) return entry.path();
  }
  ADD_FAILURE() << "no " << beginning << "*" << end;
  return directory / "none";
}

void Overwrite(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::trunc) << text; }

const Damage kDamages[] = {
    {"manifest missing", [](const fs::path& at) { fs::remove(Only(at, "MANIFEST-", "")); }, "which is missing"},
    {"current missing", [](const fs::path& at) { fs::remove(at / "CURRENT"); }, "CURRENT is missing"},
    {"both missing",
     [](const fs::path& at) {
       fs::remove(at / "CURRENT");
       fs::remove(Only(at, "MANIFEST-", ""));
     },
     "CURRENT is missing"},
    {"current empty", [](const fs::path& at) { Overwrite(at / "CURRENT", ""); }, "CURRENT names no MANIFEST"},
    {"current of something", [](const fs::path& at) { Overwrite(at / "CURRENT", "x\n"); }, "CURRENT names no MANIFEST"},
    {"manifest empty", [](const fs::path& at) { Overwrite(Only(at, "MANIFEST-", ""), ""); }, "MANIFEST"},
    {"manifest of something", [](const fs::path& at) { Overwrite(Only(at, "MANIFEST-", ""), "x"); }, "MANIFEST"},
    {"table missing", [](const fs::path& at) { fs::remove(Only(at, "", ".sst")); }, "No such file"},
    {"table cut",
     [](const fs::path& at) {
       const fs::path table = Only(at, "", ".sst");
       fs::resize_file(table, fs::file_size(table) / 2);
     },
     "Corruption"},
    {"table of something", [](const fs::path& at) { Overwrite(Only(at, "", ".sst"), "x"); }, "too short"},
};

TEST_F(StartRefusalTest, DamagedHistoryIsRefusedEveryTimeInOneLineAndLeftAsItIs) {
  const fs::path history = options_.directory;
  const fs::path whole = directory_.path() / "whole";
  for (int life = 0; life < 2; ++life) ASSERT_OK(OpenRocksStore(options_, clock_));  // the second one writes a table
  fs::copy(history, whole, fs::copy_options::recursive);
  for (const Damage& damage : kDamages) {
    SCOPED_TRACE(damage.name);
    fs::remove_all(history);
    fs::copy(whole, history, fs::copy_options::recursive);
    damage.damage(history);
    const std::set<std::string> before = Names(history);
    for (int start = 0; start < 3; ++start) {
      EXPECT_EQ(ExitCodeOfCollector(), kExitDataCorrupt);
      const std::vector<std::string> said = Log();
      ASSERT_EQ(said.size(), 1u);
      EXPECT_THAT(said[0], AllOf(HasSubstr("cannot start"), HasSubstr("is damaged: "), HasSubstr(damage.said),
                                 HasSubstr("restore it from a backup, salvage what can be with --repair, or move it")));
    }
    EXPECT_EQ(Names(history), before);

    EXPECT_EQ(ExitCodeOfCollector("--repair"), kExitOk);
    const std::vector<std::string> said = Log();
    ASSERT_FALSE(said.empty());
    EXPECT_THAT(said[0], AllOf(HasSubstr("history was repaired"), HasSubstr("damage="), HasSubstr("lost_tables=")));
    EXPECT_THAT(said, testing::Contains(HasSubstr("family=incidents records=")));
    EXPECT_OK(OpenRocksStore(options_, clock_));
    EXPECT_EQ(ExitCodeOfCollector("--repair"), kExitOk);
    EXPECT_THAT(Log(), testing::ElementsAre(HasSubstr("history is whole: nothing was done")));
  }
}

TEST_F(StartRefusalTest, OnlyADamagedHistoryOfThisVersionThatNobodyHoldsIsRepaired) {
  EXPECT_EQ(ExitCodeOfCollector("--repair"), kExitDataDirectory);
  EXPECT_FALSE(fs::exists(options_.directory));
  const auto database = RocksDatabase::Open(options_, clock_);
  ASSERT_OK(database);
  EXPECT_EQ(ExitCodeOfCollector("--repair"), kExitDataDirectory);
  EXPECT_THAT(Log(), testing::ElementsAre(HasSubstr("is held by another process")));
}

TEST_F(StartRefusalTest, ADirectoryInWhichTheVeryFirstStartWasKilledIsBegunAnew) {
  fs::create_directories(options_.directory);
  for (const char* name : {"LOCK", "IDENTITY", "MANIFEST-000001"}) Overwrite(fs::path(options_.directory) / name, "");
  EXPECT_OK(OpenRocksStore(options_, clock_));
}

TEST_F(StartRefusalTest, ADirectoryThatAnotherProcessHoldsIsNotTaken) {
  const auto database = RocksDatabase::Open(options_, clock_);
  ASSERT_OK(database);
  EXPECT_EQ(ExitCodeOfCollector(), kExitDataDirectory);
}

}  // namespace
}  // namespace lockstep
