#include "cli/series_query.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SeriesQueryTest, MetricAloneMatchesEverything) {
  const auto query = ParseSeriesQuery(" host_cpu_busy_ratio ");
  ASSERT_OK(query);
  EXPECT_EQ(query->metric, "host_cpu_busy_ratio");
  EXPECT_TRUE(query->Matches("any", ""));
  EXPECT_EQ(query->ExactValue("host"), std::nullopt);
}

TEST(SeriesQueryTest, OperatorsChoose) {
  struct Row {
    const char* query;
    const char* host;
    const char* device;
    bool matches;
  };
  constexpr Row kRows[] = {
      {R"(net_up{host="a"})", "a", "eth0", true},
      {R"(net_up{host="a"})", "ab", "eth0", false},
      {R"(net_up{host!="a"})", "b", "eth0", true},
      {R"(net_up{device=~"eth*"})", "a", "eth0", true},
      {R"(net_up{device=~"eth*"})", "a", "ib0", false},
      {R"(net_up{device!~"eth?"})", "a", "eth0", false},
      {R"(net_up{device!~"eth?"})", "a", "eth10", true},
      {R"(net_up{device=""})", "a", "", true},
      {R"(net_up{host="a",device=~"*"})", "a", "", true},
      {R"(net_up{host="a", device="eth0",})", "a", "eth0", true},
      {R"(net_up{ host =~ "n*" , host != "n2" })", "n2", "x", false},
      {R"(net_up{host="say \"x\""})", "say \"x\"", "", true},
      {R"(net_up{})", "a", "", true},
  };
  for (const Row& row : kRows) {
    const auto query = ParseSeriesQuery(row.query);
    ASSERT_OK(query) << row.query;
    EXPECT_EQ(query->Matches(row.host, row.device), row.matches) << row.query;
  }
}

TEST(SeriesQueryTest, ExactValuesGoToTheCollector) {
  const auto query = ParseSeriesQuery(R"(net_up{host="a",device=~"eth*"})");
  ASSERT_OK(query);
  EXPECT_EQ(query->ExactValue("host"), "a");
  EXPECT_EQ(query->ExactValue("device"), std::nullopt);
}

TEST(SeriesQueryTest, AGpuIsNamedByItselfOrByWhoRunsOnIt) {
  const auto gpu = ParseSeriesQuery(R"(gpu_power_watts{host="a",gpu="GPU-1"})");
  ASSERT_OK(gpu);
  EXPECT_EQ(gpu->gpu, "GPU-1");
  EXPECT_EQ(gpu->job, std::nullopt);
  EXPECT_TRUE(gpu->Matches("a", "gpu0"));
  EXPECT_FALSE(gpu->Matches("b", "gpu0"));
  const auto rank = ParseSeriesQuery(R"(gpu_power_watts{rank="17",job="train"})");
  ASSERT_OK(rank);
  EXPECT_EQ(rank->gpu, std::nullopt);
  EXPECT_EQ(rank->job, "train");
  EXPECT_EQ(rank->rank, 17);
}

TEST(SeriesQueryTest, ErrorsPointAtThePosition) {
  struct Row {
    const char* query;
    int position;
    const char* what;
  };
  constexpr Row kRows[] = {
      {"", 1, "expected the name of a metric"},
      {"{host=\"a\"}", 1, "expected the name of a metric"},
      {"host_cpu_bussy_ratio", 1, "did you mean host_cpu_busy_ratio?"},
      {"zzz", 1, "unknown metric zzz"},
      {"net_up{", 8, "expected a label: host, device, gpu, job, rank"},
      {"net_up{pid=\"1\"}", 8, "expected a label: host, device, gpu, job, rank"},
      {"net_up{rank=\"1\"}", 17, "rank needs a job"},
      {"net_up{job=\"a\",rank=\"-1\"}", 16, "expected the number of a rank"},
      {"net_up{job=\"a\",rank=\"all\"}", 16, "expected the number of a rank"},
      {"net_up{ gpu=~\"GPU-*\"}", 9, "gpu takes = alone"},
      {"net_up{gpu=\"gpu3\",job=\"a\"}", 27, "a GPU is named by gpu or by job, not by both"},
      {"net_up{host}", 12, "expected =, !=, =~ or !~"},
      {"net_up{host=a}", 13, "expected a value in double quotes"},
      {"net_up{host=\"a}", 13, "this quote is never closed"},
      {"net_up{host=\"a\" device=\"b\"}", 17, "expected , or }"},
      {"net_up{host=\"a\"} x", 18, "unexpected text after the query"},
  };
  for (const Row& row : kRows) {
    EXPECT_THAT(ParseSeriesQuery(row.query),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("position " + std::to_string(row.position) + ": "), HasSubstr(row.what))))
        << row.query;
  }
}

TEST(SeriesQueryTest, TheMarkStandsUnderTheMistake) {
  EXPECT_THAT(ParseSeriesQuery("net_up{host=a}"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\n  net_up{host=a}\n              ^")));
}

// The definition of a glob, by recursion.
bool SlowGlob(absl::string_view pattern, absl::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return SlowGlob(pattern.substr(1), text) || (!text.empty() && SlowGlob(pattern, text.substr(1)));
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && SlowGlob(pattern.substr(1), text.substr(1));
}

TEST(GlobTest, AgreesWithItsDefinition) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string pattern;
    std::string text;
    for (uint64_t n = random.Below(7); n > 0; --n) pattern += "ab*?"[random.Below(4)];
    for (uint64_t n = random.Below(7); n > 0; --n) text += "ab*"[random.Below(3)];
    EXPECT_EQ(GlobMatches(pattern, text), SlowGlob(pattern, text)) << pattern << " on " << text;
  }
}

TEST(SeriesQueryTest, NoTextCrashesTheParser) {
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random.Below(2) == 0 ? "net_up{" : "";
    for (uint64_t n = random.Below(20); n > 0; --n) text += "net_uphostdevice{}=~!\",\\ \x80"[random.Below(26)];
    const auto query = ParseSeriesQuery(text);
    if (query.ok()) query->Matches("a", "b");
  }
}

}  // namespace
}  // namespace lockstep
