#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/testing/sim_clock.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

struct Result {
  ExitCode exit_code;
  std::string out;
  std::string err;
};

Result Eval(std::vector<std::string> arguments, const std::string& what = "collectives") {
  arguments.insert(arguments.begin(), {"eval", what});
  SimClock clock;
  std::ostringstream out, err;
  const ExitCode exit_code = RunCommandLine(arguments, {"", out, err, /*width=*/0, /*progress=*/false, clock});
  return {exit_code, out.str(), err.str()};
}

TEST(EvalCommandTest, TheSameSeedsGiveTheSameBytesOnAnyNumberOfThreads) {
  const std::vector<std::string> arguments = {"--suite", "hangs", "--episodes", "2", "-o", "json", "--threads"};
  std::vector<std::string> one = arguments, two = arguments;
  one.push_back("1");
  two.push_back("2");
  const Result alone = Eval(one);
  ASSERT_EQ(alone.exit_code, ExitCode::kOk) << alone.err;
  EXPECT_EQ(Eval(two).out, alone.out);
  const nlohmann::json json = nlohmann::json::parse(alone.out);
  EXPECT_EQ(json["seeds"], "tune");
  ASSERT_EQ(json["suites"].size(), 1u);
  EXPECT_EQ(json["suites"][0]["episodes"], 2);
  EXPECT_EQ(json["measures"].size(), 2u);
}

TEST(EvalCommandTest, ReportingSeedsAreOthers) {
  const auto text = [](const char* seeds) {
    return Eval({"--suite", "hangs", "--episodes", "1", "--no-baselines", "--seeds", seeds, "-o", "json"}).out;
  };
  EXPECT_NE(nlohmann::json::parse(text("report"))["suites"][0]["records"],
            nlohmann::json::parse(text("tune"))["suites"][0]["records"]);
}

TEST(EvalCommandTest, EpisodesCanBeLeftOut) {
  const auto most_records = [](const std::string& skip, const std::string& episodes) {
    const Result result =
        Eval({"--suite", "hangs", "-o", "json", "--no-baselines", "--skip", skip, "--episodes", episodes});
    return nlohmann::json::parse(result.out)["suites"][0]["records"]["most"].get<double>();
  };
  const double first = most_records("0", "1"), second = most_records("1", "1");
  EXPECT_NE(first, second);
  EXPECT_EQ(std::max(first, second), most_records("0", "2"));
}

TEST(EvalCommandTest, OneEpisodeIsShownWithItsTruth) {
  const Result result = Eval({"--suite", "hangs", "--episode", "3"});
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.err;
  EXPECT_NE(result.out.find("truth: machine hang_not_entered"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("true state: hung"), std::string::npos) << result.out;
}

TEST(EvalCommandTest, WhatCannotBeMeantIsRefused) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--suite", "no-such-suite"},
                                                    {"--seeds", "both"},
                                                    {"--threads", "0"},
                                                    {"--episode", "3"},
                                                    {"--episodes", "1000000000"},
                                                    {"--skip", "1000000000"}}) {
    EXPECT_EQ(Eval(arguments).exit_code, ExitCode::kUsage) << arguments[0];
  }
}

TEST(EvalCommandTest, CountersGiveTheSameBytesOnAnyNumberOfThreads) {
  const std::vector<std::string> arguments = {"--suite", "gross", "--episodes",     "2",
                                              "-o",      "json",  "--no-baselines", "--threads"};
  std::vector<std::string> one = arguments, two = arguments;
  one.push_back("1");
  two.push_back("2");
  const Result alone = Eval(one, "counters");
  ASSERT_EQ(alone.exit_code, ExitCode::kOk) << alone.err;
  EXPECT_EQ(Eval(two, "counters").out, alone.out);
  const nlohmann::json json = nlohmann::json::parse(alone.out);
  ASSERT_EQ(json["suites"].size(), 1u);
  EXPECT_EQ(json["suites"][0]["episodes"], 2);
  EXPECT_EQ(json["suites"][0]["methods"][0]["recall"]["trials"], 2);
  ASSERT_EQ(json["measures"].size(), 1u);
}

TEST(EvalCommandTest, OneEpisodeOfCountersIsAskedOfAllMethods) {
#ifdef LOCKSTEP_SANITIZED
  GTEST_SKIP() << "Minder's network takes minutes; eval/minder tests it in this flavour";
#endif
  const Result result = Eval({"--suite", "gross", "--episode", "3"}, "counters");
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.err;
  EXPECT_NE(result.out.find("simulated: "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("lockstep: found "), std::string::npos) << result.out;
}

TEST(EvalCommandTest, RelationsGiveTheSameBytesOnAnyNumberOfThreads) {
  const std::vector<std::string> arguments = {"--suite",    "hangs",  "--episodes", "2", "-o",       "json",
                                              "--relation", "clocks", "--trials",   "2", "--threads"};
  std::vector<std::string> one = arguments, two = arguments;
  one.push_back("1");
  two.push_back("2");
  const Result alone = Eval(one, "metamorphic");
  ASSERT_EQ(alone.exit_code, ExitCode::kOk) << alone.err;
  EXPECT_EQ(Eval(two, "metamorphic").out, alone.out);
  const nlohmann::json json = nlohmann::json::parse(alone.out);
  ASSERT_EQ(json["suites"].size(), 2u);
  EXPECT_EQ(json["suites"][0]["relations"]["clocks"]["trials"], 2);
  EXPECT_EQ(json["measures"][0]["count"], 4);
}

TEST(EvalCommandTest, RelationsTellWhichRecordingTheyCouldNotRead) {
  const Result result = Eval({"no-such-file", "--relation", "again"}, "metamorphic");
  EXPECT_EQ(result.exit_code, ExitCode::kInputUnreadable);
  EXPECT_NE(result.err.find("lockstep: no-such-file: "), std::string::npos) << result.err;
  const Result json = Eval({"no-such-file", "--relation", "again", "-o", "json"}, "metamorphic");
  EXPECT_EQ(nlohmann::json::parse(json.out)["measures"][0]["met"], false) << "nothing was tried";
}

TEST(EvalCommandTest, WhatIsOfRelationsAloneIsRefusedElsewhere) {
  const std::vector<std::string> of_relations[] = {
      {"ops.csv"}, {"--relation", "clocks"}, {"--trials", "2"}, {"--trial", "2"}, {"--keep", "somewhere"}};
  for (const std::vector<std::string>& arguments : of_relations) {
    for (const char* what : {"collectives", "counters", "fleets", "live"}) {
      const Result result = Eval(arguments, what);
      EXPECT_EQ(result.exit_code, ExitCode::kUsage) << what << " " << arguments[0];
      EXPECT_NE(result.err.find("is of metamorphic alone"), std::string::npos) << result.err;
    }
  }
  EXPECT_EQ(Eval({"--relation", "no-such-relation"}, "metamorphic").exit_code, ExitCode::kUsage);
  EXPECT_EQ(Eval({"--trials", "0"}, "metamorphic").exit_code, ExitCode::kUsage);
}

// Without what is measured of this machine.
nlohmann::json WithoutEfforts(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text);
  for (nlohmann::json& suite : json["suites"]) {
    for (const char* key : {"engine_cores_per_1000_machines", "play_cpu_seconds", "simulate_seconds"}) suite.erase(key);
  }
  return json;
}

TEST(EvalCommandTest, TheLivePathGivesTheSameOnAnyNumberOfThreads) {
  const std::vector<std::string> arguments = {"--suite", "slow-8", "--episodes", "2", "-o", "json", "--threads"};
  std::vector<std::string> one = arguments, two = arguments;
  one.push_back("1");
  two.push_back("2");
  const Result alone = Eval(one, "live");
  ASSERT_EQ(alone.exit_code, ExitCode::kOk) << alone.err;
  const nlohmann::json json = WithoutEfforts(alone.out);
  EXPECT_EQ(WithoutEfforts(Eval(two, "live").out), json);
  ASSERT_EQ(json["suites"].size(), 1u);
  EXPECT_EQ(json["suites"][0]["episodes"], 2);
  EXPECT_EQ(json["suites"][0]["agrees_with_file"]["trials"], 2);
  EXPECT_FALSE(json["measures"].empty());
}

TEST(EvalCommandTest, OneLiveEpisodeIsShownWithItsTimeline) {
  const Result result = Eval({"--suite", "hangs", "--episode", "3"}, "live");
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.err;
  for (const char* part : {"truth: machine hang_not_entered", "timeline", "state     ", "appears", "as a file: "}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
}

TEST(EvalCommandTest, CountersRefuseWhatCannotBeMeant) {
  EXPECT_EQ(Eval({"--suite", "hangs"}, "counters").exit_code, ExitCode::kUsage) << "a suite of collectives";
  EXPECT_EQ(Eval({"--episode", "3"}, "counters").exit_code, ExitCode::kUsage);
  EXPECT_EQ(Eval({}, "weather").exit_code, ExitCode::kUsage);
}

TEST(EvalCommandTest, FleetsAreScoredByKindAndByWorld) {
  const Result result = Eval({"--suite", "healthy", "--episodes", "2", "-o", "json"}, "fleets");
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.err;
  const nlohmann::json suite = nlohmann::json::parse(result.out)["suites"][0];
  EXPECT_TRUE(suite["kinds"].contains("healthy"));
  EXPECT_FALSE(suite["features"].empty());
  const Result unknown = Eval({"--suite", "no-such-kind"}, "fleets");
  EXPECT_EQ(unknown.exit_code, ExitCode::kUsage);
  EXPECT_NE(unknown.err.find("hang_program"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace lockstep
