#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "formats/byte_source.h"
#include "formats/csv_row.h"
#include "formats/evidence_builder.h"
#include "formats/exporter_names.h"
#include "formats/file_writer.h"
#include "formats/metrics_csv_reader.h"
#include "formats/metrics_csv_writer.h"
#include "formats/ops_csv_reader.h"
#include "formats/ops_csv_writer.h"
#include "formats/whole_file.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<ByteSource> Source(const std::string& bytes) {
  return *ByteSource::FromStream(std::make_unique<std::istringstream>(bytes));
}

JobInput OnlyJob(EvidenceBuilder& builder) {
  std::vector<JobInput> jobs = builder.Finish();
  EXPECT_EQ(jobs.size(), 1u);
  return jobs.empty() ? JobInput() : std::move(jobs[0]);
}

constexpr char kHeader[] = "job,host,gpu,rank,comm,comm_rank,comm_size,seq,op,peer,bytes,enqueue_ns,start_ns,end_ns\n";

TEST(OpsCsvTest, ReadsEmptyCellsAsUnknown) {
  EvidenceBuilder builder;
  const auto source =
      Source(std::string(kHeader) + "j,h1,,1,c,1,2,7,AllReduce,-1,,5,,\nj,h0,3,0,c,0,2,7,Send,1,64,5,6,9\n");
  const ReadResult result = ReadOpsCsv(*source, "none", builder);
  EXPECT_OK(result.status);
  const Trace trace = OnlyJob(builder).evidence.trace;
  ASSERT_EQ(trace.ranks.size(), 2u);
  EXPECT_EQ(trace.ranks[0].gpu, 3);
  EXPECT_EQ(trace.ranks[1].gpu, -1);
  ASSERT_EQ(trace.OperationsOf(1).size(), 1u);
  EXPECT_FALSE(trace.OperationsOf(1)[0].started());
  EXPECT_EQ(trace.OperationsOf(0)[0].kind, OperationKind::kSend);
  EXPECT_EQ(trace.OperationsOf(0)[0].duration_ns(), 3);
  EXPECT_EQ(trace.communicators[0].members, (std::vector<int32_t>{0, 1}));
}

TEST(OpsCsvTest, TheLatestReadingOfAHostCountsForAllItsRanks) {
  EvidenceBuilder builder;
  const auto source = Source(
      "rank,host,comm,seq,op,start_ns,end_ns,taken_ns\n"
      "0,a,c,1,AllReduce,1,2,90\n1,a,c,1,AllReduce,1,2,\n0,a,c,2,AllReduce,3,,80\n"
      "2,b,c,1,AllReduce,1,2,\n3,,c,1,AllReduce,1,2,70\n");
  EXPECT_OK(ReadOpsCsv(*source, "j", builder).status);
  const Trace trace = OnlyJob(builder).evidence.trace;
  ASSERT_EQ(trace.ranks.size(), 4u);
  EXPECT_EQ(trace.ranks[0].last_seen_ns, 90);
  EXPECT_EQ(trace.ranks[1].last_seen_ns, 90);
  EXPECT_EQ(trace.ranks[2].last_seen_ns, kNoTime);  // nobody read host b
  EXPECT_EQ(trace.ranks[3].last_seen_ns, 70);       // on a host that no file names
}

TEST(OpsCsvTest, AReadingThatIsNoTimeIsNamed) {
  EvidenceBuilder builder;
  const auto source = Source("rank,comm,seq,op,start_ns,end_ns,taken_ns\n0,c,1,AllReduce,1,2,soon\n");
  EXPECT_THAT(std::string(ReadOpsCsv(*source, "j", builder).status.message()),
              HasSubstr("column 'taken_ns': expected nanoseconds, found 'soon'"));
}

TEST(OpsCsvTest, WritesWhenItWasReadIfThatIsKnown) {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "ops.csv").string();
  for (const bool known : {false, true}) {
    EvidenceBuilder builder;
    const auto source = Source(absl::StrCat("rank,host,comm,seq,op,start_ns,end_ns,taken_ns\n0,a,c,1,AllReduce,1,2,",
                                            known ? "90" : "", "\n0,a,c,2,AllReduce,3,,\n1,b,c,1,AllReduce,1,2,\n"));
    EXPECT_OK(ReadOpsCsv(*source, "j", builder).status);
    EXPECT_OK(WriteOpsCsvFile(OnlyJob(builder).evidence.trace, path));
    const std::string text = *ReadWhole(**ByteSource::Open(path), 1 << 20);
    EXPECT_EQ(text.find("taken_ns") != std::string::npos, known);
    EvidenceBuilder again;
    EXPECT_OK(ReadOpsCsv(*Source(text), "j", again).status);
    const Trace trace = OnlyJob(again).evidence.trace;
    EXPECT_EQ(trace.ranks[0].last_seen_ns, known ? 90 : kNoTime);
    EXPECT_EQ(trace.ranks[1].last_seen_ns, kNoTime);
  }
}

TEST(OpsCsvTest, TakesColumnsInAnyOrderQuotesAndCarriageReturns) {
  EvidenceBuilder builder;
  const auto source = Source(
      "\xef\xbb\xbf"
      "end_ns,x,op,start_ns,seq,\"comm\",rank\r\n9,?,AllGather,2,0,\"a,\"\"b\",0\r\n");
  EXPECT_OK(ReadOpsCsv(*source, "run", builder).status);
  const JobInput job = OnlyJob(builder);
  EXPECT_EQ(job.evidence.job, "run");
  EXPECT_EQ(job.evidence.trace.communicators[0].name, "a,\"b");
  EXPECT_TRUE(IsStandInHost(job.evidence.trace.hosts[0]));
}

TEST(OpsCsvTest, NamesLineColumnAndFoundText) {
  EvidenceBuilder builder;
  const auto source =
      Source(std::string(kHeader) + "j,h,0,0,c,0,1,x7,AllReduce,-1,,5,6,7\nj,h,0,0,c,0,1,8,AllReduce,-1,,5,6,7\n");
  const ReadResult result = ReadOpsCsv(*source, "none", builder);
  EXPECT_THAT(result.status, StatusIs(absl::StatusCode::kDataLoss,
                                      HasSubstr("line 2: column 'seq': expected an unsigned integer, found 'x7'")));
  EXPECT_EQ(result.records, 1u);
  EXPECT_EQ(OnlyJob(builder).evidence.trace.lost_records, 1u);
}

TEST(OpsCsvTest, RefusesAFileWithoutItsColumns) {
  EvidenceBuilder builder;
  EXPECT_THAT(ReadOpsCsv(*Source("rank,seq,op\n0,1,x\n"), "none", builder).status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected a column 'comm'")));
  EXPECT_THAT(ReadOpsCsv(*Source(""), "none", builder).status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected a header")));
}

Trace RandomTrace(uint64_t seed) {
  Random random(seed);
  TraceCollection collection("job");
  for (int i = 0; i < 500; ++i) {
    OperationRow row;
    row.rank = static_cast<int32_t>(random.Below(16));
    const std::string host = "node-" + std::to_string(row.rank / 4);
    const std::string communicator = "c" + std::to_string(row.rank % 4);
    row.host = host;
    row.gpu = row.rank % 4;
    row.communicator = communicator;
    row.communicator_rank = row.rank / 4;
    row.communicator_size = 4;
    row.operation.kind = OperationKind::kAllReduce;
    row.operation.sequence = static_cast<uint64_t>(i);
    row.operation.bytes = random.Below(3) * 1024;
    row.operation.enqueue_ns = static_cast<int64_t>(random.Below(1'000'000)) - 1000;
    if (random.Below(10) > 0) row.operation.start_ns = row.operation.enqueue_ns + 5;
    if (row.operation.started() && random.Below(10) > 0) row.operation.end_ns = row.operation.start_ns + 7;
    collection.Add(row);
  }
  return collection.Finish();
}

std::string Written(const Trace& trace, const std::string& path) {
  EXPECT_OK(WriteOpsCsvFile(trace, path));
  return *ReadWhole(**ByteSource::Open(path), size_t{1} << 30);
}

class OpsCsvRoundTripTest : public ::testing::TestWithParam<const char*> {};

TEST_P(OpsCsvRoundTripTest, BringsBackTheSameTrace) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / GetParam();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const std::string text = Written(RandomTrace(seed), path);
    EvidenceBuilder builder;
    const auto source = *ByteSource::Open(path);
    EXPECT_OK(ReadOpsCsv(*source, "none", builder).status);
    EXPECT_EQ(Written(OnlyJob(builder).evidence.trace, path), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Compressions, OpsCsvRoundTripTest, ::testing::Values("ops.csv", "ops.csv.gz", "ops.csv.zst"));

TEST(ByteSourceTest, NamesTheByteOfDamage) {
  const TemporaryDirectory directory;
  for (const char* name : {"a.gz", "a.zst"}) {
    const std::string path = directory.path() / name;
    Written(RandomTrace(1), path);
    std::ifstream file(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto cut = Source(bytes.substr(0, bytes.size() / 2));
    EXPECT_THAT(ReadWhole(*cut, size_t{1} << 30),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("found the end of the file")));
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
    const auto damaged = Source(bytes);
    EXPECT_THAT(ReadWhole(*damaged, size_t{1} << 30), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("near byte")));
  }
}

TEST(ByteSourceTest, ReadsOneCompressedMemberAfterTheOther) {
  const TemporaryDirectory directory;
  std::string both;
  for (const char* name : {"a.gz", "b.gz"}) {
    const std::string path = directory.path() / name;
    std::unique_ptr<FileWriter> writer = *FileWriter::Create(path);
    ASSERT_OK(writer->Append(name));
    ASSERT_OK(writer->Close());
    std::ifstream file(path, std::ios::binary);
    both.append(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  EXPECT_EQ(*ReadWhole(*Source(both), 100), "a.gzb.gz");
}

TEST(MetricsCsvTest, RoundTripsWithGapsAndNan) {
  MetricTable table;
  table.job = "job";
  table.hosts = {"h0", "h1"};
  table.series.push_back({0, "", "host_load1", Metric::kHostLoad1, {1, 5, 6}, {0.1, std::nan(""), 1e300}});
  table.series.push_back({1, "gpu0", "made_up", Metric::kUnspecified, {-3}, {-0.25}});
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "m.csv.zst";
  std::unique_ptr<FileWriter> writer = *FileWriter::Create(path);
  ASSERT_OK(WriteMetricsCsv(table, *writer));
  ASSERT_OK(writer->Close());
  EvidenceBuilder builder;
  const auto source = *ByteSource::Open(path);
  EXPECT_OK(ReadMetricsCsv(*source, "none", builder).status);
  const MetricTable read = OnlyJob(builder).evidence.metrics;
  ASSERT_EQ(read.series.size(), 2u);
  EXPECT_EQ(read.hosts, table.hosts);
  EXPECT_EQ(read.series[0].metric, Metric::kHostLoad1);
  EXPECT_EQ(read.series[0].time_ms, table.series[0].time_ms);
  EXPECT_TRUE(std::isnan(read.series[0].value[1]));
  EXPECT_EQ(read.series[0].value[2], 1e300);
  EXPECT_EQ(read.series[1].metric, Metric::kUnspecified);
  EXPECT_EQ(read.series[1].value, table.series[1].value);
}

TEST(CsvRowTest, SplitsAsASlowSplitterDoes) {
  Random random(7);
  CsvRow row;
  for (int i = 0; i < 2000; ++i) {
    std::string line;
    std::vector<std::string> expected(1);
    for (uint64_t n = random.Below(30); n > 0; --n) {
      const char c = "ab,1 "[random.Below(5)];
      line.push_back(c);
      if (c == ',') {
        expected.emplace_back();
      } else {
        expected.back().push_back(c);
      }
    }
    ASSERT_TRUE(row.Split(line));
    ASSERT_EQ(row.size(), expected.size()) << line;
    for (size_t c = 0; c < expected.size(); ++c) EXPECT_EQ(row.cell(static_cast<int>(c)), expected[c]);
  }
}

TEST(MetricsCsvTest, KnowsWhatExportersCallTheMetrics) {
  EvidenceBuilder builder;
  const auto source = Source(
      "time_ms,host,device,metric,value\n1,h,gpu0,DCGM_FI_DEV_GPU_UTIL,95\n2,h,gpu0,DCGM_FI_DEV_GPU_UTIL,2147483632\n"
      "1,h,,node_load1,3\n1,h,,of_ours,4\n");
  EXPECT_OK(ReadMetricsCsv(*source, "j", builder).status);
  const MetricTable table = OnlyJob(builder).evidence.metrics;
  ASSERT_EQ(table.series.size(), 3u);
  for (const MetricSeries& series : table.series) {
    if (series.metric == Metric::kGpuUtilizationRatio) {
      EXPECT_THAT(series.value, ::testing::ElementsAre(::testing::DoubleEq(0.95), 2147483632));
      EXPECT_EQ(series.name, "gpu_utilization_ratio");
    }
    if (series.metric == Metric::kUnspecified) {
      EXPECT_EQ(series.name, "of_ours");
    }
  }
}

TEST(ExporterNamesTest, LeadToMetricsOfTheCatalogue) {
  for (const char* theirs : {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_SM_CLOCK",
                             "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "node_context_switches_total", "node_vmstat_pgmajfault",
                             "node_infiniband_port_data_received_bytes_total", "node_infiniband_symbol_error_total",
                             "node_infiniband_link_downed_total", "node_infiniband_port_receive_errors_total",
                             "node_infiniband_rate_bytes_per_second", "DCGM_FI_DEV_POWER_VIOLATION",
                             "DCGM_FI_DEV_THERMAL_VIOLATION", "node_infiniband_vl15_dropped_total"}) {
    const ExporterName* name = FindExporterName(theirs);
    ASSERT_NE(name, nullptr) << theirs;
    EXPECT_NE(FindMetric(name->ours), nullptr) << name->ours;
  }
  EXPECT_EQ(FindExporterName("DCGM_FI_DEV_"), nullptr);
  EXPECT_EQ(FindExporterName("zzz"), nullptr);
}

}  // namespace
}  // namespace lockstep
