#include "cli/inputs/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/testing/temporary_directory.h"
#include "cli/inputs/input_format.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr char kOps[] = "job,host,rank,comm,seq,op,start_ns,end_ns\njob-1,h0,0,c,0,AllReduce,1,2\n";
constexpr char kMetrics[] = "time_ms,job,host,device,metric,value\n1,job-1,h0,,host_load1,2\n";
constexpr char kDump[] =
    R"({"entries": [{"process_group": ["0", "x"], "collective_seq_id": 1, "profiling_name": "nccl:all_reduce",
 "time_created_ns": 5, "state": "scheduled"}]})";

InputFiles Read(const std::vector<std::string>& paths) {
  return ReadInputFiles(paths, std::nullopt, [](const ReadProgress&) {});
}

TEST(InputFilesTest, FusesFormatsOfOneJob) {
  const TemporaryDirectory directory;
  directory.Write("run/ops.txt", kOps);
  directory.Write("run/metrics", kMetrics);
  directory.Write("run/rank3.json", kDump);
  directory.Write("run/notes.md", "# nothing\n");
  const InputFiles inputs = Read({(directory.path() / "run").string()});
  EXPECT_TRUE(inputs.unreadable.empty());
  ASSERT_EQ(inputs.jobs.size(), 1u);
  EXPECT_EQ(inputs.jobs[0].evidence.job, "job-1");
  EXPECT_EQ(inputs.jobs[0].evidence.trace.ranks.size(), 2u);
  EXPECT_EQ(inputs.jobs[0].evidence.metrics.series.size(), 1u);
}

TEST(InputFilesTest, NamesNamelessJobsAfterTheirDirectory) {
  const TemporaryDirectory directory;
  directory.Write("one/rank3.json", kDump);
  directory.Write("two/rank3.json", kDump);
  const InputFiles inputs = Read({(directory.path() / "one").string(), (directory.path() / "two" / "*.json").string()});
  ASSERT_EQ(inputs.jobs.size(), 2u);
  EXPECT_EQ(inputs.jobs[0].evidence.job, "one");
  EXPECT_EQ(inputs.jobs[1].evidence.job, "two");
}

TEST(InputFilesTest, OneBrokenFileStopsNoOther) {
  const TemporaryDirectory directory;
  directory.Write("ops.csv", kOps);
  directory.Write("odd.bin", "\x01\x02what");
  directory.Write("cut.json", std::string(kDump).substr(0, 60));
  directory.Write("empty", "");
  const std::string base = directory.path().string() + "/";
  const InputFiles inputs =
      Read({base + "odd.bin", base + "cut.json", base + "absent", base + "empty", base + "*.none", base + "ops.csv"});
  EXPECT_EQ(inputs.jobs.size(), 1u);
  ASSERT_EQ(inputs.unreadable.size(), 5u);
  for (const UnreadableInput& input : inputs.unreadable) {
    EXPECT_THAT(input.error, ::testing::AnyOf(HasSubstr("expected"), HasSubstr("cannot open"))) << input.path;
    EXPECT_EQ(input.error.find('\n'), std::string::npos);
  }
}

TEST(InputFilesTest, AnEmptyFileAmongFilesOfItsKindIsNamed) {
  const TemporaryDirectory directory;
  directory.Write("run/rank3.json", kDump);
  directory.Write("run/rank12.json", "");
  directory.Write("run/_SUCCESS", "");
  const InputFiles inputs = Read({(directory.path() / "run").string()});
  ASSERT_EQ(inputs.unreadable.size(), 1u);
  EXPECT_THAT(inputs.unreadable[0].path, HasSubstr("rank12.json"));
  EXPECT_THAT(inputs.unreadable[0].error, HasSubstr("found an empty file"));
  EXPECT_EQ(inputs.jobs.size(), 1u);
}

TEST(InputFormatTest, NamesGoBothWays) {
  for (const InputFormat format : {InputFormat::kOpsCsv, InputFormat::kMetricsCsv, InputFormat::kCapture,
                                   InputFormat::kKineto, InputFormat::kFlightRecorder, InputFormat::kNcclInspector}) {
    EXPECT_EQ(InputFormatOf(Name(format)), format);
  }
  EXPECT_FALSE(InputFormatOf("auto").has_value());
}

}  // namespace
}  // namespace lockstep
