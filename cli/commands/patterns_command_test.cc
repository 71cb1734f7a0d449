// `lockstep patterns` on one trace and on two, and `lockstep diagnose` on those of a job.

#include "cli/commands/patterns_command.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/commands/diagnose_command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"
#include "detector/patterns/rank_patterns.h"
#include "formats/testing/test_bytes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLoader[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

// What a rank does in each step, in milliseconds.
struct RankDay {
  int rank = 0;
  int64_t loader = 1;
  int64_t collect = 0;
  int64_t kernel = 60;
  int64_t step = 100;
};

class PatternsTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.path() / name; }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream file(Path(name), std::ios::binary);
    file << text;
  }

  void WriteTrace(const RankDay& day) const {
    std::vector<std::string> events;
    const auto add = [&](const std::string& category, const std::string& name, int64_t at, int64_t length, int thread) {
      events.push_back(absl::StrCat(R"({"ph": "X", "cat": ")", category, R"(", "name": ")", name,
                                    R"(", "pid": 1, "tid": )", thread, R"(, "ts": )", at * 1000, R"(, "dur": )",
                                    length * 1000, R"(, "args": {"stream": )", thread, "}}"));
    };
    for (int64_t step = 0; step < 5; ++step) {
      int64_t at = step * day.step;
      add("user_annotation", absl::StrCat("ProfilerStep#", step), at, day.step, 1);
      add("user_annotation", kLoader, at, day.loader, 1);
      add("python_function", "<built-in function collect>", at + day.loader, day.collect, 1);
      at += day.loader + day.collect;
      add("cuda_runtime", "cudaLaunchKernel", at, 1, 1);
      add("kernel", "sm90_gemm", at + 1, day.kernel, 7);
      add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 1 + day.kernel,
          day.step * (step + 1) - at - 1 - day.kernel, 8);
    }
    Write(absl::StrCat("rank", day.rank, ".json"),
          absl::StrCat(R"({"distributedInfo": {"rank": )", day.rank, R"(, "world_size": 8}, "traceEvents": [)",
                       absl::StrJoin(events, ",\n"), "]}"));
  }

  CommandResult Patterns(const std::vector<std::string>& names, OutputFormat format = OutputFormat::kTable) const {
    const auto command = MakePatternsCommand();
    auto* const paths = std::get<std::vector<std::string>*>(command->arguments().front().target);
    for (const std::string& name : names) paths->push_back(Path(name));
    return RunFilled(command, format);
  }

  nlohmann::json Diagnosed(ExitCode expected = ExitCode::kOk) const {
    const CommandResult result = RunCommand(MakeDiagnoseCommand(), {{"PATH", directory_.path()}}, OutputFormat::kJson);
    EXPECT_EQ(result.exit_code, expected) << result.error;
    return nlohmann::json::parse(result.out);
  }

  TemporaryDirectory directory_;
};

TEST_F(PatternsTest, TheTableOfOneRank) {
  WriteTrace({.rank = 3, .loader = 20});
  const CommandResult result = Patterns({"rank3.json"});
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  EXPECT_THAT(result.out, HasSubstr("rank 3: 500 ms, 5 steps, nothing ran in 0.0 %"));
  EXPECT_THAT(result.out, HasSubstr("60.00 %"));
  EXPECT_THAT(result.out, HasSubstr("matrix products"));
  EXPECT_THAT(result.out, HasSubstr(kLoader));
}

TEST_F(PatternsTest, AsJsonARankIsSmall) {
  std::vector<std::string> events;
  for (int i = 0; i < 5000; ++i) {
    events.push_back(absl::StrCat(R"({"ph": "X", "cat": "python_function", "name": ")", std::string(90, 'n'), i,
                                  R"(", "pid": 1, "tid": 1, "ts": )", i * 1000, R"(, "dur": )", i % 700 == 0 ? 900 : 5,
                                  "}"));
  }
  for (int i = 0; i < 400; ++i) {
    events.push_back(absl::StrCat(R"({"ph": "X", "cat": "kernel", "name": "\"\u0001)", std::string(90, 'k'), i,
                                  R"(", "pid": 0, "tid": 7, "ts": )", i * 12000, R"(, "dur": 11000.123,)",
                                  R"x("args": {"est. achieved occupancy %": 33}})x"));
  }
  Write("rank0.json", absl::StrCat("[", absl::StrJoin(events, ","), "]"));
  const CommandResult result = Patterns({"rank0.json"}, OutputFormat::kJson);
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  const auto rank = nlohmann::json::parse(result.out)["ranks"][0];
  EXPECT_LE(rank.dump().size(), kMostPatternBytes + 512);
  EXPECT_GT(rank["functions"].size(), 50u);
  EXPECT_GT(rank["left_out"]["functions"].get<int>(), 100);
  double shares = rank["idle"].get<double>() + rank["left_out"]["beta"].get<double>();
  for (const auto& function : rank["functions"]) shares += function["beta"].get<double>();
  EXPECT_NEAR(shares, 1, 0.01);
}

TEST_F(PatternsTest, WhatDiffersBetweenTwo) {
  WriteTrace({.rank = 0});
  WriteTrace({.rank = 1, .loader = 21});
  const CommandResult result = Patterns({"rank0.json", "rank1.json"});
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  EXPECT_THAT(result.out, HasSubstr("+20.00 %"));
  EXPECT_THAT(result.out, HasSubstr("-20.00 %"));
  EXPECT_THAT(result.out, Not(HasSubstr("sm90_gemm"))) << "that is alike";
  EXPECT_THAT(Patterns({"rank0.json", "rank0.json"}).out, HasSubstr("no function's share differs"));
}

TEST_F(PatternsTest, WhatCannotBeReadHasAReason) {
  Write("cut.json", R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 0, "dur": 5}, {"ph)");
  Write("empty.json", R"({"traceEvents": []})");
  const CommandResult cut = Patterns({"cut.json"});
  EXPECT_EQ(cut.exit_code, ExitCode::kInputUnreadable);
  EXPECT_THAT(cut.error, HasSubstr("cut.json: byte 79: expected the rest of a value, found the end of the data"));
  EXPECT_THAT(cut.out, HasSubstr("100.00 %")) << "what precedes the cut";
  const CommandResult empty = Patterns({"empty.json"});
  EXPECT_EQ(empty.exit_code, ExitCode::kInputUnreadable);
  EXPECT_THAT(empty.error, HasSubstr("expected calls of functions, found none among 0 events"));
  EXPECT_THAT(Patterns({"absent.json"}).error, HasSubstr("cannot open"));
  EXPECT_EQ(Patterns({"a", "b", "c"}).exit_code, ExitCode::kUsage);
}

TEST_F(PatternsTest, DiagnoseNamesTheFunctionTheRankAndTheClass) {
  for (int rank = 0; rank < 8; ++rank) WriteTrace({.rank = rank, .loader = rank == 5 ? 30 : 1});
  const auto job = Diagnosed()["jobs"][0];
  EXPECT_EQ(job["state"], "slow");
  nlohmann::json found;
  for (const auto& verdict : job["verdicts"]) {
    if (verdict["class"] == "storage_stall") found = verdict;
  }
  ASSERT_FALSE(found.is_null()) << job.dump(1);
  EXPECT_EQ(found["scope"], "software");
  EXPECT_EQ(found["advice"], "check_software");
  ASSERT_EQ(found["culprits"].size(), 1u);
  EXPECT_EQ(found["culprits"][0]["rank"], 5);
  EXPECT_EQ(found["culprits"][0]["host"], "") << "no file names it";
  EXPECT_THAT(found["evidence"][0]["text"].get<std::string>(), HasSubstr("Rank 5 waits for data loading"));
  EXPECT_THAT(found["evidence"][1]["text"].get<std::string>(), HasSubstr(kLoader));
}

TEST_F(PatternsTest, DiagnoseFindsWhatIsWrongOnAllRanks) {
  for (int rank = 0; rank < 8; ++rank) WriteTrace({.rank = rank, .collect = 12});
  const auto job = Diagnosed()["jobs"][0];
  EXPECT_EQ(job["state"], "slow");
  EXPECT_THAT(job.dump(), HasSubstr("All 8 ranks that were profiled wait for garbage collection in 12.0%"));
}

TEST_F(PatternsTest, DiagnoseAbstainsWhereNothingDiffers) {
  for (int rank = 0; rank < 8; ++rank) WriteTrace({.rank = rank});
  const auto job = Diagnosed()["jobs"][0];
  EXPECT_EQ(job["state"], "unknown");
  EXPECT_THAT(job.dump(), HasSubstr("The profiles of 8 ranks show no function"));
}

TEST_F(PatternsTest, PublicTraces) {
  const std::filesystem::path folder = PublicRecordings("cli/commands/patterns_command_test.cc");
  if (folder.empty()) GTEST_SKIP() << "the public recordings are not beside the repository";
  const CommandResult result =
      RunCommand(MakeDiagnoseCommand(), {{"PATH", folder / "kineto/trace_filter*"}}, OutputFormat::kJson);
  const auto job = nlohmann::json::parse(result.out)["jobs"][0];
  EXPECT_EQ(job["state"], "unknown") << "two of 128 ranks, each with a few of its kernels";
  EXPECT_THAT(job.dump(), HasSubstr("The profiles of 2 ranks show no function")) << job.dump(1);
}

}  // namespace
}  // namespace lockstep
