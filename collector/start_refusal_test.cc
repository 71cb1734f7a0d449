// The real binary in front of a data directory that it must not touch.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

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

class StartRefusalTest : public testing::Test {
 protected:
  // Runs until it exits, which a refusal does at once.
  int ExitCodeOfCollector() const {
    const std::string command =
        "collector/lockstep-collector --listen-address=127.0.0.1:0 --http-listen-address=127.0.0.1:0 "
        "--data-directory=" +
        options_.directory + " 2>" + (directory_.path() / "log").string();
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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

TEST_F(StartRefusalTest, ADirectoryThatAnotherProcessHoldsIsNotTaken) {
  const auto database = RocksDatabase::Open(options_, clock_);
  ASSERT_OK(database);
  EXPECT_EQ(ExitCodeOfCollector(), kExitDataDirectory);
}

}  // namespace
}  // namespace lockstep
