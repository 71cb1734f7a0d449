#include "cli/commands/feed_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr char kHeader[] = "job,host,rank,comm,seq,op,start_ns,end_ns\n";
constexpr char kNobody[] = "127.0.0.1:1";

class FeedCommandTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = (directory_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }

  static CommandResult Feed(std::map<std::string, std::string> arguments) {
    arguments.try_emplace("--to", kNobody);
    return RunCommand(MakeFeedCommand(), arguments);
  }

  TemporaryDirectory directory_;
};

TEST_F(FeedCommandTest, RefusesBadArguments) {
  const std::string path = Write("ops.csv", std::string(kHeader) + "j,h,0,c,1,AllReduce,1,2\n");
  EXPECT_EQ(Feed({{"PATH", path}, {"--speed", "0"}}).exit_code, ExitCode::kUsage);
  EXPECT_EQ(Feed({{"PATH", path}, {"--speed", "1001"}}).exit_code, ExitCode::kUsage);
  EXPECT_EQ(Feed({{"PATH", path}, {"--format", "avi"}}).exit_code, ExitCode::kUsage);
}

TEST_F(FeedCommandTest, SaysWhatCannotBeRead) {
  EXPECT_EQ(Feed({{"PATH", (directory_.path() / "absent.csv").string()}}).exit_code, ExitCode::kInputUnreadable);
  EXPECT_EQ(Feed({{"PATH", Write("noise", "no known format")}}).exit_code, ExitCode::kInputUnreadable);
  const CommandResult empty = Feed({{"PATH", Write("empty.csv", kHeader)}});
  EXPECT_EQ(empty.exit_code, ExitCode::kInputUnreadable);
  EXPECT_THAT(empty.error, HasSubstr("no job"));
}

TEST_F(FeedCommandTest, PlaysOneJobAtATime) {
  const CommandResult result =
      Feed({{"PATH", Write("ops.csv", std::string(kHeader) + "a,h,0,c,1,AllReduce,1,2\nb,h,1,c,1,AllReduce,1,2\n")}});
  EXPECT_EQ(result.exit_code, ExitCode::kUsage);
  EXPECT_THAT(result.error, HasSubstr("expected the files of one job, found 2: 'a', 'b'"));
}

TEST_F(FeedCommandTest, RefusesARecordingWithAWrongClock) {
  const CommandResult result =
      Feed({{"PATH", Write("ops.csv", std::string(kHeader) +
                                          "a,h,0,c,1,AllReduce,1,2\na,h,0,c,2,AllReduce,1760000000000000000,\n")}});
  EXPECT_EQ(result.exit_code, ExitCode::kInputUnreadable);
  EXPECT_THAT(result.error, HasSubstr("is some clock wrong?"));
}

}  // namespace
}  // namespace lockstep
