// metrics-csv: what a row may say, what is wrong with one that does not fit, and that what is written is read again.

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "base/shuffle.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "detector/model/metric_table.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/exporter_names.h"
#include "formats/file_writer.h"
#include "formats/metrics_csv_reader.h"
#include "formats/metrics_csv_writer.h"
#include "formats/read_result.h"
#include "formats/testing/test_bytes.h"

namespace lockstep {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kHeader[] = "time_ms,job,host,device,metric,value\n";

struct Parsed {
  ReadResult result;
  std::vector<JobInput> jobs;
  const MetricTable& table() const { return jobs.at(0).evidence.metrics; }
};

Parsed Parse(const std::string& text) {
  EvidenceBuilder builder;
  const auto source = SourceOf(text);
  Parsed parsed;
  parsed.result = ReadMetricsCsv(*source, "default", builder);
  parsed.jobs = builder.Finish();
  return parsed;
}

TEST(MetricsCsvRowTest, EveryCellArrives) {
  const Parsed parsed = Parse(std::string(kHeader) +
                              "1760000000123,train,\"n,1\",mlx5_0/1,ib_receive_bytes_total,18446744073709551615\n");
  EXPECT_OK(parsed.result.status);
  EXPECT_EQ(parsed.jobs.at(0).evidence.job, "train");
  EXPECT_EQ(parsed.table().job, "train");
  EXPECT_THAT(parsed.table().hosts, ElementsAre("n,1"));
  ASSERT_EQ(parsed.table().series.size(), 1u);
  const MetricSeries& series = parsed.table().series[0];
  EXPECT_EQ(series.host, 0);
  EXPECT_EQ(series.device, "mlx5_0/1");
  EXPECT_EQ(series.name, "ib_receive_bytes_total");
  EXPECT_EQ(series.metric, Metric::kIbReceiveBytesTotal);
  EXPECT_THAT(series.time_ms, ElementsAre(1760000000123));
  EXPECT_THAT(series.value, ElementsAre(18446744073709551615.0));
}

TEST(MetricsCsvRowTest, TimesAndValuesAsExportersWriteThem) {
  const struct {
    const char* time;
    int64_t time_ms;
  } times[] = {{"0", 0},
               {"-3", -3},
               {"1760000000123", 1760000000123},
               {"1760000000123.4", 1760000000123},
               {"1760000000123.5", 1760000000124},
               {"1.76e12", 1760000000000},
               {"-0.5", -1},
               {"8999999999999999.0", 8999999999999999}};
  for (const auto& [time, time_ms] : times) {
    const Parsed parsed = Parse(absl::StrCat(kHeader, time, ",j,h,,m,1\n"));
    EXPECT_OK(parsed.result.status);
    EXPECT_THAT(parsed.table().series.at(0).time_ms, ElementsAre(time_ms)) << time;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const struct {
    const char* text;
    double value;
  } values[] = {
      {"0", 0},     {"-1.5", -1.5},     {"1e-7", 1e-7},       {"1.7976931348623157e308", 1.7976931348623157e308},
      {"-0", -0.0}, {"inf", kInfinity}, {"-INF", -kInfinity}, {"2147483632", 2147483632.0}};
  for (const auto& [text, value] : values) {
    EXPECT_EQ(Parse(absl::StrCat(kHeader, "1,j,h,,m,", text, "\n")).table().series.at(0).value.at(0), value) << text;
  }
  for (const char* missing : {"", "NaN", "nan", "-nan"}) {
    const Parsed parsed = Parse(absl::StrCat(kHeader, "1,j,h,,m,", missing, "\n"));
    EXPECT_OK(parsed.result.status);
    EXPECT_EQ(parsed.result.records, 1u) << "a sample was due";
    EXPECT_TRUE(std::isnan(parsed.table().series.at(0).value.at(0))) << missing;
  }
}

TEST(MetricsCsvRowTest, ARowThatDoesNotFitIsNamedWithItsColumn) {
  const struct {
    const char* row;
    const char* message;
  } cases[] = {
      {",j,h,,m,1", "column 'time_ms': expected milliseconds, found ''"},
      {"now,j,h,,m,1", "column 'time_ms': expected milliseconds, found 'now'"},
      {"nan,j,h,,m,1", "column 'time_ms': expected milliseconds, found 'nan'"},
      {"1e300,j,h,,m,1", "column 'time_ms': expected milliseconds, found '1e300'"},
      {"9223372036854775808,j,h,,m,1", "column 'time_ms': expected milliseconds, found '9223372036854775808'"},
      {"2026-11-23T13:52:42Z,j,h,,m,1", "column 'time_ms': expected milliseconds, found '2026-11-23T13:52:42Z'"},
      {"1,j,h,,m,one", "column 'value': expected a number, found 'one'"},
      {"1,j,h,,m,1e999", "column 'value': expected a number, found '1e999'"},
      {"1,j,h,,m,1 %", "column 'value': expected a number, found '1 %'"},
      {"1,j,,,m,1", "column 'host': expected a name, found ''"},
      {"1,j,h,,,1", "column 'metric': expected a name, found ''"},
      {"1,j", "column 'host': expected a name, found ''"},
  };
  for (const auto& [row, message] : cases) {
    const Parsed parsed = Parse(absl::StrCat(kHeader, "1,j,h,,m,1\n", row, "\n2,j,h,,m,2\n"));
    EXPECT_THAT(parsed.result.status, StatusIs(absl::StatusCode::kDataLoss, absl::StrCat("line 3: ", message)));
    EXPECT_EQ(parsed.result.records, 2u) << row;
    EXPECT_EQ(parsed.result.malformed, 1u) << row;
    EXPECT_THAT(parsed.table().series.at(0).time_ms, ElementsAre(1, 2)) << row;
    EXPECT_EQ(parsed.jobs.at(0).evidence.trace.lost_records, 1u) << row;
  }
}

TEST(MetricsCsvFileTest, TheColumnsThatMustBeThere) {
  const std::vector<std::string> all = {"time_ms", "job", "host", "device", "metric", "value"};
  for (const char* required : {"time_ms", "host", "metric", "value"}) {
    std::vector<std::string> columns = all;
    columns.erase(std::find(columns.begin(), columns.end(), required));
    EXPECT_THAT(Parse(absl::StrJoin(columns, ",") + "\n").result.status,
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(absl::StrCat("expected a column '", required, "'"))));
  }
  const Parsed least = Parse("value,metric,host,time_ms\n4,m,h,7\n");
  EXPECT_OK(least.result.status);
  EXPECT_EQ(least.table().job, "default");
  EXPECT_EQ(least.table().series.at(0).device, "");
}

TEST(MetricsCsvFileTest, SeriesAreSortedAndOfSeveralSamplesAtOneTimeTheLastCounts) {
  const Parsed parsed = Parse(std::string(kHeader) +
                              "5,j,h1,gpu1,b,50\n"
                              "3,j,h0,,z,30\n"
                              "5,j,h1,gpu1,b,51\n"
                              "1,j,h1,gpu1,b,10\n"
                              "1,j,h1,gpu0,b,11\n"
                              "1,j,h1,gpu0,a,12\n"
                              "5,j,h1,gpu1,b,\n");
  EXPECT_OK(parsed.result.status);
  const MetricTable& table = parsed.table();
  EXPECT_THAT(table.hosts, ElementsAre("h1", "h0"));  // by first mention
  std::vector<std::string> order;
  for (const MetricSeries& series : table.series) {
    order.push_back(absl::StrCat(table.hosts[static_cast<size_t>(series.host)], "/", series.device, "/", series.name));
  }
  EXPECT_THAT(order, ElementsAre("h1/gpu0/a", "h1/gpu0/b", "h1/gpu1/b", "h0//z"));
  EXPECT_THAT(table.series[2].time_ms, ElementsAre(1, 5));
  EXPECT_EQ(table.series[2].value[0], 10);
  EXPECT_TRUE(std::isnan(table.series[2].value[1])) << "the last that was read says that it is missing";
}

TEST(MetricsCsvFileTest, JobsAreKeptApart) {
  const Parsed parsed = Parse(std::string(kHeader) + "1,a,h,,m,1\n1,b,h,,m,2\n2,a,h,,m,3\n1,,h,,m,4\n");
  ASSERT_EQ(parsed.jobs.size(), 3u);
  EXPECT_THAT(parsed.jobs[0].evidence.metrics.series.at(0).value, ElementsAre(1, 3));
  EXPECT_THAT(parsed.jobs[1].evidence.metrics.series.at(0).value, ElementsAre(2));
  EXPECT_EQ(parsed.jobs[2].evidence.job, "default");
}

TEST(MetricsCsvUnitsTest, ExportersAreConvertedToTheUnitsOfTheCatalogue) {
  const struct {
    const char* theirs;
    const char* value;
    Metric metric;
    double ours;
  } cases[] = {
      {"DCGM_FI_DEV_GPU_UTIL", "100", Metric::kGpuUtilizationRatio, 1},
      {"DCGM_FI_DEV_FB_USED", "3", Metric::kGpuMemoryUsedBytes, 3.0 * 1024 * 1024},
      {"DCGM_FI_DEV_SM_CLOCK", "1410", Metric::kGpuSmClockHertz, 1.41e9},
      {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "5000", Metric::kGpuEnergyJoulesTotal, 5},
      {"DCGM_FI_DEV_POWER_USAGE", "412.5", Metric::kGpuPowerWatts, 412.5},
      {"node_load1", "0.25", Metric::kHostLoad1, 0.25},
      {"host_load1", "0.25", Metric::kHostLoad1, 0.25},
  };
  for (const auto& [theirs, value, metric, ours] : cases) {
    const Parsed parsed = Parse(absl::StrCat(kHeader, "1,j,h,,", theirs, ",", value, "\n"));
    const MetricSeries& series = parsed.table().series.at(0);
    EXPECT_EQ(series.metric, metric) << theirs;
    EXPECT_EQ(series.name, FindMetric(metric)->name) << theirs;
    EXPECT_THAT(series.value, ElementsAre(DoubleEq(ours))) << theirs;
  }
}

TEST(MetricsCsvUnitsTest, TheirNameAndOursAreOneSeries) {
  const Parsed parsed = Parse(std::string(kHeader) +
                              "1,j,h,gpu0,DCGM_FI_DEV_GPU_UTIL,50\n"
                              "2,j,h,gpu0,gpu_utilization_ratio,0.75\n");
  ASSERT_EQ(parsed.table().series.size(), 1u);
  EXPECT_THAT(parsed.table().series[0].value, ElementsAre(DoubleEq(0.5), 0.75));
}

TEST(MetricsCsvUnitsTest, ABlankOfDcgmStaysOneWhateverTheFactor) {
  for (const char* blank : {"2147483632", "2147483635", "9223372036854775792", "140737488355328"}) {
    double value = 0;
    std::from_chars(blank, blank + strlen(blank), value);
    ASSERT_TRUE(IsBlankSentinel(value)) << blank;
    const Parsed parsed = Parse(absl::StrCat(kHeader, "1,j,h,gpu0,DCGM_FI_DEV_SM_CLOCK,", blank, "\n"));
    EXPECT_TRUE(IsBlankSentinel(parsed.table().series.at(0).value.at(0))) << blank;
  }
}

TEST(MetricsCsvUnitsTest, EveryNameOfTheCatalogueIsKnown) {
  std::string text = kHeader;
  for (const MetricInfo& info : MetricCatalog()) absl::StrAppend(&text, "1,j,h,,", info.name, ",1\n");
  const Parsed parsed = Parse(text);
  EXPECT_OK(parsed.result.status);
  ASSERT_EQ(parsed.table().series.size(), MetricCatalog().size());
  for (const MetricSeries& series : parsed.table().series) {
    ASSERT_NE(FindMetric(series.metric), nullptr) << series.name;
    EXPECT_EQ(FindMetric(series.metric)->name, series.name);
  }
}

MetricTable RandomTable(Random& random) {
  const std::vector<std::string> odd = {"", "gpu0", "mlx5_0/1", "with,comma", "\"quoted\"", "ümlaut", " spaces "};
  MetricTable table;
  table.job = "job " + odd[random.Below(odd.size())];
  const size_t hosts = 1 + random.Below(5);
  for (size_t host = 0; host < hosts; ++host)
    table.hosts.push_back(absl::StrCat("h", host, odd[random.Below(odd.size())]));
  for (size_t host = 0; host < hosts; ++host) {
    for (const std::string& device : {odd[0], odd[1], odd[3]}) {
      for (const char* name : {"gpu_power_watts", "made_up", "node,odd"}) {
        MetricSeries series;
        series.host = static_cast<int32_t>(host);
        series.device = device;
        series.name = name;
        if (const MetricInfo* info = FindMetric(absl::string_view(name))) series.metric = info->metric;
        int64_t time_ms = -static_cast<int64_t>(random.Below(1'000'000));
        for (uint64_t n = 1 + random.Below(20); n > 0; --n) {
          time_ms += 1 + static_cast<int64_t>(random.Below(10'000));
          series.time_ms.push_back(time_ms);
          series.value.push_back(random.Below(5) == 0
                                     ? std::nan("")
                                     : std::ldexp(random.Gaussian(), static_cast<int>(random.Below(200)) - 100));
        }
        table.series.push_back(std::move(series));
      }
    }
  }
  std::sort(table.series.begin(), table.series.end(), [](const MetricSeries& a, const MetricSeries& b) {
    return std::tie(a.host, a.device, a.name) < std::tie(b.host, b.device, b.name);
  });
  return table;
}

std::string WrittenAs(const MetricTable& table, const std::string& path) {
  auto writer = *FileWriter::Create(path);
  EXPECT_OK(WriteMetricsCsv(table, *writer));
  EXPECT_OK(writer->Close());
  return BytesOfFile(path);
}

// Bit by bit, but for the payload of NaN.
void ExpectSame(const MetricTable& a, const MetricTable& b) {
  EXPECT_EQ(a.job, b.job);
  EXPECT_EQ(a.hosts, b.hosts);
  ASSERT_EQ(a.series.size(), b.series.size());
  for (size_t i = 0; i < a.series.size(); ++i) {
    EXPECT_EQ(
        std::tie(a.series[i].host, a.series[i].device, a.series[i].name, a.series[i].metric, a.series[i].time_ms),
        std::tie(b.series[i].host, b.series[i].device, b.series[i].name, b.series[i].metric, b.series[i].time_ms));
    ASSERT_EQ(a.series[i].value.size(), b.series[i].value.size());
    for (size_t k = 0; k < a.series[i].value.size(); ++k) {
      const double x = a.series[i].value[k], y = b.series[i].value[k];
      EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << x << " " << y;
    }
  }
}

TEST(MetricsCsvWriterTest, WhatIsWrittenIsReadAgainToTheLastBit) {
  const TemporaryDirectory directory;
  Random random(31);
  for (int round = 0; round < 20; ++round) {
    const MetricTable table = RandomTable(random);
    const Parsed parsed = Parse(WrittenAs(table, directory.path() / "m.csv"));
    EXPECT_OK(parsed.result.status);
    ExpectSame(parsed.table(), table);
  }
}

TEST(MetricsCsvWriterTest, TheBytesAreAsDocumented) {
  MetricTable table;
  table.job = "j";
  table.hosts = {"h,0", "h1"};
  table.series.push_back({0, "gpu0", "gpu_power_watts", Metric::kGpuPowerWatts, {-1, 20}, {0.1, std::nan("")}});
  table.series.push_back({1, "", "made_up", Metric::kUnspecified, {7}, {1e300}});
  const TemporaryDirectory directory;
  EXPECT_EQ(WrittenAs(table, directory.path() / "m.csv"),
            "time_ms,job,host,device,metric,value\n"
            "-1,j,\"h,0\",gpu0,gpu_power_watts,0.1\n"
            "20,j,\"h,0\",gpu0,gpu_power_watts,NaN\n"
            "7,j,h1,,made_up,1e+300\n");
}

TEST(MetricsCsvOrderTest, TheOrderOfRowsLeavesNoMarkButOnTheOrderOfHosts) {
  const TemporaryDirectory directory;
  Random random(32);
  for (int round = 0; round < 10; ++round) {
    const MetricTable table = RandomTable(random);
    std::vector<std::string> rows =
        absl::StrSplit(WrittenAs(table, directory.path() / "m.csv"), '\n', absl::SkipEmpty());
    rows.erase(rows.begin());
    Shuffle(random, &rows);
    const MetricTable shuffled = Parse(kHeader + absl::StrJoin(rows, "\r\n")).table();
    ASSERT_EQ(shuffled.series.size(), table.series.size());
    std::map<std::string, const MetricSeries*> by_name;
    const auto key = [](const MetricTable& of, const MetricSeries& series) {
      return absl::StrCat(of.hosts[static_cast<size_t>(series.host)], "\n", series.device, "\n", series.name);
    };
    for (const MetricSeries& series : table.series) by_name[key(table, series)] = &series;
    for (const MetricSeries& series : shuffled.series) {
      const MetricSeries* expected = by_name[key(shuffled, series)];
      ASSERT_NE(expected, nullptr);
      EXPECT_EQ(series.time_ms, expected->time_ms);
    }
  }
}

TEST(MetricsCsvDamageTest, WhateverTheBytesSeriesRise) {
  const TemporaryDirectory directory;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    const Parsed parsed = Parse(Damaged(WrittenAs(RandomTable(random), directory.path() / "m.csv"), random));
    EXPECT_EQ(parsed.result.status.ok(), parsed.result.malformed == 0 && !absl::IsDataLoss(parsed.result.status));
    uint64_t samples = 0;
    for (const JobInput& job : parsed.jobs) {
      const MetricTable& table = job.evidence.metrics;
      for (const MetricSeries& series : table.series) {
        ASSERT_EQ(series.time_ms.size(), series.value.size());
        ASSERT_LT(static_cast<size_t>(series.host), table.hosts.size());
        samples += series.time_ms.size();
        EXPECT_EQ(std::adjacent_find(series.time_ms.begin(), series.time_ms.end(), std::greater_equal<>()),
                  series.time_ms.end())
            << seed;
      }
    }
    EXPECT_LE(samples, parsed.result.records) << seed;
  }
}

// What seven real dcgm-exporters answered, as rows of a history.
TEST(MetricsCsvPublicTest, NamesAndUnitsOfRealExportersAreKnown) {
  const std::filesystem::path data = PublicRecordings("formats/ops_csv_test.cc");
  if (data.empty()) GTEST_SKIP() << "no public data beside the repository";
  std::string text = kHeader;
  for (const auto& entry : std::filesystem::directory_iterator(data / "dcgm_exporter_text")) {
    if (entry.path().extension() != ".prom") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const size_t brace = line.find('{'), close = line.rfind('}');
      if (line.empty() || line[0] == '#' || brace == std::string::npos || close == std::string::npos) continue;
      absl::StrAppend(&text, "1,j,", entry.path().stem().string(), ",gpu0,", line.substr(0, brace), ",",
                      line.substr(close + 2), "\n");
    }
  }
  const Parsed parsed = Parse(text);
  EXPECT_OK(parsed.result.status);
  EXPECT_GE(parsed.result.records, 100u);
  std::map<Metric, std::pair<double, double>> range;  // of what is not blank
  for (const MetricSeries& series : parsed.table().series) {
    if (series.metric == Metric::kUnspecified) {
      EXPECT_EQ(FindExporterName(series.name), nullptr) << series.name;
      continue;
    }
    for (const double value : series.value) {
      if (IsBlankSentinel(value)) continue;
      auto [known, added] = range.emplace(series.metric, std::pair(value, value));
      known->second = {std::min(known->second.first, value), std::max(known->second.second, value)};
    }
  }
  EXPECT_GE(range.size(), 10u);
  EXPECT_GE(range[Metric::kGpuSmClockHertz].first, 1e8);  // 100 MHz to 3 GHz
  EXPECT_LE(range[Metric::kGpuSmClockHertz].second, 3e9);
  EXPECT_LE(range[Metric::kGpuUtilizationRatio].second, 1);
  EXPECT_LE(range[Metric::kGpuTensorActiveRatio].second, 1);
  EXPECT_GE(range[Metric::kGpuTemperatureCelsius].first, 10);
  EXPECT_LE(range[Metric::kGpuTemperatureCelsius].second, 110);
  EXPECT_GE(range[Metric::kGpuMemoryUsedBytes].second, 1e6);
}

}  // namespace
}  // namespace lockstep
